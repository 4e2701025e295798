package io.phantoms.spark.verify

import io.phantoms.spark.{PhantomsExtensions, Warnings}
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.oracle.{ChangedPlans, HeardVerifications}

import org.apache.spark.sql.{Row, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.types.{DoubleType, LongType}
import org.scalatest.Suite

/** The plugin, whose plans can be made wrong. */
object WrongSharing extends ChangedPlans {

  /** Rows whose first column is this are lost. */
  def loses(value: Int)(plan: LogicalPlan): LogicalPlan =
    Filter(Not(EqualNullSafe(plan.output.head, Literal.create(value, plan.output.head.dataType))), plan)

  /** The first bigint is one more where the first column is this. */
  def raises(value: Int)(plan: LogicalPlan): LogicalPlan = {
    val counted = plan.output.find(_.dataType == LongType).get
    changed(plan, counted)(If(EqualNullSafe(plan.output.head, Literal(value)), Add(counted, Literal(1L)), counted))
  }

  /** The first double is a little larger everywhere. */
  def stretches(by: Double)(plan: LogicalPlan): LogicalPlan = {
    val sum = plan.output.find(_.dataType == DoubleType).get
    changed(plan, sum)(Multiply(sum, Literal(by)))
  }

  /** Rows are read, and then the task fails. */
  def fails(plan: LogicalPlan): LogicalPlan =
    Filter(IsNotNull(RaiseError(Literal("the plugin is broken"))), plan)

  private def changed(plan: LogicalPlan, column: Attribute)(to: Expression): LogicalPlan = {
    val others = plan.output.map(a => if (a.exprId == column.exprId) Alias(to, a.name)() else Alias(a, a.name)())
    val made = Project(others, plan)
    Project(made.output.zip(plan.output).map { case (m, a) => Alias(m, a.name)(exprId = a.exprId) }, made)
  }
}

/** A session in which plans may be wrong and comparisons are heard of. */
trait VerifyingSession extends PluginSession { this: Suite =>
  private val heard = new HeardVerifications

  override protected def confs: Map[String, String] = Map("spark.phantoms.minSavings" -> "-1e9")
  override protected def extensions: SparkSessionExtensions => Unit = new PhantomsExtensions(WrongSharing)

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.addSparkListener(heard)
  }

  override def afterAll(): Unit =
    try spark.sparkContext.removeSparkListener(heard)
    finally super.afterAll()

  /** What was compared since this was asked before. */
  protected def compared(): Seq[Verification] = {
    ListenerBus.drain(spark.sparkContext)
    heard.next()
  }

  protected def verifying[T](body: => T): T = {
    val _ = compared()
    withConf(PhantomsConf.Verify.key -> "full")(body)
  }

  protected def isVerified(df: DataFrame): Boolean = verified(df.queryExecution.executedPlan).nonEmpty

  protected def verified(plan: SparkPlan): Seq[SparkPlan] =
    collectWithSubqueries(plan) { case p if p.nodeName == "PhantomsVerified" => p }

  /** Runs a query that is verified: its rows are plain Spark's. What was found is returned. */
  protected def run(query: => DataFrame): Seq[Verification] = {
    val (schema, rows) = plain((query.schema, query.collect().toSeq))
    verifying {
      val df = query
      assert(isVerified(df), df.queryExecution.optimizedPlan)
      assert(df.schema == schema)
      assertRows(df.collect().toSeq, rows)
      compared()
    }
  }

  protected def assertEqual(found: Seq[Verification], rows: Seq[Row]): Unit = {
    assert(found.nonEmpty && found.forall(_.agrees), found.map(_.warning))
    assert(found.map(_.plainRows).sum == rows.size)
    ()
  }

  protected def only[T](found: Seq[T]): T = {
    assert(found.size == 1, found)
    found.head
  }

  /** What the plugin warns of meanwhile. */
  protected def warnings(body: => Any): Seq[String] = {
    Warnings.during(body).filter(_.matches("(?s)spark[.-]phantoms.*"))
  }
}
