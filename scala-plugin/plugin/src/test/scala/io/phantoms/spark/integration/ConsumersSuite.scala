package io.phantoms.spark.integration

import scala.jdk.CollectionConverters._

import io.phantoms.spark.Turns
import io.phantoms.spark.api.PhantomsApi
import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.physical.SharedMerge

import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.{DataFrame, Dataset}
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.streaming.Trigger

/** The shared plan in the places where queries stand: actions, writes, subqueries, other queries, the cache, streams. */
final class ConsumersSuite extends EverySecondTest with PluginSession with StoppedQueries {
  private val union = PluginSession.union("flows")
  private val sets = PluginSession.sets("flows")

  test("actions") {
    bothModes {
      Turns.some(Seq(union, sets), 1, Turns.slower(2)).foreach { q =>
        val expected = plain(spark.sql(q).collect().toSeq)
        def df = spark.sql(q)
        assert(isShared(df))
        assertRows(df.collect().toSeq, expected)
        assertRows(df.rdd.collect().toSeq, expected)
        assertRows(df.toLocalIterator().asScala.toSeq, expected)
        assertRows(df.take(100000).toSeq, expected)
        assertRows(df.repartition(3).collect().toSeq, expected)
        assertRows(df.localCheckpoint().collect().toSeq, expected)
        assert(df.take(5).length == 5)
        assert(df.limit(7).collect().length == 7)
        assert(df.tail(4).length == 4)
        assert(df.count() == expected.size)
        assert(df.isEmpty == expected.isEmpty)
        assert(df.queryExecution.toRdd.map(_.copy()).collect().length == expected.size)
        df.write.format("noop").mode("overwrite").save()
        df.foreachPartition((rows: Iterator[Row]) => rows.foreach(_ => ()))
        assertSame(s"select * from ($q) order by ${df.columns.mkString(", ")} limit 50")
      }
    }
  }

  test("writes, tables and views") {
    bothModes {
      val expected = plain(spark.sql(union).collect().toSeq)
      def written(name: String) = spark.read.parquet(s"$folder/$name").select("k", "m", "n", "total").collect().toSeq
      spark.sql(union).write.mode("overwrite").parquet(s"$folder/written")
      assertRows(written("written"), expected)
      spark.sql(union).write.mode("overwrite").partitionBy("k").parquet(s"$folder/written_by_k")
      assertRows(written("written_by_k"), expected)
      spark.sql(union).write.mode("overwrite").orc(s"$folder/written_orc")
      assertRows(spark.read.orc(s"$folder/written_orc").collect().toSeq, expected)

      spark.sql("drop table if exists created")
      val created = spark.sql(s"create table created using parquet as $union")
      assert(created.queryExecution.commandExecuted != null)
      assertRows(spark.table("created").collect().toSeq, expected)
      spark.sql(s"insert into created $union")
      assertRows(spark.table("created").collect().toSeq, expected ++ expected)
      spark.sql(s"insert overwrite created $union")
      assertRows(spark.table("created").collect().toSeq, expected)

      spark.sql(s"create or replace temporary view viewed as $union")
      assertSame("select m, n from viewed where k is null order by m, n limit 10")
      spark.sql("drop view if exists stored")
      val stored = PluginSession.union(s"parquet.`$folder/flows`")
      spark.sql(s"create view stored as $stored")
      assertSame("select * from stored where n > 2")
      spark.sql("drop view stored")
      spark.sql("drop table created")
    }
  }

  test("in subqueries") {
    bothModes {
      assertSame(
        "select (select max(n) from (select count(*) as n from flows group by rollup (k, m))) as top, a from t"
      )
      assertSame(s"select a from t where exists (select 1 from ($union) u where u.k = t.a and u.n > 1)")
      assertSame(s"select a, c from t where c in (select n from ($union) u)")
      assertSame(s"select * from ($union) where n > (select avg(n) from ($union))")
    }
  }

  test("a shared query as part of others") {
    bothModes {
      assertSame(s"with w as ($union) select x.k, y.m, x.n + y.n as n from w x join w y on x.k = y.n")
      assertSame(s"select count(*), sum(n) from (select * from ($union) union all select * from ($union))")
      assertSame(s"select x.k, x.n, y.total from ($union) x left join ($union) y on x.k = y.k and y.m is null")
      assertSame(s"select k, row_number() over (partition by k order by n, m) as r, n from ($union)")
      assertSame(s"select k, sum(n) from ($union) group by k")
      assertSame(s"select distinct n from ($union)")
      assertSame(s"select u.*, t.b from ($union) u join t on t.a + 400 < u.n")
      assertSame(s"select /*+ broadcast(u) */ u.n, t.b from t join ($union) u on t.a <=> u.k")
      assertSame(s"select * from ($sets) order by k, m, s, n limit 13")
    }
  }

  /** Exchanges of blocks that were really made, however often they are read. */
  private def blockExchanges(df: DataFrame): (Int, Int) = {
    df.collect()
    val plan = df.queryExecution.executedPlan
    val made = collectWithSubqueries(plan) {
      case e: ShuffleExchangeLike if PluginSession.endsInLfta(e.child) => e.id
    }.distinct.size
    val read = merges(plan).size
    (made, read)
  }

  test("one query twice: the exchange of blocks is made once") {
    bothModes {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        val twice = spark.sql(s"select * from (select * from ($union) union all select * from ($union))")
        val (made, read) = blockExchanges(twice)
        assert(made == 1, twice.queryExecution.executedPlan)
        // A union of unions is one workload already.
        if (read > 1) {
          assert(collect(twice.queryExecution.executedPlan) { case r: ReusedExchangeExec => r }.nonEmpty)
        }
        // The two sides need different columns: what crosses the shuffle is the same all the same.
        val joined = s"select x.k, y.m, x.n from ($union) x join ($union) y on x.n = y.n and x.total < y.total"
        assertSame(joined)
        val (joinMade, joinRead) = blockExchanges(spark.sql(joined))
        assert(joinRead == 2)
        assert(joinMade == 1, spark.sql(joined).queryExecution.executedPlan)
        withConf("spark.sql.exchange.reuse" -> "false")(assertSame(joined))
      }
    }
  }

  test("a cached input and a cached result") {
    bothModes {
      spark.sql("select k, m, s, v, d from flows where v < 900").cache().createOrReplaceTempView("kept")
      try {
        assertSame(PluginSession.union("kept"))
        assertSame(PluginSession.sets("kept", "v > 10"))
      } finally spark.catalog.uncacheTable("kept")

      val expected = plain(spark.sql(union).collect().toSeq)
      val cached = spark.sql(union).cache()
      try {
        assert(cached.queryExecution.withCachedData.toString.contains("InMemoryRelation"))
        assertRows(cached.collect().toSeq, expected)
        assertRows(spark.sql(union).collect().toSeq, expected)
        assertRows(cached.where("k is not null").collect().toSeq, expected.filterNot(_.isNullAt(0)))
      } finally cached.unpersist()
    }
  }

  test("a stream of groupBys is left alone and works") {
    val input = spark.readStream.schema(spark.table("flows").schema).parquet(s"$folder/flows")
    input.createOrReplaceTempView("stream")
    val rollup = spark.sql("select k, s, count(*) as n, sum(v) as total from stream group by rollup (k, s)")
    val query = rollup.writeStream.format("memory").queryName("streamed").outputMode("complete")
      .trigger(Trigger.AvailableNow()).start()
    query.processAllAvailable()
    try {
      val plan = query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.optimizedPlan
      assert(!plan.exists(_.isInstanceOf[SharedMerge]))
      val expected = plain(spark.sql(
        "select k, s, count(*) as n, sum(v) as total from flows group by rollup (k, s)"
      ).collect().toSeq)
      assertRows(spark.table("streamed").collect().toSeq, expected)
      assert(PhantomsApi.whyNotText(rollup).contains("STREAMING"))
    } finally query.stop()
  }

  test("batches of a stream are shared like any batch") {
    val sum = new java.util.concurrent.ConcurrentHashMap[Long, (Boolean, Seq[Row])]
    val query = spark.readStream.schema(spark.table("flows").schema).parquet(s"$folder/flows").writeStream
      .foreachBatch { (batch: org.apache.spark.sql.Dataset[Row], id: Long) =>
        batch.createOrReplaceTempView("batch_rows")
        val session = batch.asInstanceOf[Dataset[Row]].sparkSession
        val df = session.sql(PluginSession.union("batch_rows"))
        sum.put(id, (isShared(df), df.collect().toSeq))
        ()
      }.trigger(Trigger.AvailableNow()).start()
    query.processAllAvailable()
    query.stop()
    assert(query.exception.isEmpty)
    assert(sum.values.asScala.forall(_._1))
    assert(sum.size == 1)
    assertRows(sum.values.asScala.head._2, plain(spark.sql(union).collect().toSeq))
  }
}
