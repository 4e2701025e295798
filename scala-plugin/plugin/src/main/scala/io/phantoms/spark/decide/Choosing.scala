package io.phantoms.spark.decide

import io.phantoms.spark.conf.{OfApplication, PhantomsSettings, PlanningMemory}
import io.phantoms.spark.detect.Workload
import io.phantoms.spark.model.{Choice, Configuration, Notation, Problem}
import io.phantoms.spark.run.TaskShare
import io.phantoms.spark.search.ChoiceCache
import io.phantoms.spark.stats.StatisticsProvider
import io.phantoms.spark.stats.bounds.FooterRows
import io.phantoms.spark.stats.sampled.SampleCache

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf

/** What is decided of a workload: which relations to maintain, by what is known of its input. */
trait Choosing {

  /** The workload as the chooser sees it, with what is known of its input. */
  def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem

  /** Which relations to maintain, or none. */
  def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice

  /** Whether the workload is shared, and how; `subject` names its operator. */
  final def decide(
      session: SparkSession,
      subject: String,
      workload: Workload,
      settings: PhantomsSettings
  ): Decision = {
    val decisions = (workload +: workload.alternatives).map(one(session, subject, _, settings))
    val shared = decisions.collect { case s: Shared => s }
    shared.headOption.fold(decisions.head) { usual =>
      val others = shared.tail.sortBy(_.choice.cost)
      others.headOption.fold(usual) { other =>
        if (other.choice.cost < Choosing.ClearGain * usual.choice.cost)
          (usual +: others.tail).foldLeft(other)(_.before(_))
        else usual.before(other)
      }
    }
  }

  private def one(
      session: SparkSession,
      subject: String,
      workload: Workload,
      settings: PhantomsSettings
  ): Decision = {
    lazy val problem = this.problem(session, workload, settings)
    lazy val choice = choose(session, problem, settings)
    Admission.workload(workload, settings).orElse(Admission.choice(choice)) match {
      case Some(reason) => Declined(subject, reason)
      case None =>
        val configuration = choice.configuration.get
        val (notation, legend) = (Choosing.notation(problem, configuration), Choosing.legend(problem))
        Shared(subject, workload, configuration, choice, notation, problem, legend)
    }
  }
}

/** What a session gets: estimated statistics, and the chooser. */
object Choosing extends Choosing {

  /** Another form than the usual one has to promise this part of its cost: of several relations less is known than of one. */
  private val ClearGain = 0.5

  /** Choices made before, and the configurations in use. */
  private[spark] val choices =
    new OfApplication(() => new ChoiceCache(PlanningMemory.ChoiceBytes, PlanningMemory.weigh))

  override def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem = {
    val (rowWork, plainRowWork) = workload.rowWork
    StatisticsProvider.problem(
      session,
      workload.groupedAsRead,
      math.min(settings.lftaMemory, TaskShare.of(session.sparkContext).tables),
      settings.sampling,
      settings.observing,
      settings.machine
    ).copy(
      secondTier = settings.secondTier && ReusableInput(workload.base, SQLConf.get),
      rowWork = rowWork,
      plainRowWork = plainRowWork,
      plainShuffles = workload.plainShuffles
    )
  }

  override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice =
    choices(session.sparkContext).choose(problem, settings.chooser, settings.minSavings, settings.observing.minGain)

  /** The configuration as `ABCD(AB BCD(BC BD CD))`. */
  def notation(problem: Problem, configuration: Configuration): String =
    new Notation(problem.attributes).render(configuration)

  /** What the letters of the notation stand for; empty when they are the attributes' own names. */
  def legend(problem: Problem): Seq[(String, String)] = new Notation(problem.attributes).legend

  /** Forgets what planning found out by itself; observations are the [[ObservationStore]]'s, who has files of them. */
  private[spark] def forget(context: SparkContext): Unit = {
    choices(context).clear()
    SampleCache.of(context).clear()
    FooterRows.of(context).clear()
  }
}
