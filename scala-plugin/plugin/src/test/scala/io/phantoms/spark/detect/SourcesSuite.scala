package io.phantoms.spark.detect

import java.nio.file.Files

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Literal, PythonUDAF, PythonUDF}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.{DoubleType, IntegerType}
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** The same shapes over other inputs: DSv2, tables with padded columns, caches, observed and text inputs, self-unions. */
class SourcesSuite extends AnyFunSuite with DetectionTestSession {
  private def counts(df: DataFrame): DataFrame =
    df.groupBy(col("a")).count().union(df.groupBy(length(col("b"))).count())

  private def sets(df: DataFrame): DataFrame = df.cube("a", "b").agg(count(lit(1)), sum("c"))

  private def assertShared(df: DataFrame): Assertion = {
    val plan = planFor(df)
    detectIn(plan) match {
      case Some(Right(candidate)) =>
        val replaced = WorkloadOracle.replace(plan, candidate)
        assert(WorkloadOracle.rows(spark, replaced) == WorkloadOracle.multiset(df.collect().toSeq))
      case other => fail(s"$other\n$plan")
    }
  }

  private def assertCode(df: DataFrame, code: String): Assertion = {
    val plan = planFor(df)
    assert(detectIn(plan).map(_.left.map(_.code)) == Some(Left(code)), plan)
  }

  private def v2(format: String): DataFrame = {
    val folder = Files.createTempDirectory("phantoms-v2").toString
    spark.table("t").select("a", "b", "c").write.mode("overwrite").format(format).save(folder)
    val df = withConf("spark.sql.sources.useV1SourceList" -> "")(
      spark.read.schema("a int, b string, c bigint").format(format).load(folder)
    )
    assert(df.queryExecution.analyzed.exists(_.isInstanceOf[DataSourceV2Relation]))
    df
  }

  test("one DataFrame on both sides of a union: the branches share their ids") {
    assertShared(counts(spark.table("t")))
  }

  test("DSv2 files") {
    assertShared(counts(v2("parquet")))
    assertShared(sets(v2("orc")))
  }

  test("DSv2 files that would compute the aggregates themselves") {
    val df = v2("parquet")
    withConf("spark.sql.parquet.aggregatePushdown" -> "true") {
      assertCode(counts(df), "SOURCE_PUSH_DOWN")
      // Never pushed below an Expand.
      assertShared(sets(df))
    }
  }

  test("text that is read wider, v1 and v2") {
    assertCode(counts(v2("csv")), "PROJECTION_SENSITIVE_SOURCE")
    assertCode(counts(v2("json")), "PROJECTION_SENSITIVE_SOURCE")
    assertShared(sets(v2("json")))
  }

  test("char columns: Projects that pad stand between scan and aggregate") {
    spark.sql("create table padded (k char(4), v varchar(3), n int) using parquet")
    spark.sql("insert into padded values ('a', 'x', 1), ('ab', null, 2), (null, 'y', 3), ('a', 'x ', null)")
    withConf("spark.sql.readSideCharPadding" -> "true") {
      assertShared(spark.sql("select k, v, sum(n) from padded group by cube(k, v)"))
      assertShared(
        spark.sql("select k, sum(n) from padded group by k union all select v, count(n) from padded group by v")
      )
    }
  }

  test("rows without a file") {
    val session = spark
    import session.implicits._
    // Computed grouping keys would be evaluated into the local rows before any rule could see them.
    val local = Seq((1, 5, "x"), (1, 6, "yy"), (2, 5, null)).toDF("a", "c", "b")
    assertShared(local.groupBy("a").count().union(local.groupBy("c").agg(count("b"))))
    assertShared(counts(spark.range(20).selectExpr("cast(id % 3 as int) a", "cast(id as string) b")))
    assertShared(sets(spark.createDataFrame(
      spark.table("t").select("a", "b", "c").rdd,
      spark.table("t").select("a", "b", "c").schema
    )))
  }

  test("an observed input counts once") {
    val observed = spark.table("t").observe("seen", count(lit(1)).as("n"))
    assertCode(sets(observed), "OBSERVED")
    assertCode(counts(observed), "OBSERVED")
  }

  test("a Python UDF") {
    val doubled = PythonUDF("doubled", null, IntegerType, Nil, evalType = 100, udfDeterministic = true)
    assert(Eligibility.expression(doubled, "an input").map(_.code).contains("PYTHON_UDF"))
  }

  test("a pandas UDF that aggregates") {
    val mean = PythonUDAF("mean", null, DoubleType, Seq(Literal(1)), udfDeterministic = true)
    assert(Eligibility.call(mean.toAggregateExpression()).left.toOption.map(_.code).contains("PYTHON_UDF"))
  }

  test("a Scala UDF is as deterministic as it says") {
    val steady = udf((i: Int) => i % 2)
    val erratic = udf((i: Int) => i % 2).asNondeterministic()
    val t = spark.table("t").where("a is not null")
    assertShared(t.withColumn("h", steady(col("a"))).cube("h", "b").count())
    assertCode(t.withColumn("h", erratic(col("a"))).cube("h", "b").count(), "NONDETERMINISTIC")
  }

  test("a limit above the union covers those of its branches; one in a branch alone does not") {
    val t = spark.table("t")
    val limited = counts(t).limit(3)
    val plan = planFor(limited)
    assert(detectIn(plan).exists(_.isRight))
    // Without the limit above, the branch's own is not to be dropped.
    val union = plan.collectFirst { case u: org.apache.spark.sql.catalyst.plans.logical.Union => u }.get
    assert(Detector.detect(union, None).isEmpty)
    assert(Detector.detect(union, Some(4)).isEmpty)
    assert(Detector.detect(union, Some(3)).exists(_.isRight))
  }

  test("what a join pruned differently per branch is read once") {
    val v = spark.table("t").as("l").join(spark.table("dim").as("r"), col("l.a") === col("r.a"), "left_outer")
    val df = v.groupBy("b").agg(sum("c")).union(v.groupBy("name").agg(count("name")))
    val plan = planFor(df)
    val workload = detectIn(plan).flatMap(_.toOption).get.workloads.head
    // The name comes from the outer side, where it may be missing: a count that took it for never NULL would be wrong.
    assert(workload.keys.forall(_.nullable))
    assertShared(df)
  }
}
