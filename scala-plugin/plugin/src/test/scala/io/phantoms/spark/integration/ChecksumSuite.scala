package io.phantoms.spark.integration

import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.physical.BlockExchange

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeExec}

/**
 * Which exchanges go without Spark's row-based checksums: those of blocks that may differ though their groups do not. All
 * others keep them, and so the rows of a task that runs again over other input never mix with those of the first run.
 */
final class ChecksumSuite extends EverySecondTest with PluginSession {
  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions

  // Joins are shuffled.
  override protected def confs: Map[String, String] = Map(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1"
  )

  // Grouping sets read one input, whatever that is.
  private val query = "select k, m, count(*) as n, sum(v) from input group by grouping sets ((k), (m), ())"

  private val keys = Seq("enabled", "enableFullRetryOnMismatch").map("spark.sql.shuffle.orderIndependentChecksum." + _)

  private def isChecked(exchange: ShuffleExchangeExec): Boolean = {
    val dependency = exchange.shuffleDependency
    assert(dependency.rowBasedChecksums.nonEmpty == dependency.checksumMismatchFullRetryEnabled)
    dependency.rowBasedChecksums.nonEmpty
  }

  private def exchanges(plan: SparkPlan): Seq[ShuffleExchangeExec] =
    collectWithSubqueries(plan) { case e: ShuffleExchangeExec => e }

  private def blockExchanges(plan: SparkPlan): Seq[BlockExchange] =
    exchanges(plan).collect { case e: BlockExchange => e }

  /** Whether the exchange of blocks is checked, over the rows of `input`; those below it always are. */
  private def isChecked(input: String): Boolean = {
    spark.sql(input).createOrReplaceTempView("input")
    val found = Seq(true, false).map { adaptive =>
      withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
        val df = assertSame(query)
        val (blocks, others) = exchanges(df.queryExecution.executedPlan).partition(_.isInstanceOf[BlockExchange])
        assert(blocks.size == 1, df.queryExecution.executedPlan)
        assert(others.forall(isChecked(_)), "an exchange of rows")
        isChecked(blocks.head)
      }
    }
    keys.foreach(k => assert(spark.conf.get(k) == "true"))
    assert(found.distinct.size == 1)
    found.head
  }

  test("over files: checked") {
    assert(isChecked("select * from flows"))
    assert(isChecked("select * from flows where v > 10"))
    assert(isChecked("select /*+ broadcast(x) */ f.* from flows f join (select distinct k from flows) x on f.k = x.k"))
  }

  private val shuffled = Map(
    "a repartitioning" -> "select /*+ repartition(5, v) */ * from flows",
    "a join" -> "select f.* from flows f join (select distinct v from flows) x on f.v = x.v",
    "an aggregate" -> "select k, m, sum(v) as v from flows group by k, m, s",
    "an outer join and an explosion" ->
      """select f.k, f.m, x.v from flows f left join (select v, explode(array(v, v + 1)) as w from flows where v < 9) x
        |on f.v = x.w""".stripMargin,
    "a union of shuffles and files" -> "select /*+ repartition(5, v) */ k, m, v from flows union all select k, m, v from flows",
    "another shared operator" -> "select k, m, sum(v) as v from flows group by grouping sets ((k, m), (k))"
  )

  for ((name, sql) <- shuffled) test(s"over $name: not checked, whatever the session says") {
    if (name == "another shared operator") {
      // Two exchanges of blocks: the lower one reads files.
      spark.sql(sql).createOrReplaceTempView("input")
      bothModes {
        val plan = assertSame(query).queryExecution.executedPlan
        assert(blockExchanges(plan).map(isChecked(_)) == Seq(false, true))
      }
    } else assert(!isChecked(sql))
  }

  test("over a cached join: not checked") {
    spark.sql("cache table cached_join as " + shuffled("a join"))
    try assert(!isChecked("select * from cached_join"))
    finally {
      val _ = spark.sql("uncache table cached_join")
    }
  }

  private val orderSensitive = Map(
    "a limit" -> "select * from flows limit 5000",
    "row numbers" ->
      "select * from (select *, row_number() over (partition by k order by v) as r from flows) where r < 100",
    "a sum of floats" -> "select k, m, cast(sum(cast(v as double) / 3) as long) as v from flows group by k, m",
    "a maximum of floats" -> "select k, m, cast(max(cast(v as double)) as long) as v from flows group by k, m",
    "files that may be missing" ->
      "select /*+ repartition(5, v) */ k, m, v from flows union all select k, m, v from lax_flows"
  )

  for ((name, sql) <- orderSensitive) test(s"over $name, whose rows may differ: checked") {
    spark.read.option("ignoreMissingFiles", "true").parquet(s"$folder/flows").createOrReplaceTempView("lax_flows")
    spark.sql(sql).createOrReplaceTempView("input")
    bothModes {
      val df = spark.sql(query)
      assert(isShared(df))
      df.collect()
      assert(blockExchanges(df.queryExecution.executedPlan).map(isChecked(_)) == Seq(true))
    }
  }

  test("tables that may shrink: not checked over files, checked over rows of unknown origin") {
    Variants.using(Variants.tables(1 << 20)) {
      assert(!isChecked("select * from flows"))
      spark.createDataFrame(spark.table("flows").rdd, spark.table("flows").schema).createOrReplaceTempView("rdd_flows")
      assert(isChecked("select * from rdd_flows"))
    }
    Variants.using(Variants.tables(1 << 10))(assert(isChecked("select * from flows")))
  }

  test("no checksums where the session has none") {
    withConf(keys.map(_ -> "false"): _*) {
      val df = assertSame(PluginSession.union("flows"))
      assert(exchanges(df.queryExecution.executedPlan).map(isChecked(_)) == Seq(false))
    }
  }

  test("one exchange serves the same query twice") {
    spark.table("flows").createOrReplaceTempView("input")
    bothModes {
      val plan = assertSame(s"select * from ($query) a join ($query) b on a.n = b.n + 1").queryExecution.executedPlan
      val reused = collectWithSubqueries(plan) { case r: ReusedExchangeExec => r.child }
      assert(reused.exists(_.isInstanceOf[BlockExchange]), plan)
      assert(blockExchanges(plan).nonEmpty)
    }
  }

  test("a node of Spark's in every respect") {
    def exchange(df: DataFrame) = blockExchanges(df.queryExecution.executedPlan) match {
      case Seq(e) => e
      case other => fail(other.toString)
    }
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val (one, two) =
        (exchange(spark.sql(PluginSession.union("flows"))), exchange(spark.sql(PluginSession.union("flows"))))
      val plain = ShuffleExchangeExec(one.outputPartitioning, one.child, one.shuffleOrigin, one.advisoryPartitionSize)
      assert(one.canonicalized.isInstanceOf[BlockExchange])
      assert(one.sameResult(two) && one.canonicalized.hashCode == two.canonicalized.hashCode)
      assert(plain != one && one != plain)
      Seq(
        one.clone(),
        one.withNewChildren(Seq(one.child.clone())),
        one.mapExpressions(identity),
        one.makeCopy(
          one.productIterator.map(_.asInstanceOf[AnyRef]).toArray
        )
      ).foreach { copy =>
        assert(copy.isInstanceOf[BlockExchange] && copy == one)
      }
      assert(one.nodeName == plain.nodeName && one.metrics.keySet == plain.metrics.keySet)
      assert(one.simpleString(100).takeWhile(_ != '[') == plain.simpleString(100).takeWhile(_ != '['))
    }
    Seq("", "extended", "codegen", "cost", "formatted").foreach { mode =>
      val explained = spark.sql(s"explain $mode ${PluginSession.union("flows")}").head().getString(0)
      assert(!explained.contains("Error"), explained)
      if (mode != "codegen") assert(explained.contains("Exchange") && !explained.contains("BlockExchange"), explained)
    }
  }
}
