package io.phantoms.spark.detect

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, AttributeMap, BoundReference, Cast, Expression, Or}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils

/** Makes a [[Workload]] of branches that read one base: equal keys and equal functions become one. */
object WorkloadBuilder {

  /**
   * @param branches all over `base`
   * @param output what the operator puts out, column by column as the branches' results
   * @param oneAggregate whether the branches are the grouping sets of one Aggregate: then its functions are evaluated for
   *   each row that any of them takes
   */
  def build(
      base: LogicalPlan,
      found: Seq[Branch],
      output: Seq[Attribute],
      oneAggregate: Boolean
  ): Either[DeclineReason, Workload] = {
    val taken = rowsTaken(found, oneAggregate)
    val branches = if (taken.isGuarding) found else found.map(guarded)
    def inlined(e: Expression): Expression = Inlining.throughProjects(base, e)
    val reasons = Iterator(
      () => Eligibility.source(base),
      () => branches.flatMap(_.keys).flatMap(k => Eligibility.key(inlined(k.expression))).headOption,
      () =>
        branches.flatMap(_.inputs).flatMap(i => Eligibility.expression(inlined(i), "an aggregate's input")).headOption,
      () => branches.flatMap(b => b.results ++ b.having).flatMap(Eligibility.expression(_, "a result")).headOption,
      () => Option.when(branches.size < 2)(SingleAggregate)
    )
    reasons.flatMap(_.apply()).nextOption() match {
      case Some(reason) => Left(reason)
      case None =>
        val keys = new Ordinals[Expression](e => (e.canonicalized, e.dataType))
        val functions = new Ordinals[(AggregateFunction, Option[Expression])]({ case (f, filter) =>
          (f.canonicalized, filter.map(_.canonicalized))
        })
        val numbered = branches.map { b =>
          (b, b.keys.map(k => keys.of(k.expression)), b.functions.map(f => functions.of((f.function, f.filter))))
        }
        val bound = numbered.map { case (b, keyOrdinals, functionOrdinals) =>
          query(b, keyOrdinals, functionOrdinals, keys.all.size, output)
        }
        bound.collectFirst { case Left(reason) => reason }.toLeft(
          Workload(
            base,
            keys.all,
            functions.all.map { case (f, filter) => WorkloadAggregate(f, filter) },
            bound.collect { case Right(q) => q }.toIndexedSeq,
            output,
            oneAggregate,
            taken.rows,
            branches.flatMap(_.everyRow).distinct
          )
        )
    }
  }

  /**
   * @param rows the condition for the rows that are aggregated at all
   * @param isGuarding whether functions that may fail see no row that plain Spark keeps from them
   */
  private final case class Taken(rows: Option[Expression], isGuarding: Boolean)

  private def rowsTaken(branches: Seq[Branch], oneAggregate: Boolean): Taken = {
    val conditions = branches.map(_.rows)
    if (conditions.forall(_.isEmpty)) Taken(None, isGuarding = true)
    else if (conditions.exists(_.isEmpty)) Taken(None, isGuarding = false)
    else {
      val different = conditions.flatten.distinctBy(_.canonicalized)
      if (different.size == 1) Taken(Some(different.head), isGuarding = true)
      // Behind the first that holds, the others would not be evaluated: they may not have an error to raise.
      else if (different.exists(ExpressionCost.canFail)) Taken(None, isGuarding = false)
      else Taken(different.reduceOption(Or(_, _)), isGuarding = oneAggregate)
    }
  }

  /** With functions that do not see the rows which a condition on the keys keeps from them in plain Spark. */
  private def guarded(branch: Branch): Branch = branch.rows.fold(branch) { rows =>
    branch.copy(functions = branch.functions.map { f =>
      if ((f.function +: f.filter.toSeq).exists(ExpressionCost.canFailOnInput))
        f.copy(filter = both(Some(rows), f.filter))
      else f
    })
  }

  private def query(
      branch: Branch,
      keyOrdinals: Seq[Int],
      functionOrdinals: Seq[Int],
      keyCount: Int,
      output: Seq[Attribute]
  ): Either[DeclineReason, WorkloadQuery] = {
    val slots = AttributeMap[Expression](
      branch.keys.zip(keyOrdinals).map { case (k, i) =>
        k.attribute -> BoundReference(i, k.expression.dataType, k.expression.nullable)
      } ++ branch.functions.zip(functionOrdinals).map { case (f, j) =>
        f.attribute -> BoundReference(keyCount + j, f.function.dataType, f.function.nullable)
      }
    )
    val results = branch.results.map(Inlining.substitute(_, slots))
    val having = branch.having.map(Inlining.substitute(_, slots))
    val typed = results.zip(output).map { case (r, o) => ofType(r, o) }
    if (results.size != output.size || (results ++ having).exists(_.references.nonEmpty))
      Left(UnsupportedShape("a result that is neither grouped nor aggregated"))
    else if (typed.exists(_.isEmpty)) Left(UnsupportedShape("branches of a union that differ in type"))
    else
      Right(
        WorkloadQuery(
          BitSet.fromSpecific(keyOrdinals),
          BitSet.fromSpecific(functionOrdinals),
          typed.flatten,
          having,
          branch.rowOnEmptyInput
        )
      )
  }

  /** The result as the column's type; types may differ inside in what may be NULL, which costs nothing to widen. */
  private def ofType(result: Expression, column: Attribute): Option[Expression] =
    if (result.dataType == column.dataType) Some(result)
    else Option.when(DataTypeUtils.sameType(result.dataType, column.dataType))(Cast(result, column.dataType))

  /** Numbers distinct things in the order of their first appearance. */
  private final class Ordinals[T](identity: T => Any) {
    private val known = mutable.HashMap.empty[Any, Int]
    private val items = mutable.ArrayBuffer.empty[T]

    def of(item: T): Int = known.getOrElseUpdate(identity(item), { items += item; items.size - 1 })
    def all: IndexedSeq[T] = items.toIndexedSeq
  }

  /** Two conditions that both have to hold. */
  private[detect] def both(a: Option[Expression], b: Option[Expression]): Option[Expression] =
    (a ++ b).reduceOption(And(_, _))
}
