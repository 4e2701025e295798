package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.lab.trees.{Predicate, SampleStatistics}

/** Seeded random inputs of the suites. */
object RandomTrees {

  /** Values of an attribute are 0 until this. */
  val Values: Int = 24

  def condition(random: Random, attribute: Int): RangeCondition = {
    val low = random.nextInt(Values).toLong
    RangeCondition(attribute, low, math.min(Values - 1L, low + random.nextInt(Values)))
  }

  def box(random: Random, attributes: Seq[Int]): Box =
    Box(random.shuffle(attributes).take(random.nextInt(3)).sorted.map(condition(random, _)).toVector)

  def filter(random: Random, attributes: Seq[Int], maxBoxes: Int): Filter =
    Filter(Vector.fill(1 + random.nextInt(maxBoxes))(box(random, attributes)))

  def predicate(random: Random, attributes: Int, depth: Int): Predicate =
    if (depth == 0 || random.nextInt(4) == 0) Predicate.In(condition(random, random.nextInt(attributes)))
    else {
      val parts = Vector.fill(random.nextInt(4))(predicate(random, attributes, depth - 1))
      if (random.nextBoolean()) Predicate.And(parts) else Predicate.Or(parts)
    }

  /** A tuple now and then has a NULL. */
  def tuple(random: Random, attributes: Int): Array[Long] =
    Array.fill(attributes)(if (random.nextInt(20) == 0) RangeCondition.Null else random.nextInt(Values).toLong)

  /** Tuples by attribute; some attributes skewed, some depending on the one before. */
  def columns(random: Random, attributes: Int, rows: Int): IndexedSeq[Array[Long]] = {
    val found = new Array[Array[Long]](attributes)
    for (a <- 0 until attributes) {
      val domain = 1 + random.nextInt(Values)
      val skew = 1 + random.nextInt(3)
      val dependent = a > 0 && random.nextInt(3) == 0
      found(a) = Array.tabulate(rows) { i =>
        if (dependent) found(a - 1)(i) % domain
        else math.min(domain - 1L, (domain * math.pow(random.nextDouble(), skew.toDouble)).toLong)
      }
    }
    found.toVector
  }

  def keys(random: Random, attributes: Int): BitSet =
    BitSet.fromSpecific(random.shuffle((0 until attributes).toList).take(random.nextInt(attributes + 1)))

  /** Queries without filters; statistics as exact as the data. */
  def unfiltered(random: Random, attributes: Int, queries: Int, rows: Int = 400): TreeProblem =
    TreeProblem(
      attributes,
      Vector.fill(queries)(AggregateQuery(keys(random, attributes))),
      new SampleStatistics(rows.toDouble, columns(random, attributes, rows)),
      costs(random)
    )

  /** Queries with filters of one or more boxes, mostly on grouping attributes; the data, and statistics as exact. */
  def filtered(
      random: Random,
      attributes: Int,
      queries: Int,
      rows: Int = 400,
      maxBoxes: Int = 2
  ): (TreeProblem, IndexedSeq[Array[Long]]) = {
    val data = columns(random, attributes, rows)
    val asked = Vector.fill(queries) {
      val grouping = keys(random, attributes)
      val named = if (random.nextInt(6) == 0) 0 until attributes else grouping.toSeq
      AggregateQuery(grouping, if (random.nextInt(4) == 0) Filter.All else filter(random, named, maxBoxes))
    }
    (TreeProblem(attributes, asked, new SampleStatistics(rows.toDouble, data), costs(random)), data)
  }

  private def costs(random: Random): TreeCosts =
    random.nextInt(3) match {
      case 0 => TreeCosts()
      case 1 => TreeCosts(hashPerAttribute = 10, hashFixed = 0, rangeCheck = 4)
      case _ => TreeCosts(hashPerAttribute = 5, hashFixed = 5, rangeCheck = 30)
    }

  /** Every set of attributes, and the stream. */
  def everyGrouping(space: AggregateSpace): Set[Int] =
    (0 until (1 << space.problem.attributes)).map { m =>
      space.node(TreeNode(Some(BitSet.fromBitMask(Array(m.toLong))), Filter.All, Vector.empty, 0, None, 0.0))
    }.toSet + space.root

  /**
   * The queries, their unions, and what mixing the grouping of one and the filter of another gives, again and again up to
   * so many nodes.
   */
  def closure(space: AggregateSpace, atMost: Int): Set[Int] = {
    var nodes = space.queries.toSet + space.root
    var grown = true
    while (grown && nodes.size < atMost) {
      val more = for {
        a <- nodes.toVector.sorted; b <- nodes.toVector.sorted if a != b; c <- Seq(space.union(a, b), space.mixed(a, b))
      } yield c
      val next = nodes ++ more.distinct.filterNot(nodes).take(atMost - nodes.size)
      grown = next.size > nodes.size
      nodes = next
    }
    nodes
  }
}
