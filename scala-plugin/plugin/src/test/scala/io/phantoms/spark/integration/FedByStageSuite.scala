package io.phantoms.spark.integration

import io.phantoms.spark.Turns
import io.phantoms.spark.block.BlockFormat
import io.phantoms.spark.oracle.OneOfFour
import io.phantoms.spark.physical.{BlockExchange, LftaExec}
import io.phantoms.spark.run.LftaTask

import org.apache.spark.sql.{DataFrame, SparkSessionExtensions}
import org.apache.spark.sql.classic.{DataFrame => ClassicDataFrame}
import org.apache.spark.sql.execution.{ExplainMode, SparkPlan, WholeStageCodegenExec}

/**
 * The LFTA fed by the code of the stage below: the rows, and byte for byte the blocks, that it makes of the rows of an
 * iterator. A plan proves it by an LFTA that is part of a whole stage.
 */
final class FedByStageSuite extends OneOfFour with PluginSession {
  import FedByStageSuite._

  override protected def place: Int = 1

  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions
  override protected def confs: Map[String, String] = Map("spark.sql.cbo.enabled" -> "false")

  override protected def views(session: org.apache.spark.sql.classic.SparkSession): Unit = {
    super.views(session)
    // Of each key none, one or several rows; keys that no other table has, and NULL.
    session.range(0, 60, 1, 2).selectExpr(
      "cast(nullif(id % 23 + 5, 20) as int) as dk",
      "if(id % 7 = 0, null, concat('name-', id % 11)) as name",
      "cast(if(id % 5 = 0, null, id * 1.25) as decimal(25, 3)) as price",
      "if(id % 6 = 0, null, named_struct('x', id % 3, 'y', cast(id % 2 as string))) as pair",
      "if(id % 4 = 0, double('NaN'), if(id % 4 = 1, -0.0D, 0.0D)) as odd",
      "cast(id % 3 as tinyint) as small",
      "id % 2 = 0 as even"
    ).write.parquet(s"$folder/dim")
    session.read.parquet(s"$folder/dim").createOrReplaceTempView("dim")
  }

  private def fused(plan: SparkPlan): Seq[LftaExec] =
    collectWithSubqueries(plan) { case w: WholeStageCodegenExec => w.child }.collect { case l: LftaExec => l }

  private def assertFused(df: DataFrame, expected: Boolean): Unit = {
    val plan = df.queryExecution.executedPlan
    assert(lftas(plan).nonEmpty && fused(plan).size == (if (expected) lftas(plan).size else 0), plan)
    lftas(plan).foreach(l => assert(l.metrics("blocks").value > 0 || l.metrics("rows").value == 0, plan))
  }

  /** The answer of plain Spark, from a plan that is fed as expected. */
  private def check(sql: String, expected: Boolean = true): Unit =
    withClue(s"$sql\n")(assertFused(assertSame(sql), expected))

  private def rollup(from: String, keys: String = "k, name, price"): String =
    s"select $keys, count(*) as n, sum(v) as total, sum(d) as dec, max(s) as last from $from group by rollup($keys)"

  private def join(kind: String, hint: String): String =
    s"(select /*+ $hint */ * from flows $kind join dim on k = dk and (v > 20 or price > 30))"

  private val hints = Seq("broadcast(dim)", "merge(dim)", "shuffle_hash(dim)", "broadcast(flows)")

  for ((kind, i) <- Seq("inner", "left", "right", "full").zipWithIndex) test(s"$kind joins") {
    // A full join by broadcast has no code.
    for (hint <- Turns.some(hints, 1, i)) bothModes {
      val sql = rollup(join(kind, hint))
      val df = assertSame(sql)
      val hasCode = collectWithSubqueries(df.queryExecution.executedPlan) {
        case w: WholeStageCodegenExec if w.find(_.nodeName.contains("Join")).isDefined => w
      }.nonEmpty
      withClue(s"$hint: ")(assertFused(df, hasCode))
      assert(hasCode || kind == "full" && hint.startsWith("broadcast"), df.queryExecution.executedPlan)
    }
  }

  test("semi and anti joins, existence, and joins without keys") {
    val all = Seq(
      rollup("(select * from flows left semi join dim on k = dk)", "k, m"),
      rollup("(select /*+ merge(dim) */ * from flows left anti join dim on k = dk and price > 40)", "k, m"),
      rollup("(select /*+ broadcast(dim) */ * from flows join dim on k < dk where v < 100)", "k, odd"),
      rollup("(select * from flows where exists (select 1 from dim where dk = k) or v < 5)", "k, m")
    )
    for (sql <- Turns.some(all, 2)) bothModes(assertSame(sql))
  }

  test("what else a stage has") {
    val all = Seq(
      "(select explode(array(k, m, null)) as k, v, d, s, name, price from flows join dim on k = dk)" -> true,
      "(select k, v, d, s, upper(s) as name, m as price from flows where v > (select avg(dk) from dim))" -> true,
      "(select * from flows join dim on k = dk union all select * from flows join dim on m = dk)" -> false,
      "(select k, sum(v) as v, sum(d) as d, max(length(s)) as s, name, max(price) as price from flows join dim on k = dk group by k, name)" -> true
    )
    val session = spark
    import session.implicits._
    spark.range(0, 300, 1, 2).as[Long].map(i => (i % 7, i, BigDecimal(i), s"s${i % 5}", i % 3 == 0, i.toDouble))
      .toDF("k", "v", "d", "s", "name", "price").createOrReplaceTempView("typed")
    check(rollup("typed"))
    for ((from, fused) <- Turns.some(all, 2)) {
      val df = assertSame(rollup(from))
      if (fused) assertFused(df, expected = true)
    }
    check("select id % 7 as k, id % 3 as m, count(*), sum(id) from range(0, 5000, 1, 3) group by cube(id % 7, id % 3)")
  }

  test("columns of every type") {
    val keys =
      Seq("a", "b", "d", "w", "x", "f", "flag", "dt", "ts", "s", "r", "bin", "pair", "odd", "small", "even")
    val sql =
      s"""select ${keys.mkString(", ")}, count(*) as n, sum(c), min(b), max(d), avg(w), sum(small), max(name),
         |min(pair), count(distinct name) as names
         |from (select /*+ broadcast(dim) */ * from t left join dim on a = dk - 4)
         |group by grouping sets (${keys.map(k => s"($k)").mkString(", ")}, (${keys.mkString(", ")}), ())""".stripMargin
    check(sql)
    withConf("spark.sql.ansi.enabled" -> "false")(check(sql))
  }

  test("blocks are those of an iterator, to the byte") {
    val sqls = Seq(
      rollup(join("inner", "broadcast(dim)")),
      rollup(join("left", "broadcast(dim)"), "name, pair, odd, small"),
      rollup(join("right", "broadcast(dim)"), "price, even, s")
    )
    for (sql <- sqls; buckets <- Seq(4096, 4, 0)) Variants.using(Variants.tables(buckets)) {
      val (fed, iterated) = (blocks(sql, fused = true), blocks(sql, fused = false))
      assert(iterated.flatten.size > 2 && fed == iterated)
    }
  }

  test("tables that are flushed in the middle of one row's matches") {
    val (length, rows) = (3000, 13000L)
    assert(rows * length > LftaTask.DictionaryBudget)
    spark.range(0, rows, 1, 1).selectExpr("0 as lk", s"concat(id, repeat('x', $length)) as text", "id % 7 as g")
      .write.parquet(s"$folder/long")
    spark.read.parquet(s"$folder/long").createOrReplaceTempView("long")
    val from = "(select /*+ broadcast(long) */ * from (select id as v from range(0, 2, 1, 1)) join long on lk = v)"
    val sql = s"select text, g, count(*) as n, sum(v), max(text) from $from group by grouping sets ((text, g), (g))"
    val (fed, iterated) = (blocks(sql, fused = true), blocks(sql, fused = false))
    assert(fed == iterated)
    assert(fed.flatten.map(b => BlockFormat.records(b._2.toArray, 0)).sum >= rows)
    if (Turns.full) check(s"select g, n, length(text) as l, hash(text) as h from ($sql)")
  }

  test("inputs without a row and without a partition") {
    val empty = "(select * from flows where k > 1000)"
    val queries = Seq(
      s"select name, count(*) as n, sum(v) from $empty join dim on k = dk group by name " +
        s"union all select null, count(*), max(v) from $empty join dim on k = dk",
      "select id % 7 as k, count(*) as n from range(0, 0, 1, 0 + 1) group by id % 7 " +
        "union all select null, count(*) from range(0, 0, 1, 1)"
    )
    queries.foreach(q => bothModes(assertSame(q)))
    spark.table("flows").write.partitionBy("k").parquet(s"$folder/by_k")
    spark.read.parquet(s"$folder/by_k").createOrReplaceTempView("by_k")
    val pruned = "by_k join dim on m = dk where k = -1"
    val none =
      s"""select /*+ broadcast(dim) */ s, count(*) as n, max(name) as last from $pruned group by s
         |union all select /*+ broadcast(dim) */ null, count(v), max(name) from $pruned""".stripMargin
    withConf("spark.sql.adaptive.enabled" -> "false")(check(none))
  }

  test("stages that Spark does not run the code of") {
    val sql = rollup(join("inner", "broadcast(dim)"))
    // The code is made and then not run: the plan still shows the stage.
    withConf("spark.sql.codegen.hugeMethodLimit" -> "1")(check(sql))
    withConf("spark.sql.codegen.wholeStage" -> "false")(check(sql, expected = false))
    withConf("spark.sql.codegen.maxFields" -> "1")(check(sql, expected = false))
    withConf("spark.sql.codegen.factoryMode" -> "NO_CODEGEN")(check(sql, expected = false))
    withConf("spark.phantoms.lfta.fused" -> "false")(check(sql, expected = false))
  }

  test("codes of stages that are split, and commented") {
    val sql = rollup(join("left", "broadcast(dim)"), "k, name, pair")
    Seq("true", "false").foreach { split =>
      withConf("spark.sql.codegen.splitConsumeFuncByOperator" -> split)(check(sql))
    }
    val plan = spark.sql(sql).asInstanceOf[ClassicDataFrame].queryExecution
    assert(plan.explainString(ExplainMode.fromString("formatted")).contains("PhantomsLfta"))
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val code = spark.sql(sql).asInstanceOf[ClassicDataFrame].queryExecution
        .explainString(ExplainMode.fromString("codegen"))
      assert(code.contains("lftaWords") && code.contains("PhantomsLfta"))
    }
  }

  test("batches are still read as batches, and rows that no code computes from their iterator") {
    check(rollup("flows", "k, m"), expected = false)
    check(
      rollup("(select *, row_number() over (partition by k order by v, m, s) as r from flows)", "k, m"),
      expected = false
    )
  }

  test("errors of ANSI mode are those of plain Spark") {
    val sqls = Seq(
      rollup(s"(select *, 1 / (v - 25) as q from ${join("inner", "broadcast(dim)")})", "k, q"),
      rollup(s"(select * from ${join("inner", "broadcast(dim)")} where 10 / (v - 25) > 0)", "k, name"),
      // Computed for no row that is left.
      rollup(s"(select *, if(v = 25, 0, 1 / (v - 25)) as q from ${join("inner", "broadcast(dim)")})", "k, q")
    )
    def outcome(sql: String) =
      try Right(spark.sql(sql).collect().map(_.toString).sorted.toSeq)
      catch { case e: org.apache.spark.SparkThrowable => Left(e.getCondition) }
    withConf("spark.sql.ansi.enabled" -> "true") {
      val outcomes = sqls.map(sql => (plain(outcome(sql)), outcome(sql)))
      outcomes.foreach { case (expected, found) => assert(found == expected) }
      assert(outcomes.map(_._1.isLeft) == Seq(true, true, false))
    }
  }

  /** Blocks of every map task in the order in which they are made. */
  private def blocks(sql: String, fused: Boolean): Seq[Seq[Block]] =
    withConf("spark.sql.adaptive.enabled" -> "false", "spark.phantoms.lfta.fused" -> fused.toString) {
      val plan = spark.sql(sql).queryExecution.executedPlan
      val exchange = plan.collectFirst { case e: BlockExchange => e }.get
      assert(this.fused(exchange.child).size == (if (fused) 1 else 0), plan)
      val made = exchange.child.execute()
        .mapPartitions(rows => Iterator(rows.map(r => (r.getInt(0), r.getBinary(1).toSeq)).toVector)).collect().toSeq
      assert(lftas(plan).head.metrics("blocks").value == made.map(_.size).sum)
      made
    }
}

object FedByStageSuite {
  private type Block = (Int, Seq[Byte])
}
