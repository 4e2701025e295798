package io.phantoms.spark.oracle

/**
 * How a query with the plugin differs from plain Spark.
 *
 * @param kind what is wrong, without anything that differs between queries that go wrong in the same way
 */
final case class Difference(kind: String, message: String)

object Difference {

  /** Whether Spark's MergeSubplans has made global aggregates subqueries, whose results may be NULL to its optimizer. */
  private def merges(plan: String): Boolean = plan.contains("mergedValue")

  /** @param ordered whether the order of rows has to be the same */
  def between(expected: Outcome, actual: Outcome, ordered: Boolean): Option[Difference] =
    (expected.result, actual.result) match {
      case (Right(wanted), Right(got)) =>
        val rows = if (ordered) Rows.orderedDifference(wanted, got, expected.inexact, expected.signless)
        else Rows.difference(wanted, got, expected.inexact, expected.signless)
        rows.map(Difference("ROWS", _)).orElse(schemas(expected, actual))
          // Filters narrow nullability in places of their own: it may differ, but not exceed what was declared, nor lie.
          // Where Spark's own optimizer exceeds that (INTERSECT is a join of its first side), so may the other plan.
          .orElse(actual.schema.zip(expected.declared).zipWithIndex.collectFirst {
            case ((f, declared), i)
                if f.nullable && !declared.nullable && !expected.schema(i).nullable && !merges(actual.plan) =>
              Difference("NULLABLE", s"${f.name} may be NULL, but is declared not to be")
            case ((f, _), i) if !f.nullable && got.exists(_.isNullAt(i)) =>
              Difference("NULL", s"NULL in ${f.name}, which is not to be")
          })
      case (Left(wanted), Left(got)) =>
        Option.when(got != wanted)(Difference("ERROR", s"fails with $got, plain Spark with $wanted"))
      case (Right(_), Left(got)) =>
        Some(Difference(s"FAILS ${got.replaceAll("[0-9]+", "#").take(60)}", s"fails with $got, plain Spark does not"))
      case (Left(wanted), Right(_)) => Some(Difference("SUCCEEDS", s"succeeds, plain Spark fails with $wanted"))
    }

  private def schemas(expected: Outcome, actual: Outcome): Option[Difference] = Seq(
    ("names", expected.schema.map(_.name), actual.schema.map(_.name)),
    ("types", expected.schema.map(_.dataType), actual.schema.map(_.dataType)),
    ("declared schema", expected.declared, actual.declared),
    ("metadata", expected.schema.map(_.metadata), actual.schema.map(_.metadata))
  ).collectFirst {
    case (what, wanted, got) if wanted != got => Difference("SCHEMA", s"$what: $got, plain Spark has $wanted")
  }
}
