package io.phantoms.spark.rewrite

import scala.util.Random

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.detect._
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.oracle.RandomConfigurations
import io.phantoms.spark.physical.{AbsorbProjectFilter, PhantomsStrategy, SharedMerge}

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.ColumnarRule
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.scalatest.funsuite.AnyFunSuite

/** Operators in several places of a plan that get results of one workload. */
class SeveralConsumersSuite extends AnyFunSuite with PluginSession {
  import SeveralConsumersSuite._

  override protected def extensions: SparkSessionExtensions => Unit = { e =>
    e.injectPreCBORule(_ => Apart)
    e.injectPlannerStrategy(_ => PhantomsStrategy)
    e.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions = AbsorbProjectFilter })
  }

  private val queries = Seq(
    "select x.k, x.n, y.total from (select k, m, count(*) n from flows group by k, m) x " +
      "join (select k, sum(v) total from flows group by k) y on x.k = y.k",
    "select k, m, sum(v) s from flows group by k, m having sum(v) > (select avg(v) from flows)",
    "select * from (select m, max(v) h, count(*) n from flows group by cube(k, m)) x " +
      "left join (select m, min(d) l from flows group by m) y on x.m <=> y.m",
    "select k, s, m, s2 from (select k, sum(v) s from flows where v < 0 group by k) x " +
      "full join (select m, sum(v) s2 from flows where v < 0 group by m) y on x.k = y.m",
    "select x.k, z.n from (select k, count(*) n from flows group by k) x, (select count(*) n from flows where v >= 0) z"
  )

  test("each consumer reads its results, from one exchange, under any configuration") {
    val answers = queries.map { sql =>
      val plain = spark.sql(sql)
      (plain.schema, WorkloadOracle.multiset(plain.collect().toSeq))
    }
    // AQE on and off are two planners: both are asked in every run, each with two seeds of one commit's turn.
    for (adaptive <- Seq(true, false); (sql, i) <- queries.zipWithIndex; seed <- Turns.some(0 until 4, 2, i)) {
      withConf(
        "spark.sql.adaptive.enabled" -> adaptive.toString,
        "spark.sql.autoBroadcastJoinThreshold" -> (if (seed % 2 == 0) "-1" else "10m")
      ) {
        val (schema, expected) = answers(i)
        Apart.consumers = 0
        Apart.seed = Some(seed + 10L * i)
        val df = spark.sql(sql)
        val clue = s"$sql\n${df.queryExecution.executedPlan}"
        val consumers = Apart.consumers
        assert(df.schema == schema, clue)
        assert(WorkloadOracle.multiset(df.collect().toSeq) == expected, clue)
        val plan = df.queryExecution.executedPlan
        val merges = df.queryExecution.optimizedPlan.collect { case m: SharedMerge => m }
        if (i == 4 || i == 1) assert(merges.isEmpty, clue) // other rows, or a subquery: not one input by this rule
        else {
          assert(consumers == 2 && merges.size >= consumers, clue)
          val made = collectWithSubqueries(plan) {
            case e: ShuffleExchangeLike if PluginSession.endsInLfta(e.child) => e.id
          }.distinct
          // Adaptive execution drops a merge of which it knows that nothing comes.
          assert(made.size == (if (adaptive && i == 3) 0 else 1), clue)
        }
      }
    }
  }

  test("what several consumers merge is counted once") {
    Apart.seed = Some(3)
    val df = spark.sql(queries.head)
    val merges = df.queryExecution.optimizedPlan.collect { case m: SharedMerge => m }
    assert(merges.size >= 2)
    assert(merges.tail.forall(_.spec.observed.isEmpty))
    Apart.seed = None
  }
}

object SeveralConsumersSuite {

  /** Makes one workload of all aggregates of a plan, where they read one input, under a random configuration. */
  object Apart extends Rule[LogicalPlan] {
    @volatile var seed: Option[Long] = None
    @volatile var consumers: Int = 0

    override def apply(plan: LogicalPlan): LogicalPlan = {
      val found = plan.collect { case a: Aggregate if AggregateNormalizer.branches(a).isRight => a }
      seed.filter(_ => found.size > 1).flatMap(shared(plan, found, _)).getOrElse(plan)
    }

    private def shared(plan: LogicalPlan, found: Seq[Aggregate], seed: Long): Option[LogicalPlan] = {
      val each = found.map(a => AggregateNormalizer.branches(a).toOption.get)
      val start = Option((each.head.head.source, Vector(each.head)))
      each.tail.foldLeft(start) { (made, branches) =>
        for {
          (base, before) <- made
          merged <- InputAlignment.merge(base, branches.head.source)
        } yield (merged.plan, before :+ branches.map(_.onSource(merged.plan, merged.translate)))
      }.map { case (base, groups) =>
        val ends = groups.scanLeft(0)(_ + _.size)
        val of = found.indices.map(i => Consumer(found(i).output, ends(i) until ends(i + 1)))
        val workload = WorkloadBuilder.build(base, groups.flatten, of, oneAggregate = false).toOption.get
        val session = org.apache.spark.sql.classic.SparkSession.active
        val problem = Sharing.problem(session, workload, PhantomsConf.read(conf, _ => ()))
        val chosen = RandomConfigurations.of(problem, new Random(seed))
        consumers = of.size
        val plans = SharedAggregates.build(workload, problem, chosen, "random").toOption.get
        plan.transformDown { case a: Aggregate if found.exists(_ eq a) => plans(found.indexWhere(_ eq a)) }
      }
    }
  }
}
