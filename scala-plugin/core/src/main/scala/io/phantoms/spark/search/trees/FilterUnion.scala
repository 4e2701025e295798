package io.phantoms.spark.search.trees

/** Coalesces filters into one that every tuple of any of them passes: a pre-filter for all. */
final class FilterUnion(selectivity: Filter => Double, costs: TreeCosts) {

  /**
   * The union of the patent: of filters of one box the smallest box around them (section 4.1); otherwise all their
   * boxes, [[coalesced]] (section 4.3).
   */
  def apply(filters: Seq[Filter]): Filter =
    if (filters.forall(_.boxes.size <= 1))
      filters.flatMap(_.boxes).reduceOption(_ hull _).fold(Filter.Nothing)(b => Filter(Seq(b)))
    else coalesced(filters)

  /**
   * Cost per tuple of filtering by `union` first: C_F(F) + sigma_F * sum of C_F(F_i).
   *
   * @param filters F_i, those checked on the tuples that pass
   */
  def cost(union: Filter, filters: Seq[Filter]): Double =
    costs.filter(union) + selectivity(union) * filters.map(costs.filter).sum

  /** All boxes of the filters; while one pair can be replaced by its hull at less cost, the pair that saves most is. */
  def coalesced(filters: Seq[Filter]): Filter = {
    var union = Filter(filters.flatMap(_.boxes))
    var least = cost(union, filters)
    var improving = true
    while (improving) {
      val merged = for {
        i <- union.boxes.indices.iterator
        j <- (i + 1 until union.boxes.size).iterator
      } yield {
        val others = union.boxes.indices.filter(k => k != i && k != j).map(union.boxes)
        Filter(others :+ union.boxes(i).hull(union.boxes(j)))
      }
      val best = merged.map(f => (cost(f, filters), f)).minByOption(_._1).filter(_._1 < least)
      improving = best.nonEmpty
      best.foreach { case (c, f) =>
        least = c
        union = f
      }
    }
    union
  }
}
