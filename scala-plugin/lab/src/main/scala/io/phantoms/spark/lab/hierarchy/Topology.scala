package io.phantoms.spark.lab.hierarchy

/**
 * A tree of stream processors of any depth: receptors at its leaves, servers between, the server that issued the queries
 * at the root (Shared hierarchical aggregation, section 7). A Spark job is one of two levels: map tasks below, the reduce
 * side above.
 *
 * @param parents for each node the one it sends to, -1 for the root, which is node 0; parents precede children
 * @param sources rows per tick that each node reads itself
 * @param linkCost what sending one tuple to its parent costs each node
 */
final case class Topology(parents: Vector[Int], sources: Vector[Double], linkCost: Vector[Double]) {
  require(parents.nonEmpty && parents.head == -1, "node 0 is the root")
  require(parents.indices.drop(1).forall(i => parents(i) >= 0 && parents(i) < i), "parents precede children")
  require(sources.size == size && linkCost.size == size, "a source and a link cost for every node")
  require(sources.forall(_ >= 0) && linkCost.forall(_ >= 0), "negative rates or costs")

  def size: Int = parents.size

  val children: Vector[Vector[Int]] = {
    val by = parents.indices.groupBy(parents(_))
    Vector.tabulate(size)(i => by.getOrElse(i, Vector.empty).toVector)
  }

  /** Rows per tick read at each node and below it. */
  val lambda: Vector[Double] = {
    val rates = sources.toArray
    parents.indices.reverse.init.foreach(i => rates(parents(i)) += rates(i))
    rates.toVector
  }

  /** Levels below the root of each node. */
  val depth: Vector[Int] =
    parents.indices.foldLeft(Vector.empty[Int])((d, i) => d :+ (if (i == 0) 0 else d(parents(i)) + 1))
}

object Topology {

  /**
   * Every node of a level has the same number of children; the lowest level reads.
   *
   * @param fanOuts children of a node at each level, from the root down
   * @param lambda rows per tick of each leaf
   */
  def balanced(fanOuts: Seq[Int], lambda: Double): Topology = {
    require(fanOuts.forall(_ > 0), s"fan-outs $fanOuts")
    val (parents, leaves) = fanOuts.foldLeft((Vector(-1), Vector(0))) { case ((all, level), fanOut) =>
      val next = level.flatMap(p => Vector.fill(fanOut)(p))
      (all ++ next, next.indices.map(all.size + _).toVector)
    }
    val reads = leaves.toSet
    Topology(parents, parents.indices.map(i => if (reads(i)) lambda else 0.0).toVector, parents.map(_ => 1.0))
  }
}
