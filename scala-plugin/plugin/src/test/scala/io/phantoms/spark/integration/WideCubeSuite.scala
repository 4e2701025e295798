package io.phantoms.spark.integration

import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.scalatest.funsuite.AnyFunSuite

/** CUBE of eight columns: 256 relations, whose generated class keeps to what the JVM allows. */
final class WideCubeSuite extends AnyFunSuite with PluginSession {
  private val keys = (0 until 8).map(i => s"c$i")

  override protected def views(session: SparkSession): Unit = {
    super.views(session)
    val columns = keys.indices.map { i =>
      i % 4 match {
        case 0 => s"nullif(concat('s', id % ${2 + i}), 's1') c$i"
        case 1 => s"cast(id % 3 as int) c$i"
        case 2 => s"nullif(id % 4, 2) c$i"
        case _ => s"id % 2 = 0 c$i"
      }
    }
    session.range(0, 200, 1, 2).selectExpr(columns :+ "id v" :+ "cast(id as decimal(10, 2)) d": _*)
      .write.mode("overwrite").parquet(s"$folder/wide")
    session.read.parquet(s"$folder/wide").createOrReplaceTempView("wide")
  }

  private def cube(aggregates: String): DataFrame =
    spark.sql(s"select ${keys.mkString(", ")}, $aggregates from wide group by cube(${keys.mkString(", ")})")

  test("256 sets") {
    val aggregates = "count(*) n, sum(v), avg(d), max(c0), grouping_id() g"
    // In a strict session, a class that is too large would fail the query.
    assert(spark.conf.get("spark.phantoms.strict") == "true")
    val df = assertSame(cube(aggregates))
    assert(merges(df.queryExecution.executedPlan).map(_.spec.queries.size) == Seq(256))
    withConf("spark.sql.codegen.factoryMode" -> "NO_CODEGEN")(assertSame(cube(aggregates)))
  }
}
