package io.phantoms.spark.oracle

import io.phantoms.spark.{PhantomsExtensions, SessionConfs, TestSessions}
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.decide.Declined
import io.phantoms.spark.explain.Explanations

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.{BeforeAndAfterAll, Suite}
import org.scalatest.Assertions

/**
 * The oracle: the same query with the plugin off and on has to give the same rows, schema and errors.
 *
 * A check passes only if the plan that ran has the shared operators (or, for [[checkDeclined]], has none and says why):
 * a plugin that does nothing fails it.
 */
trait DifferentialSuite extends BeforeAndAfterAll with Assertions with SessionConfs { this: Suite =>
  protected var spark: SparkSession = _

  /** What `spark.sql.extensions` is set to. */
  protected def extensions: String = classOf[PhantomsExtensions].getName

  /** More confs of the session, static ones included. */
  protected def sessionConf: Map[String, String] = Map.empty

  /** Called once, when the session stands. */
  protected def createTables(): Unit = ()

  /** Ways to run the plugin's side of a check; each is a label and confs. More than one: each has to give the rows. */
  protected def variants: Seq[Variant] = Seq(Variant("as configured", Nil))

  override def beforeAll(): Unit = {
    super.beforeAll()
    val confs = Map(
      "spark.sql.extensions" -> extensions,
      "spark.sql.shuffle.partitions" -> "3",
      "spark.sql.planChangeValidation" -> "true",
      PhantomsConf.Strict.key -> "true",
      PhantomsConf.ObserveStats.key -> "true",
      PhantomsConf.MinSavings.key -> "-1e9"
    ) ++ sessionConf
    spark = TestSessions.start(confs)
    createTables()
  }

  override def afterAll(): Unit =
    try TestSessions.end(spark)
    finally super.afterAll()

  /** The query without the plugin. */
  protected def plain(build: => DataFrame): Outcome = {
    // What Spark's own rules do to a plan needs no check here.
    val outcome = withConf(PhantomsConf.Enabled.key -> "false", "spark.sql.planChangeValidation" -> "false") {
      Outcome.of(build)
    }
    assert(!outcome.hasPluginNode, s"switched off, and yet in the plan:\n${outcome.plan}")
    outcome
  }

  /** The query with the plugin. */
  protected def shared(build: => DataFrame): Outcome = withConf(PhantomsConf.Enabled.key -> "true")(Outcome.of(build))

  /**
   * Checks that a query is shared, in every variant, and gives what it gives without the plugin.
   *
   * @param ordered whether the order of rows has to be the same
   * @param fails the error's class with and without; None: it has to succeed
   */
  protected def checkShared(
      build: => DataFrame,
      ordered: Boolean = false,
      fails: Option[String] = None,
      clue: String = ""
  ): Unit = {
    val expected = plain(build)
    (expected.result, fails) match {
      case (Left(error), None) => fail(s"plain Spark fails with $error\n$clue")
      case (Left(error), Some(wanted)) => assert(error == wanted, s"plain Spark's error\n$clue")
      case (Right(_), Some(wanted)) => fail(s"plain Spark was to fail with $wanted\n$clue")
      case _ =>
    }
    checkVariants(build, expected, ordered, clue)
  }

  /** Checks that a query is shared, in every variant, and fails with the error that it fails with without the plugin. */
  protected def checkFailsSharedSql(sql: String): Unit = {
    val expected = plain(spark.sql(sql))
    assert(expected.result.isLeft, s"plain Spark was to fail\n$sql")
    checkVariants(spark.sql(sql), expected, ordered = false, sql)
  }

  private def checkVariants(build: => DataFrame, expected: Outcome, ordered: Boolean, clue: String): Unit =
    variants.foreach { v =>
      v.prepare()
      try {
        val actual = withConf(v.confs: _*)(shared(build))
        val context = s"variant: ${v.label}\n$clue\n${actual.plan}"
        assert(actual.isShared, s"not shared\n${actual.result.left.getOrElse("")}\n$context")
        same(expected, actual, ordered, context)
      } finally v.cleanUp()
    }

  protected def checkSharedSql(sql: String, ordered: Boolean = false, fails: Option[String] = None): Unit =
    checkShared(spark.sql(sql), ordered, fails, sql)

  /** Checks that both sides do the same, shared or not. */
  protected def same(expected: Outcome, actual: Outcome, ordered: Boolean, context: => String): Unit = {
    Difference.between(expected, actual, ordered).foreach(d => fail(s"${d.message}\n$context"))
  }

  /** Checks that a query is left alone for the reason of this code, and gives what it gives without the plugin. */
  protected def checkDeclined(build: => DataFrame, code: String): Unit = {
    val expected = plain(build)
    val actual = shared(build)
    assert(!actual.hasPluginNode, s"was to be declined with $code\n${actual.plan}")
    same(expected, actual, ordered = false, actual.plan)
    val found = Explanations.explain(build).collect { case Declined(_, reason) => reason.code }
    assert(found.contains(code), s"reasons given: $found")
    ()
  }

  protected def checkDeclinedSql(sql: String, code: String): Unit = checkDeclined(spark.sql(sql), code)
}

/**
 * One way to run the plugin's side.
 *
 * @param prepare called before the query is planned
 */
final case class Variant(
    label: String,
    confs: Seq[(String, String)],
    prepare: () => Unit = () => (),
    cleanUp: () => Unit = () => ()
)
