package io.phantoms.spark.stats

import scala.collection.immutable.BitSet

import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.conf.SamplingOptions
import io.phantoms.spark.functions.ExecutedFunction
import io.phantoms.spark.model.{Machine, Problem, Query, TableStatistics}
import io.phantoms.spark.spec.{AggregateSpec, KeySpec, RelationSpec, SharedSpec}
import io.phantoms.spark.stats.input.{Estimate, StatisticSource}
import io.phantoms.spark.stats.supplied.{StatisticsException, StatsRegistry, SuppliedLookup}

import org.apache.spark.sql.catalyst.expressions.{Add, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.types._

class StatisticsProviderSuite extends StatsSuite {
  private var rows: String = _
  private val n = 100000L
  private val columns = Seq("small", "middle", "zipf", "flow", "holes")

  override def beforeAll(): Unit = {
    super.beforeAll()
    rows = writeRows("rows", n)
    spark.read.parquet(rows).write.saveAsTable("flows")
  }

  override def afterEach(): Unit = {
    StatsApi.statsClear(spark)
    super.afterEach()
  }

  private def all: Seq[BitSet] = columns.indices.toSet.subsets().map(BitSet.fromSpecific(_)).toSeq

  private def assertMonotone(s: io.phantoms.spark.model.Statistics, order: Seq[BitSet]): Unit = {
    order.foreach(s.groups)
    for (a <- all; b <- all if a.subsetOf(b))
      assert(s.groups(a) <= s.groups(b), s"$a: ${s.groups(a)}, $b: ${s.groups(b)}")
    assert(all.forall(k => s.groups(k) >= 1 && s.groups(k) <= s.rows))
    val _ = assert(s.groups(BitSet.empty) == 1)
  }

  test("groups are monotone, whoever asks first, whatever the sources") {
    val registry = new StatsRegistry
    registry.update("flows")(_.copy(groups =
      Map(Set("small", "middle") -> 70.0, Set("middle") -> 300.0, Set("zipf", "flow") -> 1e9, Set("holes") -> 0.0)
    ))
    val queries = Seq(Seq("small", "middle"), Seq("zipf", "flow", "holes"))
    val random = new scala.util.Random(5)
    for {
      sampling <- Seq(SamplingOptions(), SamplingOptions(enabled = false), SamplingOptions(rows = 500))
      supplied <- Seq(registry, new StatsRegistry)
      _ <- 1 to 3
    } {
      val p = problem(workload(spark.table("flows"), queries: _*), sampling, supplied)
      assertMonotone(p.statistics, random.shuffle(all))
    }
  }

  test("supplied numbers go before samples, by table, by view and by path") {
    spark.read.parquet(rows).createOrReplaceTempView("seen")
    val path = new org.apache.hadoop.fs.Path(rows).toString
    for (
      (name, df) <-
        Seq("flows" -> spark.table("flows"), "seen" -> spark.table("seen"), path -> spark.read.parquet(rows))
    ) {
      StatsApi.statsClear(spark)
      StatsApi.statsSetRows(spark, name, 5e6)
      StatsApi.statsSetGroups(spark, name, Array("small", "middle"), 123456)
      StatsApi.statsSetFlowLength(spark, name, Array[String](), 7)
      StatsApi.statsSetFlowLength(spark, name, Array("flow"), 33)
      val s = estimated(problem(workload(df, Seq("small", "middle"), Seq("flow")), registry = memory.supplied))
      assert(s.rowCount == Estimate(5e6, StatisticSource.Supplied), name)
      assert(s.groupsOf(BitSet(0, 1)) == Estimate(123456, StatisticSource.Supplied), name)
      // A sample may say more than the 20 000 that the footers allow.
      assert(Set[StatisticSource](StatisticSource.Sample, StatisticSource.FooterBound)(s.groupsOf(BitSet(1)).source))
      assert(s.flowLength(BitSet(0)) == 7 && s.flowLength(BitSet(2)) == 33, name)
    }
  }

  test("numbers of a table bound what is read of it through a filter") {
    StatsApi.statsSetRows(spark, "flows", 1e7)
    StatsApi.statsSetGroups(spark, "flows", Array("middle"), 50)
    val df = spark.table("flows").where("small < 100")
    val s = estimated(problem(workload(df, Seq("middle")), registry = memory.supplied))
    assertWithin(s.rows, 5e6, 1.1, "rows")
    assert(s.groups(BitSet(0)) <= 50)
  }

  test("numbers of a filtered view hold for that view only") {
    spark.table("flows").where("small < 10").createOrReplaceTempView("narrow")
    StatsApi.statsSetRows(spark, "narrow", 4321)
    def rowsOf(df: org.apache.spark.sql.DataFrame): Double =
      problem(workload(df, Seq("middle")), registry = memory.supplied).statistics.rows
    assert(rowsOf(spark.table("narrow")) == 4321)
    assert(rowsOf(spark.table("flows")) == n)
    assertWithin(rowsOf(spark.table("flows").where("small < 20")), n / 10.0, 1.2, "another filter")
  }

  test("numbers of a table hold for its cached form") {
    val df = spark.table("flows").cache()
    try {
      df.count()
      StatsApi.statsSetGroups(spark, "flows", Array("middle"), 77)
      val w = workload(spark.table("flows"), Seq("middle"))
      assert(w.base.collectLeaves().head.nodeName.startsWith("InMemoryRelation"))
      val s = estimated(problem(w, registry = memory.supplied))
      assert(s.groups(BitSet(0)) == 77 && s.rows == n)
    } finally { val _ = df.unpersist(blocking = true) }
  }

  test("no job is run when everything was supplied") {
    StatsApi.statsSetRows(spark, "flows", 1000)
    StatsApi.statsSetGroups(spark, "flows", Array("small"), 10)
    StatsApi.statsSetFlowLength(spark, "flows", Array[String](), 1)
    val s = estimated(problem(workload(spark.table("flows"), Seq("small")), registry = memory.supplied))
    assert(s.notes == Seq("no sample: all statistics were supplied"))
  }

  test("an unknown column of a known table is an error that names the columns there are") {
    val e = intercept[StatisticsException](StatsApi.statsSetGroups(spark, "flows", Array("small", "colour"), 5))
    assert(e.getMessage.startsWith("[PHANTOMS_UNKNOWN_COLUMN]"))
    assert(e.getMessage.contains("colour") && (columns :+ "id").forall(e.getMessage.contains))
    assert(memory.supplied.get("flows").isEmpty)
    StatsApi.statsSetGroups(spark, "flows", Array("SMALL"), 5)
    assert(memory.supplied.get("flows").exists(_.groups == Map(Set("small") -> 5.0)))
  }

  test("an unknown table waits for its data; columns it then lacks are a WARN") {
    StatsApi.statsSetGroups(spark, "later", Array("small"), 55)
    StatsApi.statsSetGroups(spark, "later", Array("colour"), 6)
    spark.read.parquet(rows).createOrReplaceTempView("later")
    val log = new LogAppender("unknown column")
    withLogAppender(log, Seq(SuppliedLookup.getClass.getName.stripSuffix("$"))) {
      val s = estimated(problem(workload(spark.table("later"), Seq("small")), registry = memory.supplied))
      val _ = assert(s.groups(BitSet(0)) == 55)
    }
    assert(log.loggingEvents.exists(_.getMessage.getFormattedMessage.contains("colour")))
  }

  test("numbers that are none are errors") {
    for (bad <- Seq(-1.0, Double.NaN, Double.PositiveInfinity)) {
      val e = intercept[StatisticsException](StatsApi.statsSetRows(spark, "flows", bad))
      assert(e.errorClass == "PHANTOMS_BAD_NUMBER")
    }
    intercept[StatisticsException](StatsApi.statsSetFlowLength(spark, "flows", Array("small"), 0.5))
    intercept[StatisticsException](StatsApi.statsSetGroups(spark, "flows", Array[String](), 5))
  }

  test("numbers given for another snapshot are used and noted") {
    val at = writeRows("changing", 2000)
    spark.read.parquet(at).createOrReplaceTempView("changing")
    StatsApi.statsSetRows(spark, "changing", 12)
    def notes = estimated(
      problem(workload(spark.table("changing"), Seq("small")), registry = memory.supplied)
    ).notes
    assert(!notes.exists(_.contains("older snapshot")))
    spark.read.parquet(rows).limit(5).write.mode("append").parquet(at)
    spark.catalog.refreshByPath(at)
    spark.read.parquet(at).createOrReplaceTempView("changing")
    assert(notes.exists(_.contains("older snapshot")))
  }

  test("ANALYZE's distinct counts are used, unless the table has changed since") {
    spark.read.parquet(rows).write.saveAsTable("analyzed")
    spark.sql("ANALYZE TABLE analyzed COMPUTE STATISTICS FOR COLUMNS middle, holes")
    val s = estimated(problem(workload(spark.table("analyzed"), Seq("middle"), Seq("small"))))
    assert(s.groupsOf(BitSet(0)).source == StatisticSource.Catalog)
    assertWithin(s.groups(BitSet(0)), 20000, 1.2, "middle")
    assert(s.groupsOf(BitSet(1)).source == StatisticSource.Sample)
  }

  test("a join has the rows of its largest side and says that it is not sampled") {
    val df = spark.table("flows").join(spark.range(10).selectExpr("id as small"), "small")
    val s = estimated(problem(workload(df, Seq("middle"))))
    assert(s.rows == n && s.groupsOf(BitSet(0)).source == StatisticSource.Default && s.notes.nonEmpty)
  }

  test("the problem: names, widths, queries, machine") {
    val plan = optimized(spark.table("flows"))
    val small = attribute(plan, "small")
    val w = workloadOf(
      plan,
      IndexedSeq(small, attribute(plan, "zipf"), Add(small, Literal(1)), attribute(plan, "middle").withName("zipf")),
      Seq("small", "zipf"),
      Seq("c"),
      Seq("d")
    )
    val p = problem(w)
    assert(p.attributes.map(_.name) == Seq("small", "zipf", "(small + 1)", "zipf_2"))
    assert(p.groupings == Seq(BitSet(0, 1), BitSet(2), BitSet(3)))
    assert(p.bufferBits == 64 + 128) // count; average: sum and count
    assert(p.maxShards == 4 && p.memory == (1L << 20))
    assert(p.machine.parallelism == spark.sparkContext.defaultParallelism && p.machine.partitions == 2)
    val lines = StatisticsProvider.describe(p)
    assert(lines.head == s"rows $n (sample)") // all of so few rows was read
    assert(lines.exists(l => l.startsWith("groups (small, zipf) ") && l.contains("(sample)")))
  }

  test("an entry is as wide as the record is") {
    val columns = new StructType().add("i", IntegerType).add("l", LongType, nullable = false).add("b", ByteType)
      .add("d", DecimalType(10, 2)).add("w", DecimalType(38, 4)).add("t", StringType).add("x", DoubleType)
      .add("s", new StructType().add("u", IntegerType)).add("y", DayTimeIntervalType())
    val plan = LocalRelation(DataTypeUtils.toAttributes(columns))
    def column(n: String) = plan.output.find(_.name == n).get
    spark.createDataFrame(new java.util.ArrayList[org.apache.spark.sql.Row], columns).createOrReplaceTempView("typed")
    def aggregates(calls: String): IndexedSeq[AggregateFunction] =
      spark.sql(s"select $calls from typed group by i").queryExecution.analyzed.collect { case a: Aggregate => a }.head
        .aggregateExpressions.flatMap(_.collect { case f: AggregateFunction => f }).toIndexedSeq
    for {
      keys <- Seq("i", "l", "i l b", "d w t", "s b t w", "i b b b")
      calls <- Seq(
        "count(1)",
        "count(1), sum(l), sum(i)",
        "sum(l), sum(y), sum(b), avg(y)",
        "sum(d), avg(w), sum(w)",
        "max(t), min(w), max(s)",
        "stddev(x), bit_or(b), max_by(s, t)",
        (1 to 40).map(i => s"max(i + $i)").mkString(", "),
        (1 to 70).map(i => s"sum(i + $i)").mkString(", ")
      )
    } {
      val functions = aggregates(calls).map(ExecutedFunction(_).function)
      val grouping = keys.split(" ").map(column).toIndexedSeq
      val entry = Problem(
        StatisticsProvider.attributesOf(grouping),
        Vector(Query(BitSet.fromSpecific(grouping.indices))),
        StatisticsProvider.bufferBits(grouping, functions),
        TableStatistics(1, Map.empty),
        Machine(),
        1L << 20,
        1
      ).entryBytes(BitSet.fromSpecific(grouping.indices))
      val all = RelationSpec(grouping.indices, functions.indices, -1, 0, None, derived = false, 1)
      val spec = SharedSpec(
        grouping.map(k => KeySpec(k.dataType, k.nullable)),
        functions.map(AggregateSpec(_, None)),
        Vector(all),
        Vector.empty,
        1,
        ""
      )
      assert(entry == 8 * spec.layouts.head.stride, s"$keys: $calls")
    }
  }

  test("statistics survive a file, and foreign files are refused") {
    StatsApi.statsSetRows(spark, "flows", 5)
    StatsApi.statsSetGroups(spark, "flows", Array("small", "zipf"), 4)
    StatsApi.statsSetFlowLength(spark, "nowhere", Array("a"), 2.5)
    val before = memory.supplied.all
    StatsApi.statsSaveJson(spark, path("stats.json"))
    StatsApi.statsClear(spark)
    assert(memory.supplied.all.isEmpty)
    StatsApi.statsLoadJson(spark, path("stats.json"))
    assert(memory.supplied.all == before)
    val registry = new StatsRegistry
    for (
      bad <- Seq("{", "{}", "[]", """{"format":"phantoms-statistics","version":2,"tables":[]}""") ++
        Seq("\"many\"", "-3").map(r =>
          s"""{"format":"phantoms-statistics","version":1,"tables":[{"table":"t","rows":$r}]}"""
        )
    ) {
      val e = intercept[StatisticsException](registry.addJson(bad))
      assert(e.errorClass == "PHANTOMS_STATISTICS_FORMAT", bad)
    }
    val e = intercept[StatisticsException](StatsApi.statsLoadJson(spark, path("missing.json")))
    assert(e.errorClass == "PHANTOMS_STATISTICS_NOT_FOUND")
  }

  test("the sample of a DataFrame as JSON") {
    val text = StatsApi.statsSample(spark.table("flows").select("small", "holes"))
    import org.json4s._
    implicit val formats: Formats = DefaultFormats
    val json = org.json4s.jackson.JsonMethods.parse(text)
    assert((json \ "rows").extract[Double] == n)
    assert((json \ "columns" \ "small" \ "groups").extract[Double] == 200)
    assert((json \ "columns" \ "holes" \ "groups").extract[Double] == 10)
    val e = intercept[StatisticsException](StatsApi.statsSample(spark.table("flows").groupBy("small").count()))
    assert(e.errorClass == "PHANTOMS_CANNOT_SAMPLE")
  }
}
