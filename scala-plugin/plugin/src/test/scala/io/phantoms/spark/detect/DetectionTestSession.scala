package io.phantoms.spark.detect

import java.nio.file.Files

import scala.util.Random

import io.phantoms.spark.{SessionConfs, TestSessions}

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.types._
import org.scalatest.{BeforeAndAfterAll, Suite}

/** Keeps the plan that a rule at the position of ours would see. */
object PlanCapture extends Rule[LogicalPlan] {
  @volatile var last: Option[LogicalPlan] = None

  override def apply(plan: LogicalPlan): LogicalPlan = {
    last = Some(plan)
    plan
  }
}

/** A session without the plugin in which detection can be called on the plans it would get. */
trait DetectionTestSession extends BeforeAndAfterAll with SessionConfs { this: Suite =>
  protected var spark: SparkSession = _

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark = TestSessions.start(
      Map("spark.sql.shuffle.partitions" -> "2", "spark.sql.planChangeValidation" -> "true"),
      extensions = _.injectPreCBORule(_ => PlanCapture)
    )
    val folder = Files.createTempDirectory("phantoms-detect").toString
    DetectionTestSession.rows(spark).write.parquet(s"$folder/t")
    spark.read.parquet(s"$folder/t").createOrReplaceTempView("t")
    spark.read.parquet(s"$folder/t").where("a < -1000").write.parquet(s"$folder/none")
    spark.read.parquet(s"$folder/none").createOrReplaceTempView("none")
    spark.range(5).selectExpr("id as a", "cast(id as string) as name").write.parquet(s"$folder/dim")
    spark.read.parquet(s"$folder/dim").createOrReplaceTempView("dim")
    spark.read.parquet(s"$folder/t").selectExpr("a", "b", "c").write.option("header", true).csv(s"$folder/csv")
    spark.read.schema("a int, b string, c bigint").option("header", true).csv(s"$folder/csv")
      .createOrReplaceTempView("text")
    // Not the plan of `t` itself: the cache would then answer for `t` too.
    spark.sql("cache table kept as select a, b, c from t where a is not null")
    ()
  }

  override def afterAll(): Unit =
    try TestSessions.end(spark)
    finally super.afterAll()

  /** The optimised plan as our rule would see it. */
  protected def planFor(df: DataFrame): LogicalPlan = {
    PlanCapture.last = None
    // A new execution: one that has been asked before keeps its plan.
    new QueryExecution(spark.asInstanceOf[ClassicSession], df.queryExecution.analyzed).optimizedPlan
    PlanCapture.last.get
  }

  protected def planFor(sql: String): LogicalPlan = planFor(spark.sql(sql))

  /** Asks about each operator from the root down, as the rule does, until one is something to be shared. */
  protected def detectIn(plan: LogicalPlan): Option[Either[DeclineReason, Candidate]] =
    plan.collect { case p => Detector.detect(p, DetectionTestSession.limitAbove(plan, p)) }.flatten.headOption
}

object DetectionTestSession {
  private val schema = StructType(
    Seq(
      StructField("a", IntegerType),
      StructField("b", StringType),
      StructField("c", LongType),
      StructField("d", DecimalType(10, 2)),
      StructField("w", DecimalType(38, 4)),
      StructField("x", DoubleType),
      StructField("f", FloatType),
      StructField("flag", BooleanType),
      StructField("dt", DateType),
      StructField("ts", TimestampType),
      StructField("s", StructType(Seq(StructField("u", IntegerType), StructField("v", StringType)))),
      StructField("r", ArrayType(IntegerType)),
      StructField("m", MapType(StringType, IntegerType)),
      StructField("bin", BinaryType)
    )
  )

  /** Few distinct values and many NULLs, so that every set has NULL groups; doubles are whole, so sums are exact. */
  def rows(spark: SparkSession): DataFrame = {
    val random = new Random(7)
    def some[T](value: => T): Any = if (random.nextInt(5) == 0) null else value
    val data = (0 until 300).map { i =>
      Row(
        some(random.nextInt(4)),
        some("k" + random.nextInt(3)),
        some(random.nextInt(100).toLong),
        some(new java.math.BigDecimal(random.nextInt(10000)).movePointLeft(2)),
        some(new java.math.BigDecimal(random.nextInt(3)).setScale(4)),
        some(random.nextInt(50).toDouble),
        some(if (i % 50 == 0) Float.NaN else if (i % 7 == 0) -0.0f else random.nextInt(2).toFloat),
        some(random.nextBoolean()),
        some(java.sql.Date.valueOf(s"2024-01-0${1 + random.nextInt(5)}")),
        some(java.sql.Timestamp.valueOf(s"2024-01-01 0${random.nextInt(6)}:00:00")),
        some(Row(some(random.nextInt(2)), some("v" + random.nextInt(2)))),
        some(Seq.fill(random.nextInt(2))(random.nextInt(2))),
        some(Map("z" -> random.nextInt(3))),
        some(Array[Byte](random.nextInt(2).toByte))
      )
    }
    spark.createDataFrame(spark.sparkContext.parallelize(data, 2), schema)
  }

  /** The limit that stands directly above an operator, as the rule tracks it on its way down. */
  def limitAbove(root: LogicalPlan, operator: LogicalPlan): Option[Int] = {
    import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
    import org.apache.spark.sql.catalyst.plans.logical.LocalLimit
    root.collectFirst { case LocalLimit(IntegerLiteral(n), child) if child eq operator => n }
  }
}
