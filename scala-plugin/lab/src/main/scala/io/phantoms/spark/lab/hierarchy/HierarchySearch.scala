package io.phantoms.spark.lab.hierarchy

/**
 * What every node of a topology sends to its parent.
 *
 * @param sends for each node; of the root, which has the results, always [[PushDown.Full]]
 * @param cost link cost of all tuples sent per tick
 */
final case class HierarchyChoice(sends: Vector[PushDown], cost: Double)

/**
 * What to send where in a hierarchy of many levels, queries sharing one sliced window.
 *
 * Rows become slices once and slices become results once on their way up, so a node sends what its children send or
 * something later in that order. Aggregates of one slice, or of one window, that arrive from several children are merged
 * (aggregation across space), so what a node sends depends on the rows below it and not on who sent what.
 */
final class HierarchySearch(topology: Topology, cost: CommunicationCost) {
  private val kinds: Vector[PushDown] = Vector(PushDown.None, PushDown.Partial, PushDown.Full)

  /** Tuples per tick that a node sends. */
  def sent(node: Int, kind: PushDown): Double =
    cost.bandwidth(HierarchyPlan(shared = true, kind), topology.lambda(node))

  /** All nodes send the same: one of the plans of Table 4 on every link. */
  def uniform(plan: HierarchyPlan): Double = topology.parents.indices.drop(1)
    .map(i => topology.linkCost(i) * cost.bandwidth(plan, topology.lambda(i))).sum

  /** Section 7: slices are aggregated at the receptors, merged across space on their way, and combined at the root. */
  def partialPushDown: HierarchyChoice = evaluate(Vector.fill(topology.size)(PushDown.Partial))

  /** What a choice costs; `sends` of the root is ignored. */
  def evaluate(sends: Vector[PushDown]): HierarchyChoice = {
    val all = sends.updated(0, PushDown.Full)
    require(all.size == topology.size, "something to send for every node")
    topology.parents.indices.drop(1).foreach { i =>
      require(order(all(i)) <= order(all(topology.parents(i))), s"node $i sends what its parent cannot take back")
    }
    val links = topology.parents.indices.drop(1).map(i => topology.linkCost(i) * sent(i, all(i)))
    HierarchyChoice(all, links.sum)
  }

  /** The cheapest choice, exactly: by subtree, for each kind that may be sent at most; of equals the later kind. */
  def search: HierarchyChoice = {
    // best(i)(k): the subtree of i, its own link included, if it may send kinds up to k; choice(i)(k): what it sends.
    val best = Array.ofDim[Double](topology.size, kinds.size)
    val choice = Array.ofDim[Int](topology.size, kinds.size)
    topology.parents.indices.reverse.foreach { i =>
      kinds.indices.foreach { k =>
        val below = topology.children(i).iterator.map(best(_)(k)).sum
        val own = if (i == 0) below else below + topology.linkCost(i) * sent(i, kinds(k))
        val earlier = if (k == 0) Double.PositiveInfinity else best(i)(k - 1)
        best(i)(k) = math.min(own, earlier)
        choice(i)(k) = if (own <= earlier) k else choice(i)(k - 1)
      }
    }
    val sends = Array.fill(topology.size)(kinds.size - 1)
    topology.parents.indices.drop(1).foreach(i => sends(i) = choice(i)(sends(topology.parents(i))))
    evaluate(sends.iterator.map(kinds).toVector)
  }

  /**
   * Aggregate operations per tick at each node: rows accumulated into slices, slices and results of the children merged,
   * and slices combined into windows, `beta Sum r_i/s_i`, where slices become results.
   */
  def operations(choice: HierarchyChoice): Vector[Double] = topology.parents.indices.map { i =>
    val (results, others) = topology.children(i).partition(choice.sends(_) == PushDown.Full)
    val (slices, raw) = others.partition(choice.sends(_) == PushDown.Partial)
    val rows = topology.sources(i) + raw.map(topology.lambda).sum
    val received = rows + slices.map(sent(_, PushDown.Partial)).sum
    val merged = results.map(sent(_, PushDown.Full)).sum
    choice.sends(i) match {
      case PushDown.None => 0.0
      case PushDown.Partial => received
      case PushDown.Full =>
        val sliced = rows + slices.map(topology.lambda).sum
        val windows = cost.windows.iterator.map(w => w.range.toDouble / w.slide).sum
        val combined = if (sliced > 0) cost.slices(sliced, shared = true) * windows else 0.0
        received + combined + merged
    }
  }.toVector

  private def order(kind: PushDown): Int = kinds.indexOf(kind)
}
