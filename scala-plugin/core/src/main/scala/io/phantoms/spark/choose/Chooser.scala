package io.phantoms.spark.choose

/** Entry point of the package: which relations to maintain for a set of queries, or that nothing should be shared. */
object Chooser {

  /** What [[choose]] accepts as `algorithm`. */
  val algorithms: Seq[String] = Seq("auto", "none", "gc")

  /**
   * Chooses a configuration.
   *
   * @param algorithm `auto`: placement search over GC and SL; `gc`: SMAP's GC with SL, every query a shipped LFTA
   *   relation; `none`: NoSharing
   * @param minSavings share only if at least this fraction of NoSharing's cost is saved; negative: share in any case
   * @throws IllegalArgumentException if the algorithm is unknown
   */
  def choose(problem: Problem, algorithm: String = "auto", minSavings: Double = 0.1): Choice = {
    require(
      algorithms.contains(algorithm),
      s"unknown chooser '$algorithm'; valid ones are ${algorithms.mkString(", ")}"
    )
    val without = costWithout(problem)
    val nothing = Choice(None, without, without, algorithm)
    if (algorithm == "none" || problem.queries.isEmpty) nothing
    else {
      val (configuration, cost) = best(problem, algorithm)
      val choice = Choice(Some(configuration), cost, without, algorithm)
      if (minSavings < 0 || choice.savings >= minSavings) choice else nothing
    }
  }

  private def best(problem: Problem, algorithm: String): (Configuration, Double) = {
    val search =
      new PlacementSearch(new FeedingGraph(problem), new CostModel(problem), SpaceAllocation.SupernodeLinear)
    def cheapest(states: Seq[PlacementSearch.State]): (Configuration, Double) =
      states.map(search.configuration).map(c => (c, estimate(problem, c).elapsed)).minBy(_._2)
    val smap = search.smap
    if (algorithm == "gc") cheapest(Seq(smap))
    else {
      val placed = search.search
      val one = cheapest(Seq(placed, smap))
      if (!problem.secondTier) one
      else {
        val starts = if (problem.queries.size <= FewQueries) Seq(placed, smap) else Seq(placed)
        val two = cheapest(starts.map(search.secondTier))
        if (two._2 < ClearGain * one._2 && work(problem, two._1) <= work(problem, one._1)) two else one
      }
    }
  }

  // Of all tasks. A gain in elapsed time from idle cores alone was not seen where it was measured: two tiers then took a
  // quarter more CPU time than one.
  private def work(problem: Problem, configuration: Configuration): Double =
    estimate(problem, configuration).relations.iterator.map(_.cost).sum

  /** Up to so many queries the second tier is also looked for from scratch. */
  private val FewQueries: Int = 64

  /** A second shuffle is one more thing to go wrong with estimates: it has to promise this part of one shuffle's cost. */
  private val ClearGain: Double = 0.9

  /** What each relation of a configuration is expected to do, and the elapsed time of the whole. */
  def estimate(problem: Problem, configuration: Configuration): ConfigurationEstimate =
    ConfigurationEstimate(problem, configuration)

  /** Expected elapsed time of NoSharing, in nanoseconds. */
  def costWithout(problem: Problem): Double = new CostModel(problem).noSharing
}
