package io.phantoms.spark.oracle

import java.util.concurrent.atomic.AtomicLong

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf

import org.apache.spark.sql.functions.udf

/**
 * Which expressions are evaluated on which rows, and how often: an error that plain Spark raises is raised, one that plain
 * Spark's plan guards against is not, and what several places read is computed once.
 */
class RowEvaluationSuite extends EverySecondTest with DifferentialSuite {
  import RowEvaluationSuite._

  // In files, read as batches; over a shuffle, read as rows; and with every kernel interpreted.
  override protected def variants: Seq[Variant] = {
    val generated = Variant("generated", Nil)
    val interpreted = Variant("interpreted", Seq("spark.sql.codegen.factoryMode" -> "NO_CODEGEN"))
    if (asPlanned) Seq(generated) else Turns.some(Seq(generated, interpreted), kernels, asked)
  }

  // A query over both inputs meets each kernel over one of them.
  private var asked = 0
  private var kernels = 1

  // Where plain Spark's own answer depends on whether it compiles, both sides have to.
  private var asPlanned = false

  override protected def createTables(): Unit = {
    val folder = java.nio.file.Files.createTempDirectory("phantoms-rows").toString
    spark.sql(
      """select * from values (1, 1, 0, 'bad', 7L), (1, 2, 0, 'bad', 8L), (2, 1, 5, '7', 9223372036854775807L),
        |(2, 2, 4, '8', 3L), (2, 2, 4, '8', 3L), (3, 1, 2, '9', null) as t(a, b, z, s, v)""".stripMargin
    ).coalesce(1).write.parquet(s"$folder/t")
    spark.read.parquet(s"$folder/t").createOrReplaceTempView("t_files")
    spark.read.parquet(s"$folder/t").repartition(1).createOrReplaceTempView("t_rows")
    val _ = spark.udf.register("counted", udf { (x: Integer) => Calls.incrementAndGet(); Int.box(x + 1) })
  }

  private def both(sql: String, fails: Option[String] = None): Unit = {
    // Copies of a shuffle that read different columns are not aligned.
    val inputs = Seq("t_files", "t_rows").filterNot(_ == "t_rows" && sql.contains("union"))
    kernels = 3 - inputs.size
    inputs.foreach { t =>
      asked += 1
      checkSharedSql(sql.replaceAll("from t\\b", s"from $t"), fails = fails)
    }
  }

  private val zero = Some("DIVIDE_BY_ZERO")
  private val cast = Some("CAST_INVALID_INPUT")
  private val computed = "(select a, b, z, 10 / z r from t)"

  test("a computed column is evaluated for every row, whatever reads it under a FILTER or IF") {
    both(s"select a, b, sum(r) filter (where z > 0) from $computed group by cube(a, b)", zero)
    both(
      s"select a k, sum(if(z = 0, 0, r)) q from $computed group by a union all " +
        s"select b, sum(if(z = 0, 0, r)) from $computed group by b",
      zero
    )
    both(
      "select a, x, count(*) from (select a, z, cast(s as int) x from t) group by grouping sets ((a, x), (a), ())",
      cast
    )
  }

  test("a key of a set that is filtered out is evaluated for every row") {
    both(
      "select * from (select a, b, r, grouping_id(a, b, r) g, count(*) n from (select a, b, 10 / z r from t) " +
        "group by cube(a, b, r)) where g in (1, 3, 5, 7)",
      zero
    )
  }

  test("what the aggregates themselves guard stays guarded") {
    both("select a, b, sum(10 / z) filter (where z > 0) from t group by cube(a, b)")
    both("select a, b, sum(if(z = 0, 0, 10 / z)) from t group by cube(a, b)")
    both("select a, b, sum(case when z <> 0 then 10 / z end), max(if(z > 0, 10 / z, 1)) from t group by cube(a, b)")
    both("select a, b, max(cast(s as int)) filter (where z > 0) from t group by rollup(a, b)")
    both("select a k, sum(10 / z) filter (where z > 0) from t group by a union all " +
      "select b, max(10 / z) filter (where z > 0) from t group by b")
  }

  test("what stands behind a condition in several aggregates stays there") {
    both(
      "select a k, sum(if(z > 0 and cast(s as int) > 7, 1, 0)) q from t group by a union all " +
        "select b, sum(if(z > 0 and cast(s as int) > 7, 2, 0)) from t group by b"
    )
    both(
      "select a k, sum(if(z <> 0 and 10 div z > 1, 1, 0)) q from t group by a union all " +
        "select b, max(if(z <> 0 and 10 div z > 1, 2, 0)) from t group by b"
    )
  }

  test("what two functions of one aggregate have in common is evaluated before their filters, as by plain Spark") {
    val quotients =
      "select a, b, sum(10 / z) filter (where z > 0), max(10 / z) filter (where z > 0) from t group by cube(a, b)"
    val one = "select a, b, avg(10 div z) filter (where z > 0) from t group by cube(a, b)"
    asPlanned = true
    try {
      both(quotients, zero)
      both(one, zero)
      both(
        "select a, b, sum(if(z <> 0 and 10 div z > 1, 1, 0)), sum(if(z <> 0 and 10 div z > 2, 1, 0)) from t group by cube(a, b)",
        zero
      )
      both(
        "select a, b, sum(v + 1) filter (where z = 4), max(v + 1) filter (where z = 4) from t group by cube(a, b)",
        Some("ARITHMETIC_OVERFLOW")
      )
      // Where Spark compiles no stages nothing is taken out of the functions.
      Seq("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN").foreach { conf =>
        withConf(conf) {
          both(quotients)
          both(one)
        }
      }
    } finally asPlanned = false
  }

  test("a condition on grouping columns keeps rows, not groups only") {
    both("select a, b, sum(10 / z) from t group by cube(a, b) having a = 2")
    both("select a, b, max(cast(s as int)) from t group by rollup(a, b) having a > 1")
    both("select * from (select a, b, sum(10 / z) q from t group by cube(a, b)) where a = 2")
    both("select a, b, sum(10 / z) from t group by cube(a, b) having a >= 2 or b = 7")
    both("select a, b, sum(10 / z) from t group by cube(a, b) having b = 1", zero)
    both("select a, b, sum(v) from t group by cube(a, b) having a = 2 and grouping(b) = 0 or a = 3")
    // Of a union, other branches take the rows that this one does not.
    both(
      "select a, b, sum(10 / z) q from t group by cube(a, b) having a = 2 union all select z, null, count(*) from t group by z"
    )
  }

  test("a condition on grouping columns does not keep rows from what is computed below") {
    both("select a, b, sum(r) from (select a, b, 10 / z r from t) group by cube(a, b) having a = 2", zero)
    both("select k, b, count(*) from (select 10 / z k, b from t) group by cube(k, b) having k > 2", zero)
    both(
      "select k, b, count(*), sum(10 / z) from (select cast(z as string) k, b, z from t) group by cube(k, b) having k > '1'"
    )
  }

  test("a filter below keeps rows from what is computed above") {
    both("select k, b, sum(r), max(r) from (select 10 / z k, b, 10 / z + 1 r from t where z > 0) group by cube(k, b)")
  }

  test("fields of one JSON text are read in one pass, expensive functions of one column are looked up") {
    withConf("spark.sql.codegen.factoryMode" -> "CODEGEN_ONLY") {
      both(
        "select k, l, sum(m), max(m), count(o) from (select get_json_object(j, '$.a') k, get_json_object(j, '$.s') l, " +
          "cast(get_json_object(j, '$.v') as double) m, get_json_object(j, '$.n') o from " +
          "(select if(b = 2 and z = 4, substr(to_json(struct(*)), 3), to_json(struct(*))) j from t)) group by cube(k, l)"
      )
      both("select k, b, max(h), min(h), count(r) from (select sha2(string(a), 256) k, b, crc32(string(z)) h, " +
        "regexp_replace(s, '[0-7]', 'x') r from t) group by rollup(k, b)")
      both(
        "select k, b, sum(r) from (select regexp_extract(s, '[0-9]', 0) k, b, " +
          "cast(regexp_replace(s, '[^0-9]', '') as int) r from t) group by cube(k, b)",
        cast
      )
      both("select k, b, count(*) from (select date_format(date_add(date'2020-01-31', z), 'yyyy-MM') k, b from t) " +
        "group by cube(k, b)")
    }
  }

  // A sample evaluates keys, too.
  private def calls(sql: String): (Long, Long) = withConf(PhantomsConf.SampleEnabled.key -> "false") {
    def count(body: => Any): Long = { Calls.set(0); val _ = body; Calls.get }
    (count(plain(spark.sql(sql))), count(assert(shared(spark.sql(sql)).isShared)))
  }

  test("what several functions, keys and filters read is computed once a row") {
    Seq("t_files", "t_rows").foreach { t =>
      asked += 1
      Turns.some(Seq("FALLBACK", "NO_CODEGEN"), 1, asked).foreach { mode =>
        withConf("spark.sql.codegen.factoryMode" -> mode) {
          def once(sql: String): Unit = {
            val (before, after) = calls(sql.replace("from t", s"from $t"))
            assert(after == Rows && before >= after, s"$sql over $t, $mode: $before calls by plain Spark")
            ()
          }
          once(
            "select a, b, sum(counted(z)), max(counted(z)), min(counted(z)), avg(counted(z)) from t group by cube(a, b)"
          )
          once("select k, b, sum(w), max(w), avg(w) from (select counted(a) k, b, z w from t) group by rollup(k, b)")
          once("select k, b, sum(w), max(w), avg(w) from (select a k, b, counted(z) w from t) group by rollup(k, b)")
          once("select k, count(*), sum(k) from (select counted(a) k, b from t) group by cube(k, b)")
          once("select a, b, sum(counted(z)) filter (where counted(z) > 3), max(counted(z)) from t group by cube(a, b)")
          once("select a, b, sum(counted(z) + 1), max(counted(z) * 2) from t group by grouping sets ((a), (b), (z))")
        }
      }
    }
  }
}

object RowEvaluationSuite {
  private val Rows = 6L

  /** Calls of the function, of all tasks of this process. */
  private val Calls = new AtomicLong
}
