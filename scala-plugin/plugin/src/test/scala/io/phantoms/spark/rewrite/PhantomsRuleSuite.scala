package io.phantoms.spark.rewrite

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.PhantomsExtensions
import io.phantoms.spark.api.PhantomsApi
import io.phantoms.spark.conf.{PhantomsConf, PhantomsSettings}
import io.phantoms.spark.decide.{Decision, DecisionRecorder, Declined, Shared, VersionGuard}
import io.phantoms.spark.detect.{DeclineReason, DetectionTestSession, Workload, WorkloadOracle}
import io.phantoms.spark.model.{Choice, Configuration, KeyAttribute, Machine, Placement, Problem, Relation, Statistics}
import io.phantoms.spark.shims.BuildInfo
import io.phantoms.spark.stats.supplied.StatisticsException

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery, Union}
import org.scalatest.funsuite.AnyFunSuite

/** The rule alone: what it makes of a workload is done by plain groupBys here. */
class PhantomsRuleSuite extends AnyFunSuite with DetectionTestSession {

  private final class PlainSharing(beneficial: Workload => Boolean = _ => true) extends Sharing {
    val built: mutable.Buffer[Workload] = mutable.ArrayBuffer.empty

    override def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem = {
      val share = beneficial(workload)
      Problem(
        workload.keys.map(k => KeyAttribute(k.sql, 32)),
        workload.asked,
        if (share) 64 else 0,
        new Statistics {
          def rows: Double = 1000
          def groups(keys: BitSet): Double = 10
          def flowLength(keys: BitSet): Double = 1
        },
        Machine(),
        settings.lftaMemory,
        2
      )
    }

    override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice = {
      val each = problem.groupings.zipWithIndex.map { case (keys, i) =>
        Relation(keys, Vector(i), -1, 0, Placement.Shipped(BitSet.empty, 1))
      }
      if (problem.bufferBits > 0) Choice(Some(Configuration(each.toVector)), 1e6, 4e6, "test")
      else Choice(None, 4e6, 4e6, "test")
    }

    override def build(
        workload: Workload,
        problem: Problem,
        configuration: Configuration,
        notation: String
    ): Either[DeclineReason, IndexedSeq[LogicalPlan]] = {
      built += workload
      Right(WorkloadOracle.plans(workload))
    }
  }

  private val cube = "select a, b, sum(c) from t group by cube(a, b)"
  private val union =
    "select a, count(*) from t group by a union all select length(b), max(c) from t group by length(b)"

  private val distinct =
    "select a, count(distinct b), sum(distinct c), avg(c) from t group by a having count(distinct b) > 1"

  private def decisions(rule: PhantomsRule, plan: LogicalPlan): (LogicalPlan, Seq[Decision]) = {
    var result = plan
    val found = DecisionRecorder.during { result = rule(plan) }
    (result, found)
  }

  private def codes(found: Seq[Decision]): Seq[String] = found.map {
    case _: Shared => "SHARED"
    case Declined(_, reason) => reason.code
  }

  private def assertUntouched(rule: PhantomsRule, sql: String, expected: String*): Unit = {
    val plan = planFor(sql)
    val (result, found) = decisions(rule, plan)
    assert(result eq plan)
    assert(codes(found) == expected)
    ()
  }

  for (sql <- Seq(cube, union, distinct)) test(s"rewritten once, and the second time nothing is found: $sql") {
    val sharing = new PlainSharing
    val rule = new PhantomsRule(spark, sharing)
    val plan = planFor(sql)
    val (result, found) = decisions(rule, plan)
    assert(!(result eq plan) && codes(found) == Seq("SHARED"))
    assert(result.output.map(a => (a.exprId, a.name, a.dataType)) == plan.output.map(a =>
      (a.exprId, a.name, a.dataType)
    ))
    assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
    assert(sharing.built.size == 1)
  }

  test("a plan is left as it is, the same instance") {
    val rule = new PhantomsRule(spark, new PlainSharing)
    assertUntouched(rule, "select a, count(*) from t group by a", "SINGLE_AGGREGATE")
    assertUntouched(rule, "select a from t where c > 3")
    assertUntouched(rule, "select a, b, mode(c) from t group by cube(a, b)", "UNSUPPORTED_FUNCTION")
    assertUntouched(
      rule,
      "select * from (select a, count(*) n from t group by a) l join (select a, count(*) n from t group by a) r " +
        "on l.a = r.n and l.n = r.a",
      "DIFFERENT_INPUTS"
    )
  }

  test("no benefit") {
    assertUntouched(new PhantomsRule(spark, new PlainSharing(_ => false)), cube, "NO_BENEFIT")
  }

  test("the switch") {
    withConf(PhantomsConf.Enabled.key -> "false") {
      val sharing = new PlainSharing
      assertUntouched(new PhantomsRule(spark, sharing), cube, "DISABLED")
      assert(sharing.built.isEmpty)
    }
  }

  test("the switches of the two shapes") {
    val rule = new PhantomsRule(spark, new PlainSharing)
    withConf(PhantomsConf.GroupingSetsEnabled.key -> "false")(assertUntouched(rule, cube, "DISABLED"))
    withConf(PhantomsConf.MultiAggregateEnabled.key -> "false")(assertUntouched(rule, union, "DISABLED"))
  }

  test("DISTINCT: what is left alone, and what it says") {
    val rule = new PhantomsRule(spark, new PlainSharing)
    withConf(PhantomsConf.DistinctEnabled.key -> "false")(assertUntouched(rule, distinct, "DISABLED"))
    assertUntouched(rule, "select a, count(distinct b) from t group by a", "SINGLE_AGGREGATE")
    val sql = "select count(distinct b) filter (where 1 div c > 0), count(distinct c) from t"
    val (_, found) = decisions(rule, planFor(sql))
    assert(found.collect { case Declined(_, reason) => reason.message } ==
      Seq("DISTINCT beside a FILTER clause of count that may fail is not shared"))
    val (_, shared) = decisions(rule, planFor(distinct))
    assert(shared.map(_.subject).forall(_.startsWith("Aggregate [a, count(DISTINCT b), sum(DISTINCT c), avg(c)")))
  }

  test("branches of a union, one of them with DISTINCT: each a consumer, and what stands alone in one") {
    def consumers(sql: String): Seq[Int] = {
      val plan = planFor(sql)
      val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), plan)
      assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
      found.collect { case s: Shared => s.workload.consumers.size }.sorted
    }
    val counted = "select length(b), count(distinct a), count(distinct c) from"
    val plain = "select a, count(*), max(c) from t group by a union all select c, count(*), max(a) from t group by c"
    assert(consumers(s"$plain union all $counted t group by length(b)") == Seq(3))
    assert(consumers(s"$plain union all $counted (select *, 1 from none) group by length(b)") == Seq(1, 1))
  }

  test("limits of a workload") {
    val rule = new PhantomsRule(spark, new PlainSharing)
    withConf(PhantomsConf.MaxQueries.key -> "3")(assertUntouched(rule, cube, "TOO_MANY_QUERIES"))
    withConf(PhantomsConf.ExactFloatingPoint.key -> "true") {
      assertUntouched(rule, "select a, b, avg(x) from t group by cube(a, b)", "EXACT_FLOATING_POINT")
      assert(codes(decisions(rule, planFor("select a, b, max(x) from t group by cube(a, b)"))._2) == Seq("SHARED"))
    }
  }

  test("another Spark minor") {
    val sharing = new PlainSharing
    val rule = new PhantomsRule(spark, sharing, BuildInfo("0", "4.1", "4.1.0"), running = "4.2.0")
    assertUntouched(rule, cube, "WRONG_SPARK")
    assert(new BuildInfo("0", "4.2", "4.2.0").fits("4.2.3"))
    assert(!new BuildInfo("0", "4.2", "4.2.0").fits("4.20.0"))
  }

  test("on another Spark minor nothing of what is handed in is touched") {
    val other = BuildInfo("0", "4.1", "4.1.0")
    new PhantomsExtensions(new PlainSharing, other)(null)
    val Seq(Declined(_, reason)) = PhantomsApi.decisions(null, other): @unchecked
    assert(reason.code == "WRONG_SPARK" && reason.message.contains(BuildInfo.runningSpark))
    val error = intercept[StatisticsException](VersionGuard.requireFitting(other))
    assert(error.errorClass == "PHANTOMS_WRONG_SPARK" && error.getMessage.contains("4.1"))
    VersionGuard.requireFitting()
  }

  test("streaming") {
    val stream = spark.readStream.format("rate").load()
    stream.createOrReplaceTempView("stream")
    val plan = spark.sql("select value, count(*) from stream group by cube(value)").queryExecution.analyzed
    val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), plan)
    assert((result eq plan) && codes(found) == Seq("STREAMING"))
  }

  test("a bug of ours leaves the plan, unless strict") {
    val broken = new Sharing {
      def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem =
        throw new NoSuchMethodError("moved")
      def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice = fail()
      def build(w: Workload, p: Problem, c: Configuration, n: String): Either[DeclineReason, IndexedSeq[LogicalPlan]] =
        fail()
    }
    assertUntouched(new PhantomsRule(spark, broken), cube, "INTERNAL_ERROR")
    withConf(PhantomsConf.Strict.key -> "true") {
      val plan = planFor(cube)
      assertThrows[NoSuchMethodError](new PhantomsRule(spark, broken)(plan))
    }
  }

  test("below the root of a subquery") {
    val plan = Subquery(planFor(cube), correlated = false)
    val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), plan)
    assert(result.isInstanceOf[Subquery] && codes(found) == Seq("SHARED"))
  }

  test("one part of a union is shared, the other left for want of benefit") {
    val sql = s"$union union all select a, count(*) from dim group by a union all select length(name), count(*) " +
      "from dim group by length(name)"
    val sharing = new PlainSharing(_.groupedAsRead.keys.exists(_.sql.contains("b")))
    val plan = planFor(sql)
    val (result, found) = decisions(new PhantomsRule(spark, sharing), plan)
    assert(codes(found).sorted == Seq("NO_BENEFIT", "SHARED"))
    assert(result.output.map(_.exprId) == plan.output.map(_.exprId))
    assert(result.collect { case u: Union => u.children.size }.head == 3)
    assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
  }

  test("branches that a limit was pushed into have one consumer, the union") {
    val sql =
      "select * from (select a, count(*) n from t group by a union all select c, count(*) from t group by c) limit 3"
    val (_, found) = decisions(new PhantomsRule(spark, new PlainSharing), planFor(sql))
    assert(found.collect { case s: Shared => s.workload.consumers.size } == Seq(1))
  }

  test("a workload whose input is a workload") {
    val sql = "with v as (select a, b, dt, sum(c) c from t group by cube(a, b, dt)) " +
      "select a, count(*) from v group by a union all select length(b), max(c) from v group by length(b)"
    val plan = planFor(sql)
    val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), plan)
    // The two cubes are of one workload; the groupBys above them read different columns of these, and are left alone.
    assert(found.collect { case s: Shared => s.workload.consumers.size } == Seq(2))
    assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
  }

  private val inner = "with v as (select a, b, sum(c) s, max(dt) m, count(*) n from t group by a, b) "

  test("a union whose input would be a workload of its own copies: they are one, and nothing is decided of them") {
    val sql =
      inner + "select a, sum(s) v from v group by a union all select length(b), count(m) from v group by length(b)"
    val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), planFor(sql))
    assert(codes(found) == Seq("SHARED"))
    assert(found.collect { case s: Shared => s.workload.queries.size } == Seq(2))
    assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
  }

  test("the input that a union has left shares with what stands outside") {
    val sql =
      "select u.*, x.l from (" + inner + "select a, sum(s) v from v group by a union all select length(b), count(m) " +
        "from v group by length(b)) u full join (select a, min(dt) l from t group by a) x on u.a = x.a"
    val plan = planFor(sql)
    val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), plan)
    assert(codes(found) == Seq("SHARED", "SHARED"))
    assert(found.collect { case s: Shared => s.workload.consumers.size }.sorted == Seq(1, 2))
    assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
  }

  test("copies that others read as well, each, stay what they are") {
    val sql = inner + "select p.a, p.s, q.m, x.s, y.m from (select a, sum(s) s from v group by a) p " +
      "full join (select length(b) l, max(m) m from v group by length(b)) q on p.a = q.l " +
      "full join (select a, b, s from v) x on x.a = p.a full join (select a, b, m from v) y on length(y.b) = q.l"
    val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), planFor(sql))
    assert(codes(found).sorted == Seq("DIFFERENT_INPUTS", "SHARED"))
    assert(found.collect { case s: Shared => s.workload.consumers.size } == Seq(4))
    assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
  }

  private def consumersOf(sql: String): Seq[Int] = {
    val (result, found) = decisions(new PhantomsRule(spark, new PlainSharing), planFor(sql))
    assert(WorkloadOracle.rows(spark, result) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
    found.collect { case s: Shared => s.workload.consumers.size }
  }

  private val copies =
    "select a, sum(s) v from v group by a union all select length(b), count(m) from v group by length(b)"

  test("branches of a union that read copies, one of them with DISTINCT: consumers of one input") {
    assert(consumersOf(s"$inner$copies union all select count(distinct n), count(distinct b) from v") == Seq(3))
  }

  test("a union that reads copies, in the input of a union with a DISTINCT branch") {
    val sql =
      inner + s", u as ($copies) select a, sum(v) from u group by a union all select v, max(a) from u group by v " +
        "union all select count(distinct a), count(distinct v) from u"
    assert(consumersOf(sql) == Seq(1, 3))
  }

  test("a union that reads copies, below DISTINCT that cannot be shared") {
    assert(consumersOf(s"$inner select count(distinct a) from ($copies)") == Seq(1))
    withConf(PhantomsConf.DistinctEnabled.key -> "false") {
      assert(consumersOf(s"$inner select count(distinct a), sum(distinct v) from ($copies)") == Seq(1))
    }
  }

  test("a union of DISTINCT and plain branches inside what another union reads") {
    val sql = "with u as (select a, count(*) n from t group by a union all select c, max(a) from t group by c " +
      "union all select length(b), count(distinct a) + count(distinct c) from t group by length(b)) " +
      "select a, sum(n) s from u group by a union all select n, count(*) from u group by n"
    assert(consumersOf(sql) == Seq(3, 1))
  }
}
