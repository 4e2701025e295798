package io.phantoms.spark.choose

import io.phantoms.spark.choose.trees.TreeConfigurations

/** Entry point of the package: which relations to maintain for a set of queries, or that nothing should be shared. */
object Chooser {

  /** What [[choose]] accepts as `algorithm`; `gp` also with its parameter, as in `gp(1.5)`. */
  val algorithms: Seq[String] = Seq("auto", "none", "gc", "trees", "steiner") ++ Smap.names

  /** Whether [[choose]] accepts this name. */
  def accepts(algorithm: String): Boolean = algorithms.contains(algorithm) || Smap.accepts(algorithm)

  /**
   * Chooses a configuration.
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
    val without = costWithout(problem)
    val nothing = Choice(None, without, without, algorithm)
    if (algorithm == "none" || problem.queries.isEmpty) nothing
    else {
      val (configuration, cost) = configurations(problem, algorithm)
        .map(c => (c, estimate(problem, c).elapsed)).minBy(_._2)
      val choice = Choice(Some(configuration), cost, without, algorithm)
      if (minSavings < 0 || choice.savings >= minSavings) choice else nothing
    }
  }

  private def configurations(problem: Problem, algorithm: String): Seq[Configuration] = algorithm match {
    case "trees" => TreeConfigurations.greedy(problem)
    case "steiner" => TreeConfigurations.randomized(problem)
    case name if Smap.accepts(name) => Seq(smap(problem, Smap(name)))
    case _ =>
      val search =
        new PlacementSearch(new FeedingGraph(problem), new CostModel(problem), SpaceAllocation.SupernodeLinear)
      val smap = search.configuration(search.smap)
      if (algorithm == "gc") Seq(smap) else Seq(search.configuration(search.search), smap)
  }

  private def smap(problem: Problem, smap: Smap): Configuration = {
    val graph = new FeedingGraph(problem)
    val search = new PlacementSearch(graph, new CostModel(problem), smap.allocation)
    search.configuration(search.shippingQueries(smap.choose(search.multipleAggregation).feeding.phantoms(graph)))
  }

  /**
   * Chooses for queries that differ in windows and predicates, too: which of them share slices and fragments, and a
   * configuration for each such part.
   */
  def choose(workload: TimedWorkload, algorithm: String, minSavings: Double): TimedChoice =
    new TimedSearch(workload, algorithm, minSavings).choose

  /** What each relation of a configuration is expected to do, and the elapsed time of the whole. */
  def estimate(problem: Problem, configuration: Configuration): ConfigurationEstimate =
    ConfigurationEstimate(problem, configuration)

  /** Expected elapsed time of NoSharing, in nanoseconds. */
  def costWithout(problem: Problem): Double = new CostModel(problem).noSharing
}
