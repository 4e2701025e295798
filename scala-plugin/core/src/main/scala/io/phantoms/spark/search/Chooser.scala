package io.phantoms.spark.search

import scala.collection.mutable

import io.phantoms.spark.cost.{ConfigurationEstimate, CostModel}
import io.phantoms.spark.model.{Choice, Configuration, Problem, RunnerUp}
import io.phantoms.spark.search.graph.FeedingGraph
import io.phantoms.spark.search.placement.{PlacementSearch, SearchState}
import io.phantoms.spark.search.smap.{Smap, SpaceAllocation}
import io.phantoms.spark.search.trees.TreeConfigurations

/** Entry point of the package: which relations to maintain for a set of queries, or that nothing should be shared. */
object Chooser {

  /** What [[choose]] accepts as `algorithm`; `gp` also with its parameter, as in `gp(1.5)`. */
  val algorithms: Seq[String] = Seq("auto", "none", "gc", "trees", "steiner") ++ Smap.names

  /** Whether [[choose]] accepts this name. */
  def accepts(algorithm: String): Boolean = algorithms.contains(algorithm) || Smap.accepts(algorithm)

  /**
   * Chooses a configuration for groupings: what queries have of windows and predicates is among their keys, see [[parts]].
   *
   * @param algorithm `auto`: placement search over GC and SL; `gc`: SMAP's GC with SL, every query a shipped LFTA
   *   relation; `trees`: the greedy aggregate tree; `steiner`: the randomized aggregate tree, by Wong's dual ascent;
   *   `none`: NoSharing; the names of [[Smap]]: phantoms chosen by SMAP's own cost, eq 7 in the terms of one map task,
   *   instead of elapsed time
   * @param minSavings share only if at least this fraction of NoSharing's cost is saved; negative: share in any case
   * @throws IllegalArgumentException if the algorithm is unknown
   */
  def choose(problem: Problem, algorithm: String = "auto", minSavings: Double = 0.1): Choice = {
    require(
      accepts(algorithm),
      s"unknown chooser '$algorithm'; valid ones are ${algorithms.mkString(", ")}"
    )
    require(problem.queries.forall(problem.isKeyed), "windows and predicates without a key are chosen for in parts")
    val without = costWithout(problem)
    val nothing = Choice(None, without, without, algorithm)
    if (algorithm == "none" || problem.queries.isEmpty) nothing
    else {
      val candidates = considered(problem, algorithm)
      val best = candidates.head
      val choice = Choice(Some(best.configuration), best.cost, without, algorithm)
      if (minSavings < 0 || choice.savings >= minSavings) {
        val second = candidates.tail.filter(_.configuration != best.configuration).minByOption(_.cost)
          .filter(_.cost <= without).fold(RunnerUp("nothing shared", without))(_.runnerUp(problem))
        choice.copy(runnerUp = Some(second))
      } else nothing.copy(runnerUp = Some(best.runnerUp(problem)))
    }
  }

  private final case class Candidate(name: String, configuration: Configuration, estimate: ConfigurationEstimate) {
    val cost: Double = estimate.elapsed

    // Of all tasks.
    def work: Double = estimate.relations.iterator.map(_.cost).sum
    def runnerUp(problem: Problem): RunnerUp = RunnerUp(name, cost, problem, configuration)
  }

  /** The algorithm's answer, then the others it looked at. */
  private def considered(problem: Problem, algorithm: String): Seq[Candidate] = {
    def candidates(name: String, configurations: Seq[Configuration]) =
      configurations.map(c => Candidate(name, c, estimate(problem, c))).sortBy(_.cost)
    algorithm match {
      case "trees" => candidates("the greedy tree", TreeConfigurations.greedy(problem))
      case "steiner" => candidates("the randomized tree", TreeConfigurations.randomized(problem))
      case name if Smap.accepts(name) => candidates(name, Seq(smap(problem, Smap(name))))
      case _ => placed(problem, algorithm)
    }
  }

  private def smap(problem: Problem, smap: Smap): Configuration = {
    val graph = new FeedingGraph(problem)
    val search = new PlacementSearch(graph, new CostModel(problem), smap.allocation)
    search.configuration(search.shippingQueries(smap.choose(search.multipleAggregation).feeding.phantoms(graph)))
  }

  private def placed(problem: Problem, algorithm: String): Seq[Candidate] = {
    val search =
      new PlacementSearch(new FeedingGraph(problem), new CostModel(problem), SpaceAllocation.SupernodeLinear)
    val configurations = mutable.HashMap.empty[SearchState, (Configuration, ConfigurationEstimate)]
    def candidate(name: String, state: SearchState) = {
      val (configuration, estimated) = configurations.getOrElseUpdate(
        state, {
          val c = search.configuration(state)
          (c, estimate(problem, c))
        }
      )
      Candidate(name, configuration, estimated)
    }
    val smap = search.smap
    val byGc = candidate("SMAP's answer", smap)
    if (algorithm == "gc") Seq(byGc)
    else {
      val placed = search.search
      val one = Seq(candidate("one shuffle", placed), byGc).sortBy(_.cost)
      if (!problem.secondTier) one
      else {
        val starts = if (problem.queries.size <= FewQueries) Seq(placed, smap).distinct else Seq(placed)
        // What came to one shuffle again, and is no better, needs no look.
        val found = starts.map(search.secondTier).filter(s => s.hasSecondTier || s.score < placed.score)
        found.map(candidate("two shuffles", _)).minByOption(_.cost).fold(one) { two =>
          // A gain in elapsed time from idle cores alone was not seen where it was measured: two tiers then took a quarter
          // more CPU time than one.
          val pays = two.cost < ClearGain * one.head.cost && two.work <= one.head.work
          // Cheaper by too little to be taken is no runner-up that the choice is ahead of.
          if (pays) two +: one else if (two.cost < one.head.cost) one else one :+ two
        }
      }
    }
  }

  /** Up to so many queries the second tier is also looked for from scratch. */
  private val FewQueries: Int = 64

  /** A second shuffle is one more thing to go wrong with estimates: it has to promise this part of one shuffle's cost. */
  private val ClearGain: Double = 0.9

  /**
   * Chooses for queries that may differ in windows and predicates, too: which of them share slices and fragments, and a
   * configuration for each such part.
   */
  def parts(problem: Problem, algorithm: String, minSavings: Double): PartedChoice =
    new PartSearch(problem, algorithm, minSavings).choose

  /** What each relation of a configuration is expected to do, and the elapsed time of the whole. */
  def estimate(problem: Problem, configuration: Configuration): ConfigurationEstimate =
    ConfigurationEstimate(problem, configuration)

  /** Expected elapsed time of NoSharing, in nanoseconds. */
  def costWithout(problem: Problem): Double = new CostModel(problem).noSharing
}
