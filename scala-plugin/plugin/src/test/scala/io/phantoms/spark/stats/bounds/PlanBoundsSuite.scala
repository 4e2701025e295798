package io.phantoms.spark.stats.bounds

import scala.collection.immutable.BitSet

import io.phantoms.spark.decide.Declined
import io.phantoms.spark.detect.DeclineReason
import io.phantoms.spark.explain.Explanations
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.stats.PlannedStatistics
import io.phantoms.spark.stats.input.StatisticSource

import org.apache.spark.sql.{DataFrame => AnyFrame}
import org.apache.spark.sql.catalyst.expressions.{Add, Literal, Rand}
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.scalatest.funsuite.AnyFunSuite

/** What footers, partitions and the plan below allow at most, in rows and in groups. */
final class PlanBoundsSuite extends AnyFunSuite with PluginSession {
  private val days = 40L
  private val n = 20000L

  private def classic: SparkSession = spark.asInstanceOf[SparkSession]

  // What is bounded is what a user wrote, before anything in it is shared.
  private def bounds(df: => AnyFrame): PlanBounds =
    plain(PlanBounds.of(classic, df.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan))

  private def most(df: AnyFrame, columns: String*): Double = {
    val plan = df.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan
    PlanBounds.of(classic, plan).groups(columns.map(c => plan.output.find(_.name == c).get))
      .fold(Double.PositiveInfinity)(_.value)
  }

  private def source(df: AnyFrame, column: String): StatisticSource = {
    val plan = df.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan
    PlanBounds.of(classic, plan).groups(Seq(plan.output.find(_.name == column).get)).get.source
  }

  /** Columns of every kind footers describe, and of some they do not. */
  private lazy val facts: Map[String, String] = Seq("parquet", "orc").map { format =>
    val at = s"$folder/bounds_facts_$format"
    spark.range(0, n, 1, 3).selectExpr(
      "id",
      "cast(id % 41 - 20 as int) as negative",
      "if(id % 5 = 0, null, cast(id % 7 as int)) as holes",
      "cast(null as int) as nothing",
      s"date_add(date'2024-01-01', cast(id % $days as int)) as day",
      "cast((id % 300) / 100 as decimal(9,2)) as price",
      "cast(id % 30 as decimal(38,0)) as wide",
      "concat('name', id % 9) as name",
      "cast(id % 1000 as short) as short"
    ).write.mode("overwrite").format(format).save(at)
    format -> at
  }.toMap

  private def table(format: String): AnyFrame = spark.read.format(format).load(facts(format))

  for (format <- Seq("parquet", "orc")) {
    test(s"footers of $format: integers, negative ones, dates, decimals, NULLs") {
      val df = table(format)
      assert(most(df, "negative") == 41 && source(df, "negative") == StatisticSource.FooterBound)
      assert(most(df, "holes") == 8)
      assert(most(df, "nothing") == 1)
      assert(most(df, "day") == days)
      assert(most(df, "price") == 300)
      assert(most(df, "short") == 1000)
      // Of no text, and of no decimal beyond a long in Parquet: no more than there are rows.
      assert(most(df, "name") == n)
      assert(most(df, "wide") == (if (format == "orc") 30 else n))
      assert(most(df, "negative", "holes") == 41 * 8)
      assert(most(df, "day", "price", "negative") == n)
    }

    test(s"filters narrow what footers of $format say, and computed keys inherit it") {
      val df = table(format)
      assert(most(df.where("negative >= 5 and negative < 12"), "negative") == 7)
      assert(most(df.where("negative in (-3, 4)"), "negative") == 2)
      assert(most(df.where("holes is not null"), "holes") == 7)
      assert(most(df.where("name = 'name3'"), "name") == 1)
      assert(most(df.where("day between date'2024-01-05' and date'2024-01-09'"), "day") == 5)
      assert(most(df.where("price <= 0.99"), "price") == 100)
      assert(most(df.selectExpr("negative + 1 as k"), "k") == 41)
      assert(most(df.selectExpr("negative * holes as k"), "k") == 41 * 8)
      assert(most(df.selectExpr("7 as k"), "k") == 1)
    }
  }

  test("a random key is not bounded by what it reads") {
    val plan = table("parquet").asInstanceOf[Dataset[_]].queryExecution.optimizedPlan
    assert(PlanBounds.of(classic, plan).groups(Seq(Rand(Literal(1L)))).isEmpty)
    val negative = plan.output.find(_.name == "negative").get
    assert(PlanBounds.of(classic, plan).groups(Seq(Add(negative, Literal(1)))).exists(_.value == 41))
  }

  test("files without statistics, dictionaries or not, are bounded by their rows only") {
    for (dictionary <- Seq("true", "false")) {
      val at = s"$folder/bounds_plain_$dictionary"
      spark.range(0, 500, 1, 1).selectExpr("cast(id % 3 as int) as k").write.mode("overwrite")
        .option(
          "parquet.column.statistics.enabled",
          "false"
        ).option("parquet.enable.dictionary", dictionary).parquet(at)
      assert(most(spark.read.parquet(at), "k") == 500, dictionary)
      val with_ = s"$folder/bounds_dictionary_$dictionary"
      spark.range(0, 500, 1, 1).selectExpr("cast(id % 3 as int) as k").write.mode("overwrite")
        .option("parquet.enable.dictionary", dictionary).parquet(with_)
      assert(most(spark.read.parquet(with_), "k") == 3, dictionary)
    }
  }

  test("a column that one of the files does not have, or has in another scale, is not bounded") {
    val at = s"$folder/bounds_grown"
    spark.range(0, 100, 1, 1).selectExpr("cast(id % 3 as int) as k").write.mode("overwrite").parquet(at)
    spark.range(0, 100, 1, 1).selectExpr("cast(id % 3 as int) as k", "cast(id % 3 as int) as later")
      .write.mode("append").parquet(at)
    val df = spark.read.option("mergeSchema", "true").parquet(at)
    assert(most(df, "k") == 3 && most(df, "later") > 3)
    assert(FileFooter.common(Seq(
      Map("k" -> ValueRange(1, 2, false, 2)),
      Map("k" -> ValueRange(1, 2, false, 3))
    )).isEmpty)
  }

  test("of more files than are read, only what is alike in all of those bounds") {
    val at = s"$folder/bounds_many"
    spark.range(0, 4000, 1, 20).selectExpr("cast(id as int) as sorted", "cast(id % 50 as int) as mixed")
      .write.mode("overwrite").parquet(at)
    val df = spark.read.parquet(at)
    assert(most(df, "mixed") == 50)
    assert(math.abs(most(df, "sorted") - 4000) < 400) // by the rows, which are scaled by bytes
  }

  test("partition columns have the values of the files that are read") {
    val at = s"$folder/bounds_parts"
    spark.range(0, 600, 1, 1).selectExpr("id", "cast(id % 6 as int) as part", "concat('p', id % 2) as text")
      .write.mode("overwrite").partitionBy("part", "text").parquet(at)
    val df = spark.read.parquet(at)
    assert(most(df, "part") == 6 && most(df, "text") == 2)
    assert(most(df.where("part < 2"), "part") == 2)
  }

  private lazy val fact: AnyFrame = table("parquet")

  /** A table of days, many more than there are facts of. */
  private lazy val calendar: AnyFrame = {
    val at = s"$folder/bounds_calendar"
    spark.range(0, 4000, 1, 1)
      .selectExpr(
        "date_add(date'2020-01-01', cast(id as int)) as d",
        "cast(id as int) as seq",
        "concat('d', id) as text"
      )
      .write.mode("overwrite").parquet(at)
    spark.read.parquet(at)
  }

  test("rows: groups of aggregates, limits, unions") {
    assert(bounds(fact.groupBy("negative").count()).rows == 41)
    assert(bounds(fact.groupBy().count()).rows == 1)
    assert(bounds(fact.groupBy("id").count()).rows == n)
    assert(bounds(fact.groupBy("negative").count().union(fact.groupBy("holes").count())).rows == 41 + 8)
    assert(bounds(fact.union(fact)).rows == 2 * n)
    assert(bounds(fact.limit(30).select("negative")).rows == 30)
    val sets = fact.rollup("negative", "holes").count()
    assert(bounds(sets).rows <= (41 + 1) * (8 + 1) * 3)
  }

  test("columns of a joined table have no more values, together, than it has rows") {
    val joined = fact.join(calendar, fact("day") === calendar("d"))
    assert(most(joined, "text") == 4000)
    assert(most(joined, "text", "seq") == 4000)
    assert(most(joined, "d") == days)
    assert(most(joined, "text", "negative") == 4000 * 41)
    val outer = fact.join(calendar.where("seq < 100"), fact("day") === calendar("d"), "left")
    assert(most(outer, "seq") == 101 && bounds(outer).rows == n)
  }

  test("a join with a few days of a calendar has the rows of these days, one without a filter has all") {
    val all = fact.join(calendar, fact("day") === calendar("d"))
    assert(bounds(all).rows == n && !bounds(all).reduced)
    // 2020-01-01 and 1461 days is 2024-01-01. A hundredth of the calendar is the least that is expected to pass.
    val few = fact.join(calendar.where("seq between 1461 and 1464"), fact("day") === calendar("d"))
    assert(bounds(few).rows == n && few.count() == n / 10)
    // Ten of 4000 days by their dates, a hundredth at least; each number meets as many facts as any other.
    val tenDays = calendar.where("d between date'2024-01-01' and date'2024-01-10'")
    val some = fact.join(tenDays, fact("id") === calendar("seq"))
    assert(bounds(some).rows == n * 40 / 4000 && bounds(some).reduced)
    val semi = fact.join(calendar.where("seq < 40"), fact("id") === calendar("seq"), "left_semi")
    assert(bounds(semi).rows <= 400 && bounds(semi).rows >= 40)
    val anti = fact.join(calendar.where("seq < 40"), fact("id") === calendar("seq"), "left_anti")
    assert(bounds(anti).rows == n)
    // Many matches are possible: not fewer rows than the larger side has.
    assert(bounds(fact.as("a").join(fact.as("b"), "negative")).rows == n)
  }

  test("a rollup over a union of aggregates is left alone: it reads a few dozen rows") {
    fact.createOrReplaceTempView("bounds_facts")
    val sql =
      """select channel, id, sum(s) from (
        |  select 'a' as channel, negative as id, sum(id) as s from bounds_facts group by negative
        |  union all select 'b' as channel, holes as id, sum(id) as s from bounds_facts group by holes
        |) group by rollup(channel, id)""".stripMargin
    val reasons = withConf("spark.phantoms.minSavings" -> "0.05")(Explanations.explain(spark.sql(sql)))
      .collect { case Declined(_, reason) => reason }
    val costs = reasons.collect { case DeclineReason.NoBenefit(cost, without) => (cost, without) }
    assert(costs.nonEmpty, reasons.map(_.message))
    // Priced by what the aggregates leave, 49 rows in place of 20,000 (which take milliseconds).
    assert(costs.map(_._2).min < 1e5, costs)
    def rows(): Seq[org.apache.spark.sql.Row] = spark.sql(sql).collect().toSeq
    assertRows(withConf("spark.phantoms.minSavings" -> "0.05")(rows()), plain(rows()))
  }

  test("a sample's groups are bounded by the footers, and the explanation says so") {
    val at = s"$folder/bounds_ports"
    // Rows of one group lie together, which makes a sample overestimate.
    spark.range(0, 400000, 1, 2).selectExpr(
      "cast(pmod(xxhash64(id div 3), 30000) as int) as port",
      "cast(pmod(xxhash64(id), 3) as int) as prot"
    ).write.mode("overwrite").parquet(at)
    val s = PlannedStatistics.of(spark.read.parquet(at).cube("port", "prot").count())
    assert(s.groupsOf(BitSet(0)).value <= 30000)
    assert(s.groupsOf(BitSet(0, 1)).value <= 90000)
    assert(s.groupsOf(BitSet(1)).value == 3)
  }
}
