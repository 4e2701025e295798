package io.phantoms.spark.search.trees

import scala.collection.mutable

/**
 * The greedy heuristic (aggregate trees, Fig 4 and section 4.2.1): from the tree in which the stream computes every query,
 * applies the local modification that saves most, as long as one saves anything.
 *
 * Which merge saves most is found without trying all pairs of siblings again in every iteration: what a merge saves does
 * not change while both stay under their parent (unless their union enters the tree, and then each of them can be moved
 * below it), and without filters it is bounded before the size of the union is known, since a union has no fewer groups
 * than its parts.
 *
 * @param breadth of how many single modifications also the pairs with a second one are considered, the most promising
 *   first; 0: single modifications only
 * @param epsilon least saving worth an iteration, as a part of the cost of the tree
 */
final class GreedyTrees(breadth: Int = GreedyTrees.Breadth, epsilon: Double = 1e-9) {
  import GreedyTrees._

  def choose(problem: TreeProblem): AggregateTree = choose(new AggregateSpace(problem))

  private[spark] def choose(space: AggregateSpace): AggregateTree = new Search(space).run()

  private final class Search(space: AggregateSpace) {
    private val tree = new WorkingTree(space)
    private val merges = mutable.PriorityQueue.empty[Merge](
      Ordering.by((m: Merge) => (m.gain, -math.min(m.a, m.b), -math.max(m.a, m.b), -m.variant.id))
    )
    private val suppressing = !space.unfiltered
    private val variants = if (suppressing) Variant.all else Vector(Variant.Plain)

    def run(): AggregateTree = {
      val first = space.queries
      for (i <- first.indices; j <- i + 1 until first.size) propose(first(i), first(j))
      var improving = true
      while (improving) {
        val worth = math.max(epsilon * tree.totalCost, Double.MinPositiveValue)
        val best = step().filter(_.map(_.gain).sum > worth)
        improving = best.nonEmpty
        best.getOrElse(Nil).foreach(carryOut)
      }
      tree.result
    }

    // One modification or a pair of them.
    private def step(): Option[List[Modification]] = {
      val firsts = (bestMerges(math.max(1, breadth)) ++ tree.intermediate.flatMap(changes)).sortBy(-_.gain)
      val pairs =
        if (breadth == 0) Nil
        else firsts.take(breadth).flatMap(first => second(first).map(s => List(first, s)))
      (firsts.headOption.map(List(_)) ++ pairs).maxByOption(_.map(_.gain).sum)
    }

    private def carryOut(m: Modification): Unit = {
      val siblingsBefore = m.moved.map(_._2).distinct
      tree(m)
      // Pairs that became siblings. Those that no longer are fall out when they come first.
      val moved = m.moved.map(_._1).toSet
      for (p <- siblingsBefore; a <- tree.children(p) if moved(a); b <- tree.children(p))
        if (a != b && !(moved(b) && b < a)) propose(a, b)
    }

    private def propose(a: Int, b: Int): Unit = {
      val p = tree.parent(a)
      variants.foreach { v =>
        val most = if (space.unfiltered) bound(a, b, p) else space.cost(p, a) + space.cost(p, b)
        if (most > 0 || breadth > 0) merges += Merge(a, b, p, v, most, exact = false)
      }
    }

    // Without filters. A union that is in the tree adds no node: those moved below it are computed from fewer tuples.
    // Otherwise merging pays only if the union is smaller than the limit of the benefit test, in hash costs.
    private def bound(a: Int, b: Int, p: Int): Double = {
      val (ha, hb) = (space.hash(a), space.hash(b))
      space.knownUnion(a, b).filter(tree.contains) match {
        case Some(c) => (space.size(p) - space.size(c)) * ((if (a == c) 0.0 else ha) + (if (b == c) 0.0 else hb))
        case None =>
          val union = space.problem.costs.hash(space.unionWidth(a, b))
          (BenefitTest.limit(space.size(p), ha + hb, union) - math.max(space.size(a), space.size(b))) * (ha + hb)
      }
    }

    private def bestMerges(count: Int): Vector[Modification] = {
      val found = mutable.ArrayBuffer.empty[(Merge, Modification)]
      while (found.size < count && merges.nonEmpty) {
        val m = merges.dequeue()
        if (current(m)) modification(m).foreach { made =>
          if (m.exact && m.gain == made.gain) found += ((m, made))
          else if (made.gain > 0 || breadth > 0) merges += m.copy(gain = made.gain, exact = true)
        }
      }
      merges ++= found.map(_._1)
      found.map(_._2).toVector
    }

    private def current(m: Merge): Boolean =
      tree.contains(m.a) && tree.contains(m.b) && tree.parent(m.a) == m.parent && tree.parent(m.b) == m.parent

    private def modification(m: Merge): Option[Modification] =
      merged(m.a, m.b, m.variant).flatMap(tree.merge(m.a, m.b, _))

    private def merged(a: Int, b: Int, variant: Variant): Option[Int] = {
      val union = space.union(a, b)
      val p = tree.parent(a)
      variant match {
        case Variant.Plain => Some(union)
        case Variant.FiltersOnly => Some(space.mixed(p, union)).filter(_ != union)
        case Variant.AggregatesOnly => Some(space.mixed(union, p)).filter(_ != union)
      }
    }

    private def changes(v: Int): List[Modification] = {
      val suppressions = if (suppressing) tree.suppressAggregation(v).toList ++ tree.suppressFilter(v) else Nil
      tree.delete(v).toList ++ suppressions
    }

    // The best second modification next to the first. Elsewhere the gains of two just add up: then the better one alone is
    // among the single modifications, and the other follows in the next iteration.
    private def second(first: Modification): Option[Modification] = {
      val undo = tree(first)
      val touched = (first.moved.flatMap { case (n, p) => List(n, p) } ++ undo.moved.map(_._2))
        .filter(n => n != space.root && tree.contains(n)).distinct
      val intermediate = touched.filterNot(space.isQuery).flatMap(changes)
      val pairs = for {
        a <- touched
        b <- tree.children(tree.parent(a))
        if a != b
        v <- variants
        c <- merged(a, b, v)
        m <- tree.merge(a, b, c)
      } yield m
      tree(undo)
      (intermediate ++ pairs).maxByOption(_.gain)
    }
  }
}

object GreedyTrees {

  /** Single modifications that are tried with a second one by default. */
  val Breadth: Int = 16

  /** What the node that two siblings merge into does: the union as it is, or modification 3 or 4 carried out at once. */
  private sealed abstract class Variant(val id: Int)

  private object Variant {
    case object Plain extends Variant(0)
    case object FiltersOnly extends Variant(1)
    case object AggregatesOnly extends Variant(2)
    val all: Vector[Variant] = Vector(Plain, FiltersOnly, AggregatesOnly)
  }

  /**
   * A merge of two siblings.
   *
   * @param gain what it saves, or a bound of that until it is `exact`
   */
  private final case class Merge(a: Int, b: Int, parent: Int, variant: Variant, gain: Double, exact: Boolean)
}
