package io.phantoms.spark.stats.sampled

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.immutable.BitSet

import io.phantoms.spark.conf.SamplingOptions
import io.phantoms.spark.stats.StatsSuite
import io.phantoms.spark.stats.input.{InputIdentity, LinearInput, StatisticSource}

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.functions.{col, expr, udf}

class SamplerSuite extends StatsSuite {
  private var rows: String = _
  private val n = 600000L

  override def beforeAll(): Unit = {
    super.beforeAll()
    rows = writeRows("rows", n)
  }

  private def jobs(body: => Unit): Int = {
    val count = new AtomicInteger
    val last = new CountDownLatch(1)
    val listener = new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit =
        if (Option(start.properties).exists(_.getProperty("spark.job.description") == "last")) last.countDown()
        else { val _ = count.incrementAndGet() }
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      body
      // Events of one queue come in order: once a job of our own was seen all before it were.
      spark.sparkContext.setJobDescription("last")
      spark.sparkContext.parallelize(Seq(1), 1).count()
      spark.sparkContext.setJobDescription(null)
      assert(last.await(30, TimeUnit.SECONDS))
    } finally spark.sparkContext.removeSparkListener(listener)
    count.get
  }

  private def truth(columns: String*): Double =
    spark.read.parquet(rows).select(columns.map(col): _*).distinct().count().toDouble

  test("groups of uniform, Zipf, clustered and NULL-holding keys and of their combinations") {
    val s = estimated(problem(workload(
      spark.read.parquet(rows),
      Seq("small"),
      Seq("middle"),
      Seq("zipf"),
      Seq("flow"),
      Seq("holes"),
      Seq("small", "holes"),
      Seq("small", "middle")
    )))
    val names = Seq("small", "middle", "zipf", "flow", "holes")
    def check(factor: Double, columns: String*): Unit = {
      val g = s.groupsOf(BitSet.fromSpecific(columns.map(names.indexOf)))
      // What a sample says too much of an integer, its footers cap.
      assert(Set[StatisticSource](StatisticSource.Sample, StatisticSource.FooterBound)(g.source), columns)
      val is = truth(columns: _*)
      info(f"${columns.mkString(", ")}%s: ${g.value}%.0f, the truth is $is%.0f")
      assertWithin(g.value, is, factor, columns.mkString(","))
    }
    check(1.0, "small")
    check(1.0, "holes") // NULL is a group
    check(1.0, "small", "holes")
    check(1.3, "middle")
    check(3.0, "zipf")
    check(3.5, "flow")
    check(1.5, "small", "middle")
  }

  test("flow length: about the run for clustered keys, 1 for random ones") {
    val s = estimated(problem(workload(spark.read.parquet(rows), Seq("small"), Seq("middle"), Seq("flow"))))
    assertWithin(s.flowLength(BitSet(2)), 40, 2.0, "flow")
    assertWithin(s.flowLength(BitSet(1)), 1, 1.15, "middle")
    assertWithin(s.flowLength(BitSet(0)), 1, 1.05, "small")
    assertWithin(s.flowLength(BitSet(1, 2)), 1, 1.15, "flow with a random key")
  }

  test("rows are exact by footers, scaled by filters, and exact when all was read") {
    val all = problem(workload(spark.read.parquet(rows), Seq("small"))).statistics
    assert(all.rows == n)
    val filtered = spark.read.parquet(rows).where("small < 50 and middle % 2 = 0")
    assertWithin(problem(workload(filtered, Seq("zipf"))).statistics.rows, filtered.count().toDouble, 1.2, "filtered")
    val few = spark.read.parquet(rows).where("id < 1000").select("small").union(spark.range(1).selectExpr("1"))
    assert(LinearInput.of(optimized(few)).isEmpty)
    val tiny = spark.range(0, 3000, 1, 3).selectExpr("id % 7 as k").where("k > 2")
    val s = estimated(problem(workload(tiny, Seq("k"))))
    assert(s.rows == tiny.count())
    assert(s.groups(BitSet(0)) == 4)
  }

  test("rows of text files by the bytes read") {
    spark.read.parquet(rows).write.csv(path("csv"))
    val csv = spark.read.schema(spark.read.parquet(rows).schema).csv(path("csv"))
    assertWithin(problem(workload(csv, Seq("small"))).statistics.rows, n.toDouble, 1.2, "csv")
  }

  test("a filter no sampled row passes leaves estimates from all rows") {
    val none = spark.read.parquet(rows).where("middle = 20001")
    val s = estimated(problem(workload(none, Seq("small"), Seq("middle"))))
    assert(s.rowCount.source == StatisticSource.Default && s.rows < n)
    assertWithin(s.groups(BitSet(0)), 200, 1.3, "small")
  }

  test("a computed key is not evaluated on rows its filter rejects") {
    val df = spark.read.parquet(rows).where("small <> 0").selectExpr("1000 div small as ratio")
    withSQLConf("spark.sql.ansi.enabled" -> "true") {
      val s = estimated(problem(workload(df, Seq("ratio"))))
      assert(s.notes.isEmpty && s.groupsOf(BitSet(0)).source == StatisticSource.Sample)
      assertWithin(s.groups(BitSet(0)), df.distinct().count().toDouble, 1.05, "ratio")
    }
  }

  test("reads at most four times what it keeps, from at most eight partitions") {
    val many = spark.range(0, 4000000, 1, 40).selectExpr("id % 1000 as k")
    val in = input(many)
    val key = in.overLeaf(attribute(optimized(many), "k"))
    val s = Sampler.sample(spark, in, Seq(key), SamplingOptions(rows = 8000)).fold(fail(_), identity)
    assert(s.partitions.size == Sampler.Partitions && s.partitionCount == 40)
    assert(s.read <= 4 * 8000 && s.size <= 8000 && s.size > 4000)
    assert(!s.complete)
  }

  test("partitions are visited in an order of which every beginning is spread") {
    for (n <- Seq(1, 2, 3, 8, 100, 1000)) {
      val order = Sampler.spread(n)
      assert(order.sorted == (0 until n))
      val first = order.take(8).sorted
      if (n > 8) assert(first.zip(first.tail).forall { case (a, b) => b - a >= n / 16 }, s"$n: $first")
    }
  }

  test("the second planning reads nothing, a changed file set is sampled again") {
    val at = writeRows("growing", 50000)
    val cache = new SampleCache(32L << 20)
    val schema = spark.read.parquet(rows).schema
    def plan(keys: Seq[String]*): Unit = {
      spark.catalog.refreshByPath(at)
      val w = workload(spark.read.schema(schema).parquet(at), keys: _*)
      val _ = problem(w, cache = cache)
    }
    assert(jobs(plan(Seq("small", "middle"), Seq("zipf"))) == 1)
    assert(jobs(plan(Seq("small", "middle"), Seq("zipf"))) == 0)
    assert(jobs(plan(Seq("middle"))) == 0, "its keys are among those sampled")
    assert(jobs(plan(Seq("flow"))) == 1, "a key that was not sampled")
    spark.read.parquet(rows).limit(10).coalesce(1).write.mode("append").parquet(at)
    assert(jobs(plan(Seq("small", "middle"), Seq("zipf"))) == 1)
  }

  test("the cache drops the least recently used") {
    val cache = new SampleCache(20000)
    def id(i: Int): InputIdentity = InputIdentity(s"$i", "", "")
    val sample = new InputSample(
      Vector("k"),
      Vector(PartitionSample(new Array[Long](1000), 500, Array(), 1000, 1000, exhausted = false, 0)),
      9
    )
    var made = Vector.empty[Int]
    def get(i: Int): Unit = {
      val _ = cache.getOrElse(id(i), Set("k"), 10) { made :+= i; Right(sample) }
    }
    Seq(1, 2, 1, 3, 1, 2).foreach(get)
    assert(made == Seq(1, 2, 3, 2))
    assert(cache.size == 2 && cache.held <= 20000)
  }

  test("a failing sample is a WARN and defaults, and the next planning tries again") {
    val fails = udf((i: Int) => if (i >= 0) throw new IllegalStateException("no such luck") else i)
    val df = spark.read.parquet(rows).select(fails(col("small")).as("k"))
    val cache = new SampleCache(1L << 20)
    val log = new LogAppender("sample failure")
    withLogAppender(log, Seq(Sampler.getClass.getName.stripSuffix("$"))) {
      val s = estimated(problem(workload(df, Seq("k")), cache = cache))
      assert(s.groupsOf(BitSet(0)).source == StatisticSource.Default)
      assert(s.rows == n && s.groups(BitSet(0)) >= 1)
      val _ = assert(s.notes.exists(_.contains("no sample")))
    }
    assert(log.loggingEvents.exists { e =>
      e.getLevel == org.apache.logging.log4j.Level.WARN &&
      e.getMessage.getFormattedMessage.contains("could not be sampled")
    })
    assert(jobs { val _ = problem(workload(df, Seq("k")), cache = cache) } == 1)
    assert(cache.size == 0)
  }

  test("inputs whose partial reading may cost or do harm are not sampled") {
    def refused(df: org.apache.spark.sql.DataFrame): Boolean = {
      val in = input(df)
      jobs {
        val _ = assert(Sampler.sample(spark, in, in.leaf.output.take(1), SamplingOptions()).isLeft)
      } == 0 && Sampler.refusal(in).nonEmpty
    }
    val rdd = spark.createDataFrame(
      spark.sparkContext.parallelize(Seq(org.apache.spark.sql.Row(1))),
      org.apache.spark.sql.types.StructType.fromDDL("k int")
    )
    assert(refused(rdd))
    assert(refused(spark.range(10).select((expr("rand()") * 5).cast("int").as("k"))))
    assert(refused(spark.range(10).toDF().where("id > (select max(small) from values (1) as t(small))")))
    val cached = spark.range(100).selectExpr("id % 5 as k").cache()
    assert(refused(cached))
    cached.count()
    val in = input(cached)
    assert(Sampler.refusal(in).isEmpty)
    cached.unpersist()
  }

  test("a sample is what was read in its time") {
    // A thread of its own sleeps for each row: no other test may have to wait for this one.
    val slow = udf { (id: Long) => Thread.sleep(5); id % 10 }
    val in = input(spark.range(0, 1000000, 1, 4).toDF())
    val key = spark.range(1).select(slow(col("id"))).queryExecution.analyzed.expressions.head
    val computed = key.transform { case _: Attribute => in.leaf.output.head }
    val found = Sampler.sample(spark, in, Seq(computed), SamplingOptions(millis = 3000)).fold(fail(_), identity)
    assert(found.read > 0 && found.read < 10000 && !found.complete)
    // Each task looks at its time after 64 rows, which take longer than this.
    assert(Sampler.sample(spark, in, Seq(computed), SamplingOptions(millis = 50)).left.exists(_.contains(
      "nothing was read within 50 ms (spark.phantoms.stats.sample.time)"
    )))
  }

  test("sampling is off") {
    val s = estimated(problem(workload(spark.read.parquet(rows), Seq("middle")), SamplingOptions(enabled = false)))
    val g = s.groupsOf(BitSet(0))
    assert(g.source == StatisticSource.Default && g.value == math.sqrt(n.toDouble))
  }

  test("three million rows are sampled in bounded work") {
    val at = writeRows("large", 3000000, files = 4)
    val w = workload(spark.read.parquet(at), Seq("small", "middle"), Seq("zipf", "flow"), Seq("holes"))
    val _ = problem(workload(spark.read.parquet(rows), Seq("small"))) // warm
    def timed[T](body: => T): (T, Double) = {
      val start = System.nanoTime()
      val result = body
      (result, (System.nanoTime() - start) / 1e6)
    }
    val planned = (1 to 3).map(_ => timed(problem(w)))
    info(planned.map(p => f"${p._2}%.0f").mkString("planned without a cached sample in ", ", ", " ms"))
    planned.foreach { case (p, _) => assert(p.statistics.rows == 3000000) }
    val in = input(spark.read.parquet(at))
    val keys: Seq[Attribute] = in.leaf.output
    val sampled = (1 to 3).map(_ => timed(Sampler.sample(spark, in, keys, SamplingOptions()).fold(fail(_), identity)))
    info(sampled.map(p => f"${p._2}%.0f").mkString("sampled in ", ", ", " ms"))
    val s = sampled.head._1
    // CPU time, which neighbours on the machine do not change.
    val cpu = java.lang.management.ManagementFactory.getThreadMXBean
    for (precise <- Seq(true, false)) {
      val before = cpu.getCurrentThreadCpuTime
      s.keys.combinations(if (precise) 3 else 4).foreach(k => s.distinct(k, 3e6, precise))
      val each = (cpu.getCurrentThreadCpuTime - before) / 1e6 / s.keys.combinations(if (precise) 3 else 4).size
      info(f"one estimate takes $each%.2f ms of CPU${if (precise) "" else " in haste"}")
      assert(each < 50)
    }
    assert(s.read <= 4L * SamplingOptions.DefaultRows)
  }

  private def withSQLConf(pairs: (String, String)*)(body: => Unit): Unit = {
    val before = pairs.map { case (k, _) => k -> spark.conf.getOption(k) }
    pairs.foreach { case (k, v) => spark.conf.set(k, v) }
    try body
    finally before.foreach { case (k, v) => v.fold(spark.conf.unset(k))(spark.conf.set(k, _)) }
  }
}
