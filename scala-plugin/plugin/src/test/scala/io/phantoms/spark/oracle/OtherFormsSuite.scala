package io.phantoms.spark.oracle

import java.util.concurrent.atomic.AtomicInteger

import io.phantoms.spark.PhantomsExtensions
import io.phantoms.spark.conf.PhantomsSettings
import io.phantoms.spark.detect.Workload
import io.phantoms.spark.model.{Choice, Problem}
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.physical.SharedMerge
import io.phantoms.spark.rewrite.Sharing

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.scalatest.{Assertion, Outcome => TestOutcome}

/** The plugin's steps, with each form of a workload cheaper than the one before it. */
object LastForm extends OtherChoices {
  private val asked = new AtomicInteger

  /** How windows and predicates of the workloads looked at in a test are told apart. */
  @volatile var forms: Seq[String] = Nil

  override def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem = {
    forms = forms :+ workload.form
    super.problem(session, workload, settings)
  }

  override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice = {
    val choice = Sharing.choose(session, problem, settings)
    choice.copy(cost = choice.cost / (1e6 * asked.incrementAndGet()))
  }
}

class LastFormExtensions extends PhantomsExtensions(LastForm)

/**
 * Windows and predicates told apart in the way that is not the usual one: one slice for few windows, tumbling ones and
 * `date_trunc` among them, and a key for each of a few filters. Extensions are of a session, so it has one of its own.
 */
class OtherFormsSuite extends EverySecondTest with TrapTables with AdaptiveSparkPlanHelper {
  override protected def extensions: String = classOf[LastFormExtensions].getName

  override protected def withFixture(test: NoArgTest): TestOutcome = {
    LastForm.forms = Nil
    super.withFixture(test)
  }

  private def shares(name: String, form: String)(sql: String): Unit = test(name) {
    checkSharedSql(sql)
    assertLooked(_.contains(form))
  }

  /** What was looked at since the last time. */
  private def assertLooked(isRight: Seq[String] => Boolean): Assertion = {
    val looked = LastForm.forms
    LastForm.forms = Nil
    assert(isRight(looked), looked)
  }

  private val edges =
    """(select timestamp_micros(id div 3 * 1000000 + id % 3 - 1) e, int(id % 5) k, id v, if(id % 7 = 0, null, id) o
      |from range(-90, 120))""".stripMargin
  private val oneSlice = "slices in common"

  shares("edges of tumbling windows that feed each other", oneSlice)(
    Seq("2 seconds", "6 seconds", "30 seconds").map(w =>
      s"select window(e, '$w') w, k, count(*) n, sum(v) v, min(o) m, avg(v) a from $edges group by window(e, '$w'), k"
    ).mkString(" union all ")
  )
  shares("tumbling windows of different offsets, beside windows that overlap", oneSlice)(
    Seq("'4 seconds'", "'6 seconds', '6 seconds', '5 seconds'", "'10 seconds', '4 seconds'")
      .map(w => s"select window(e, $w) w, count(*) n, sum(o) v from $edges group by window(e, $w)").mkString(
        " union all "
      )
  )
  shares("minutes, hours, days: date_trunc and windows", oneSlice)(
    """select date_trunc('MINUTE', ts) t, a k, count(*) n, sum(c) v, max(b) m from t where ts is not null group by date_trunc('MINUTE', ts), a
      |union all select window(ts, '1 hour').start, a, count(*), sum(c), max(b) from t group by window(ts, '1 hour'), a
      |union all select date_trunc('day', ts), null, count(*), sum(c), max(b) from t where ts is not null group by date_trunc('day', ts)
      |union all select date_trunc('week', ts), a, count(*), sum(c), max(b) from t where ts is not null group by date_trunc('week', ts), a
      |union all select window(ts, '3 hours', '90 minutes').end, a, count(*), sum(c), max(b) from t group by window(ts, '3 hours', '90 minutes'), a""".stripMargin
  )
  shares("what is made of tumbling windows, beside a groupBy of all", oneSlice)(
    """select hour(window.start) h, unix_micros(window.end) e, a k, sum(d) v from t group by window(ts, '2 hours'), a having count(*) > 1
      |union all select minute(w.start), unix_micros(w.end), a, v from (select window(ts, '4 hours', '4 hours', '7 minutes') w, a, sum(d) v from t
      |group by window(ts, '4 hours', '4 hours', '7 minutes'), a) where v > 5
      |union all select null, null, a, sum(d) from t where ts is not null group by a""".stripMargin
  )
  shares("times without a zone, without rows", oneSlice)(
    Seq("t", "none").map { t =>
      s"""select window(tn, '1 hour') w, b, stddev(z) s, min(x) m from $t group by window(tn, '1 hour'), b
         |union all select window(tn, '1 day'), b, stddev(z), min(x) from $t group by window(tn, '1 day'), b""".stripMargin
    }.head
  )
  shares("windows of one time with keys of their own each", oneSlice)(
    """select window(ts, '2 hours', '1 hour') w, a k, count(*) n from t group by window(ts, '2 hours', '1 hour'), a
      |union all select window(ts, '150 minutes', '1 hour'), n, count(*) from t group by window(ts, '150 minutes', '1 hour'), n
      |union all select window(ts, '1 hour'), a % 3, sum(c) from t group by window(ts, '1 hour'), a % 3""".stripMargin
  )
  shares("so many slices of one group that not all windows look at them at once", oneSlice)(
    Seq(7, 8, 9, 10, 11, 13).map(w =>
      s"""select window(e, '$w seconds').start s, count(*) n, sum(v) v from (select timestamp_seconds(id) e, id v
         |from range(200000)) group by window(e, '$w seconds')""".stripMargin
    ).mkString(" union all ")
  )
  test("tumbling windows so early that their begin is no number") {
    for (early <- Seq("-9223372036854775800", "9223372036854775800"))
      withConf("spark.sql.ansi.enabled" -> "true") {
        checkSharedSql(
          Seq("1 hour", "2 hours").map(w =>
            s"""select w, n from (select window w, count(*) n from (select timestamp_micros(if(id = 7, $early, id)) e
               |from range(20)) group by window(e, '$w'))""".stripMargin
          ).mkString(" union all "),
          fails = Some("ARITHMETIC_OVERFLOW")
        )
        assertLooked(_.contains(oneSlice))
      }
  }

  test("times so late that only the window's end is no number, which is computed, and not shown") {
    def of(last: String, keys: String*) =
      keys.map(k =>
        s"select $k t, count(*) n from (select timestamp_micros(if(id = 7, $last, id)) e from range(20)) group by $k"
      )
        .mkString(" union all ")
    val latest = "9223372036854775807"
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(of(latest, "date_trunc('HOUR', e)", "date_trunc('DAY', e)"))
      assertLooked(_.contains(oneSlice))
      val windows =
        s"select s, n from (select window.start s, count(*) n from (select timestamp_micros(if(id = 7, $latest, id)) e " +
          "from range(20)) group by window(e, '1 hour'))"
      checkSharedSql(
        of(latest, "date_trunc('HOUR', e)", "date_trunc('DAY', e)") + " union all " + windows,
        fails = Some("ARITHMETIC_OVERFLOW")
      )
    }
  }
  shares("times ages apart", oneSlice)(
    Seq("1 minute", "2 minutes").map(w =>
      s"""select unix_micros(window(e, '$w').start) s, count(*) n from (select timestamp_micros(case id when 1 then -9223372036790000000
         |when 2 then 5000000000000000000 when 3 then -5000000000000000000 else id end) e from range(9)) group by window(e, '$w')""".stripMargin
    ).mkString(" union all ")
  )

  private def under(conditions: String*): String =
    conditions.map(c => s"select a k, count(*) n, sum(c) v, max(b) m from t where $c group by a").mkString(
      " union all "
    )

  shares("a few filters", "a key for each filter")(
    under("c < 0", "z = 1", "not (z = 1)", "z is null or flag", "x > double('NaN')", "b = 'k1' and d < 50")
  )
  shares("windows and filters: usual slices", "slices of their own, a key for each filter")(
    Seq("c > 0", "c > 10", "z = 1", "flag").map(c =>
      s"select window(ts, '2 hours', '1 hour') w, a, count(*) n, sum(c) v from t where $c group by window(ts, '2 hours', '1 hour'), a"
    ).mkString(" union all ")
  )

  test("what is left as it is: times that may be NULL, zones with other offsets, months, a window that is read") {
    def stays(sql: String): Assertion = {
      checkSharedSql(sql)
      withClue(sql)(assertLooked(_.distinct == Seq("row by row")))
    }
    def truncated(units: String*) =
      units.map(u =>
        s"select date_trunc('$u', ts) t, count(*) n from t where ts is not null group by date_trunc('$u', ts)"
      )
        .mkString(" union all ")
    stays(
      """select date_trunc('HOUR', ts) t, count(*) n from t group by date_trunc('HOUR', ts)
        |union all select date_trunc('DAY', ts), count(*) from t group by date_trunc('DAY', ts)""".stripMargin
    )
    stays(truncated("MONTH", "YEAR", "quarter"))
    withConf("spark.sql.session.timeZone" -> "Europe/Berlin")(stays(truncated("HOUR", "DAY")))
    for (zone <- Seq("+05:30", "+8:00", "GMT-3:30")) withConf("spark.sql.session.timeZone" -> zone) {
      checkSharedSql(truncated("HOUR", "DAY", "WEEK"))
      assertLooked(_.contains(oneSlice))
    }
    stays(
      """select window(ts, '1 hour') w, max(window(ts, '1 hour')) m from t group by window(ts, '1 hour')
        |union all select window(ts, '2 hours'), max(window(ts, '2 hours')) m from t group by window(ts, '2 hours')""".stripMargin
    )
  }

  test("results that nothing deals out are put together in as many tasks as run at once, from one shuffle") {
    val sql = (1 to 20).map { i =>
      s"select window.start s, count(*) n, sum(c) v from t where a is not null group by window(ts, '${i + 60} minutes', '$i minutes')"
    }.mkString(" union all ")
    // Results are dear on this machine.
    withConf("spark.phantoms.machine" -> "emit=10000000") {
      checkSharedSql(sql)
      val df = spark.sql(sql)
      val merges = df.queryExecution.optimizedPlan.collect { case m: SharedMerge => m }
      assert(merges.map(_.spec.queries.size).sorted == Seq(10, 10))
      assert(merges.map(_.child.canonicalized).distinct.size == 1)
      df.collect()
      for (from <- Seq("t", "none")) checkSharedSql((1 to 20).map(i =>
        s"select $i q, count(*) n, sum(c) v, min(b) m from $from where c > $i"
      ).mkString(" union all "))
      val exchanges = collectWithSubqueries(df.queryExecution.executedPlan) {
        case e: ShuffleExchangeLike if PluginSession.endsInLfta(e.child) => e.id
      }
      assert(exchanges.distinct.size == 1)
    }
  }
}
