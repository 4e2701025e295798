package io.phantoms.spark.integration

import java.util.Arrays

import io.phantoms.spark.block.BlockFormat
import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.physical.LftaExec
import io.phantoms.spark.run.LftaTask

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.DataFrame

/**
 * What a map task ships is a function of its input rows in their order: byte for byte the same when it runs again, as the
 * checksum of Spark's shuffle demands. And it is complete: every shipped relation counts every input row once.
 */
final class DeterminismSuite extends EverySecondTest with PluginSession {
  import DeterminismSuite.Block

  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions
  override protected def confs: Map[String, String] = Map("spark.sql.adaptive.enabled" -> "false")

  private def lfta(df: DataFrame): LftaExec = {
    val found = lftas(df.queryExecution.executedPlan)
    assert(found.size == 1, df.queryExecution.executedPlan)
    found.head
  }

  /** Blocks of every map task in the order in which they are made. */
  private def blocks(exec: LftaExec): Seq[Seq[Block]] = exec.execute()
    .mapPartitions(rows => Iterator(rows.map(r => Block(r.getInt(0), r.getBinary(1))).toVector)).collect().toSeq

  private def differing(a: Seq[Seq[Block]], b: Seq[Seq[Block]]): Int =
    a.zip(b).map { case (x, y) =>
      math.abs(x.size - y.size) + x.zip(y).count { case (p, q) => !p.isSame(q) }
    }.sum + math.abs(a.size - b.size)

  /** Rows that the entries of each shipped relation count together; the first aggregate has to be count(*). */
  private def counted(exec: LftaExec, blocks: Seq[Block]): Map[Int, Long] = {
    val spec = exec.spec
    val slot = spec.aggregates.zipWithIndex.collectFirst {
      case (a, i) if a.function.isInstanceOf[Count] =>
        spec.firstSlot(i)
    }.get
    blocks.groupBy(b => BlockFormat.relation(b.data, 0)).map { case (r, mine) =>
      val layout = spec.layouts(r)
      r -> mine.map { b =>
        val count = BlockFormat.records(b.data, 0)
        val words = new Array[Long](count * layout.stride)
        BlockFormat.readRecords(b.data, 0, layout.stride, words)
        (0 until count).map(i => words(layout.slotPlace(slot) + i * layout.stride)).sum
      }.sum
    }
  }

  /** @return the operator as it ran in the query */
  private def assertDeterministic(sql: String, rows: Long, variant: LogicalPlan => LogicalPlan): LftaExec = {
    val (first, again) = Variants.using(variant)((lfta(spark.sql(sql)), lfta(spark.sql(sql))))
    val one = blocks(first)
    assert(one.flatten.nonEmpty)
    assert(differing(one, blocks(first)) == 0, "the same operator twice")
    assert(differing(one, blocks(again)) == 0, "the same query planned again")
    val shipped = first.spec.relations.indices.filter(first.spec.relations(_).ship.isDefined)
    assert(counted(first, one.flatten) == shipped.map(_ -> rows).toMap)
    lftas(Variants.using(variant)(assertSame(sql)).queryExecution.executedPlan).head
  }

  private val queries = Map("union" -> PluginSession.union("flows"), "sets with strings" -> PluginSession.sets("flows"))

  for {
    (name, sql) <- queries
    (tables, variant) <- Seq[(String, LogicalPlan => LogicalPlan)](
      "as chosen" -> identity,
      "of 4 buckets" -> Variants.tables(4),
      "of 1 bucket" -> Variants.tables(1),
      "none (bypass)" -> Variants.tables(0)
    )
  } test(s"blocks of $name, tables $tables") {
    assertDeterministic(sql, 20000, variant)
  }

  for ((name, sql) <- queries) test(s"blocks of $name, with second chances, and not packed") {
    withConf("spark.phantoms.lfta.secondChance" -> "true")(assertDeterministic(sql, 20000, Variants.tables(8)))
    withConf("spark.phantoms.blocks.packed" -> "false")(assertDeterministic(sql, 20000, Variants.tables(8)))
  }

  test("blocks of a task that passes by its table for a while") {
    spark.range(0, 80000, 1, 1).selectExpr("cast(id * 7919 % 80021 as int) as k", "id % 5 as m", "id as v")
      .createOrReplaceTempView("passed_by")
    val sql = "select k, m, count(*) as n, sum(v) from passed_by group by grouping sets ((k, m), (k))"
    val exec = assertDeterministic(sql, 80000, Variants.tables(1024))
    assert(exec.metrics("bypassed").value > 0, exec.spec.notation)
  }

  test("blocks over every key type with NULLs") {
    val keys = Seq("a", "b", "d", "w", "x", "f", "flag", "dt", "ts", "s", "r", "bin")
    val each = keys.map(k => s"($k)").mkString(", ")
    val sql = s"""select ${keys.mkString(", ")}, count(*) as n, sum(c), min(b), max(d), avg(w) from t
                 |group by grouping sets ($each, (${keys.mkString(", ")}), ())""".stripMargin
    Seq[LogicalPlan => LogicalPlan](identity, Variants.tables(2), Variants.tables(0)).foreach { v =>
      assertDeterministic(sql, 300, v)
    }
  }

  test("blocks when long strings overflow the dictionary, so that tables are flushed in the middle") {
    val length = 4000
    val rows = 24000L
    assert(rows * length > 2 * LftaTask.DictionaryBudget)
    spark.range(0, rows, 1, 1).selectExpr(
      s"concat(id % (${rows / 2} + id % 3), repeat('x', $length)) as s",
      "cast(id % 7 as int) as k",
      "id as v"
    ).write.parquet(s"$folder/long_strings")
    spark.read.parquet(s"$folder/long_strings").createOrReplaceTempView("long_strings")
    val sql = """select s, k, count(*) as n, sum(v), max(s) from long_strings
                |group by grouping sets ((s, k), (s), (k))""".stripMargin
    val exec = lfta(spark.sql(sql))
    val one = blocks(exec)
    assert(differing(one, blocks(exec)) == 0)
    assert(counted(exec, one.flatten).values.toSet == Set(rows))
    // Groups of k would appear once a task were the tables never flushed.
    val shipped = one.flatten.map(b => BlockFormat.records(b.data, 0)).sum
    assert(shipped > rows / 2)
    assertSame(s"select k, n, length(s) as l, hash(s) as h from ($sql)")
  }

  test("the comparison sees another order of rows") {
    def query(keys: String) = {
      spark.range(0, 5000, 1, 1).selectExpr(s"$keys as k", "id % 13 as m", "id as v").createOrReplaceTempView("ordered")
      lfta(spark.sql("select k, m, count(*) as n, sum(v) from ordered group by grouping sets ((k), (m))"))
    }
    Variants.using(Variants.tables(16)) {
      val up = blocks(query("id % 777"))
      val down = blocks(query("(4999 - id) % 777"))
      assert(differing(up, up) == 0)
      assert(differing(up, down) > 0)
    }
  }
}

object DeterminismSuite {
  final case class Block(partition: Int, data: Array[Byte]) {
    def isSame(other: Block): Boolean = partition == other.partition && Arrays.equals(data, other.data)
  }
}
