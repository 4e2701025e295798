package io.phantoms.spark.integration

import io.phantoms.spark.Turns
import io.phantoms.spark.oracle.EverySecondTest

import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** The same rows whatever the session says about execution, and whatever the input comes from. */
final class SettingsSuite extends EverySecondTest with PluginSession {
  private var asked = 0

  /** A union and grouping sets, one of them with a condition: which one takes turns. */
  private def all(table: String): Unit = {
    asked += 1
    def both(plain: String, filtered: String): Unit =
      Turns.some(Seq(plain, filtered), 1, asked).foreach(q => assertSame(q))
    both(PluginSession.union(table), PluginSession.union(table, "v > 200 and m < 250"))
    both(PluginSession.sets(table, "s > 'host-3'"), PluginSession.sets(table))
  }

  /** One of four queries, beside the two modes, as settings are many. */
  private def one(table: String): Unit = {
    asked += 1
    val queries = Seq(
      PluginSession.union(table),
      PluginSession.sets(table, "s > 'host-3'"),
      PluginSession.union(table, "v > 200 and m < 250"),
      PluginSession.sets(table)
    )
    Turns.some(queries, 1, asked + Turns.slower(2)).foreach(q => assertSame(q))
  }

  private val settings = Seq(
    Seq("spark.sql.codegen.wholeStage" -> "false"),
    Seq("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN"),
    Seq("spark.sql.codegen.factoryMode" -> "NO_CODEGEN"),
    Seq("spark.sql.codegen.factoryMode" -> "CODEGEN_ONLY"),
    Seq("spark.sql.columnVector.offheap.enabled" -> "true"),
    Seq("spark.sql.parquet.enableVectorizedReader" -> "false"),
    Seq("spark.sql.parquet.columnarReaderBatchSize" -> "7"),
    Seq("spark.sql.files.maxPartitionBytes" -> "16k", "spark.sql.files.openCostInBytes" -> "1"),
    Seq("spark.sql.exchange.reuse" -> "false"),
    Seq("spark.sql.shuffle.orderIndependentChecksum.enabled" -> "false"),
    Seq("spark.sql.adaptive.coalescePartitions.parallelismFirst" -> "false"),
    Seq("spark.sql.adaptive.forceApply" -> "true"),
    Seq("spark.sql.execution.usePartitionEvaluator" -> "true"),
    Seq("spark.sql.unionOutputPartitioning" -> "true"),
    Seq("spark.sql.ansi.enabled" -> "false"),
    Seq("spark.sql.legacy.decimal.retainFractionDigitsOnTruncate" -> "true"),
    Seq("spark.sql.shuffle.partitions" -> "1"),
    Seq("spark.sql.shuffle.partitions" -> "200"),
    Seq("spark.phantoms.lfta.memory" -> "64k"),
    Seq("spark.phantoms.chooser" -> "gc")
  )

  // Half of them have their turn.
  Turns.some(settings, settings.size / 2).foreach { s =>
    test(s.map { case (k, v) => s"$k=$v" }.mkString(", ")) {
      bothModes(withConf(s: _*)(one("flows")))
    }
  }

  test("1 to 50 input partitions, some of them empty") {
    Seq(1, 2, 7, 50).foreach { n =>
      spark.table("flows").where("v < 30").repartition(n).write.mode("overwrite").parquet(s"$folder/parts_$n")
      spark.read.parquet(s"$folder/parts_$n").createOrReplaceTempView("parts")
      spark.range(0, 20, 1, n).selectExpr(
        "cast(id % 3 as int) k",
        "cast(id as int) m",
        "string(id) s",
        "id v",
        "cast(id as decimal(10, 2)) d"
      ).createOrReplaceTempView("few")
      bothModes {
        assertSame(PluginSession.union("parts"))
        assertSame(PluginSession.sets("few"))
      }
    }
  }

  private def copy(name: String, format: String): Unit = {
    spark.table("flows").write.format(format).save(s"$folder/$name")
    spark.read.schema(spark.table("flows").schema).format(format).load(s"$folder/$name").createOrReplaceTempView(name)
  }

  test("ORC") {
    copy("orc_flows", "orc")
    bothModes(all("orc_flows"))
    withConf("spark.sql.orc.enableVectorizedReader" -> "false")(all("orc_flows"))
  }

  test("Parquet and ORC as DataSource V2") {
    withConf("spark.sql.sources.useV1SourceList" -> "") {
      copy("v2_parquet", "parquet")
      copy("v2_orc", "orc")
      bothModes {
        Seq("v2_parquet", "v2_orc").foreach { name =>
          val plan = spark.sql(PluginSession.union(name)).queryExecution.optimizedPlan
          assert(plan.exists(p => p.isInstanceOf[DataSourceV2ScanRelation] || p.isInstanceOf[DataSourceV2Relation]))
          all(name)
        }
      }
    }
  }

  test("a source that computes the aggregates itself is left to do so") {
    withConf("spark.sql.sources.useV1SourceList" -> "", "spark.sql.parquet.aggregatePushdown" -> "true") {
      spark.read.parquet(s"$folder/flows").createOrReplaceTempView("pushing")
      val df = spark.sql(
        "select max(k) as x, count(*) as n from pushing union all select min(k), count(*) from pushing"
      )
      assert(!isShared(df))
    }
  }

  test("CSV and JSON: shared when all read the same columns, left alone when not") {
    Seq("csv", "json").foreach { format =>
      copy(s"${format}_flows", format)
      bothModes {
        assertSame(
          s"""select k, count(m) as n, max(s) as x from ${format}_flows group by k
             |union all select m, count(k), min(s) from ${format}_flows group by m""".stripMargin
        )
        val df = spark.sql(PluginSession.union(s"${format}_flows"))
        assert(!isShared(df))
        assertRows(df.collect().toSeq, plain(df.collect().toSeq))
        // A grouping-sets aggregate reads the same columns for every set.
        assertSame(PluginSession.sets(s"${format}_flows"))
      }
    }
  }

  test("nested fields and structs as keys") {
    bothModes {
      assertSame("select s.u, s.v, count(*), sum(c) from t group by cube (s.u, s.v)")
      assertSame("select s, s.u, count(*) from t group by grouping sets ((s), (s.u), ())")
      assertSame(
        """select s.u as x, count(*) as n from t where s.v is not null group by s.u
          |union all select length(s.v), count(*) from t where s.v is not null group by length(s.v)""".stripMargin
      )
    }
    withConf("spark.sql.parquet.enableNestedColumnVectorizedReader" -> "false") {
      assertSame("select s.u, s.v, count(*), sum(c) from t group by cube (s.u, s.v)")
    }
    withConf("spark.sql.optimizer.nestedSchemaPruning.enabled" -> "false") {
      assertSame("select s.u, s.v, count(*), sum(c) from t group by cube (s.u, s.v)")
    }
  }

  test("partition columns as keys, filters and inputs") {
    spark.sql("select *, cast(k % 4 as int) as p, concat('x', v % 3) as q from flows where v < 100")
      .write.partitionBy("p", "q").parquet(s"$folder/partitioned")
    spark.read.parquet(s"$folder/partitioned").createOrReplaceTempView("partitioned")
    bothModes {
      assertSame("select p, q, k, count(*), sum(v), sum(p) from partitioned group by cube (p, q, k)")
      assertSame("select p, k, count(*) from partitioned where q = 'x1' group by rollup (p, k)")
      assertSame("select p, count(*), max(q) from partitioned where q = 'x1' and p in (1, 2) group by rollup (p)")
      assertSame("select q, count(*) from partitioned where p = 99 group by rollup (q)")
      all("partitioned")
    }
  }

  test("columns that are constant, NULL throughout or dictionary-encoded") {
    spark.sql("select k, m, cast(null as string) as s, 7L as v, cast(null as decimal(10, 2)) as d from flows")
      .write.parquet(s"$folder/constant")
    spark.read.parquet(s"$folder/constant").createOrReplaceTempView("constant")
    bothModes {
      all("constant")
      assertSame(
        "select k, s, d, count(s), count(*), sum(d), min(s), max(d), avg(v) from constant group by cube (k, s, d)"
      )
      assertSame(
        "select b, w, f, dt, flag, count(*), max(bin is null) from t group by grouping sets ((b, w), (f, dt), (flag))"
      )
    }
  }

  test("inputs that are themselves joins, windows, aggregates and limits") {
    bothModes {
      assertSame(
        """select b, a, count(*), sum(v) from (select t.a, t.b, f.v from t join flows f on t.a = f.k where f.v < 50)
          |group by cube (a, b)""".stripMargin
      )
      assertSame(
        "select k, n, count(*) from (select k, m, count(*) as n from flows group by k, m) group by cube (k, n)"
      )
      assertSame(
        """select k, r, count(*) from (select k, row_number() over (partition by k order by v, m, s, d) % 5 as r from flows)
          |group by cube (k, r)""".stripMargin
      )
      assertSame(
        "select k, m, count(*) from (select k, m from flows order by k, m, v limit 1000) group by rollup (k, m)"
      )
      assertSame(
        "select x, k, count(*) from (select k, explode(array(k, m)) as x from flows) group by grouping sets ((x), (k))"
      )
    }
  }
}
