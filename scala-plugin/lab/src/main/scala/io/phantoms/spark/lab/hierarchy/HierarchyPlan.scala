package io.phantoms.spark.lab.hierarchy

/** How much of the aggregation runs at the lower level of a hierarchy (Shared hierarchical aggregation, section 5). */
sealed trait PushDown

object PushDown {

  /** All of it runs above: rows are sent. */
  case object None extends PushDown

  /** Slices are aggregated below and combined into windows above: partial aggregates are sent. */
  case object Partial extends PushDown

  /** All of it runs below: results are sent. */
  case object Full extends PushDown
}

/**
 * One of the six plans of Fig 6.
 *
 * @param shared whether the queries share one sliced window, or each has its own
 */
final case class HierarchyPlan(shared: Boolean, pushDown: PushDown) {

  /** The number of the plan in Table 4, 1 to 6. */
  def number: Int = 1 + HierarchyPlan.all.indexOf(this)
}

object HierarchyPlan {

  /** In the order of Table 4. */
  val all: Vector[HierarchyPlan] =
    for {
      shared <- Vector(false, true)
      pushDown <- Vector(PushDown.None, PushDown.Partial, PushDown.Full)
    } yield HierarchyPlan(shared, pushDown)
}
