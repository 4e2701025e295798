package io.phantoms.spark.search.trees

import java.util

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.lab.trees.SampleStatistics
import io.phantoms.spark.model.Workloads

/**
 * Seeded flow records under the 22 predefined NetFlow Collector reports: what the patent measured on a router's trace of
 * 1.7 million records, which is not public any more.
 */
object NetflowTrees {
  val Reports: IndexedSeq[BitSet] = Workloads.nfc22.groupings
  private val Attributes = Workloads.nfc22.attributes.size

  /** Flows of recurring conversations, by attribute in the order of `Workloads.nfc22`. */
  def flows(rows: Int, seed: Long, conversations: Int): IndexedSeq[Array[Long]] = {
    val random = new Random(seed)
    val conversation = Array.fill(conversations) {
      val (src, dst) = (skewed(random, 40000), skewed(random, 60000))
      val (input, output) = (src % 5, dst % 5)
      val dstPort = skewed(random, 3000)
      val protocol = if (dstPort % 7 == 0) 17L else 6L
      val srcPort = if (random.nextInt(4) == 0) 1024 + skewed(random, 60000) else skewed(random, 3000)
      val tos = skewed(random, 16)
      Array(
        src,
        dst,
        srcPort,
        dstPort,
        protocol,
        tos,
        input,
        output,
        src % 5000,
        dst % 6000,
        src / 2,
        dst / 2,
        output * 2
      )
    }
    val picked = Array.fill(rows)(skewed(random, conversations).toInt)
    IndexedSeq.tabulate(Attributes)(a => picked.map(conversation(_)(a)))
  }

  // Small values are frequent.
  private def skewed(random: Random, n: Int): Long = {
    val u = random.nextDouble()
    (n * u * u).toLong
  }

  /** A uniform sample of the records. */
  def sample(flows: IndexedSeq[Array[Long]], size: Int, seed: Long): SampleStatistics = {
    val rows = flows.head.length
    val random = new Random(seed)
    val picked = random.shuffle((0 until rows).toVector).take(size).toArray
    new SampleStatistics(rows.toDouble, flows.map(column => picked.map(column(_))))
  }

  def exact(flows: IndexedSeq[Array[Long]]): SampleStatistics =
    new SampleStatistics(flows.head.length.toDouble, flows)

  /** Each report once as it is, and once for a range of one of its attributes. */
  def filtered(flows: IndexedSeq[Array[Long]], seed: Long): Vector[AggregateQuery] = {
    val random = new Random(seed)
    Reports.toVector.flatMap { keys =>
      val attribute = keys.toVector(random.nextInt(keys.size))
      val sorted = flows(attribute).sorted
      val from = random.nextInt(sorted.length / 2)
      val until = from + sorted.length / (4 + random.nextInt(8))
      Seq(AggregateQuery(keys), AggregateQuery(keys, Filter.range((attribute, sorted(from), sorted(until)))))
    }
  }

  /** The cost of a tree chosen by estimates when the sizes are those of all records. */
  def costOf(tree: AggregateTree, problem: TreeProblem): Double = {
    val space = new AggregateSpace(problem)
    space.tree(Reference.of(space, tree)).cost
  }

  private final class Group(val values: Array[Long]) {
    override val hashCode: Int = util.Arrays.hashCode(values)
    override def equals(that: Any): Boolean = that match {
      case g: Group => util.Arrays.equals(values, g.values)
      case _ => false
    }
  }

  /** Seconds that computing a tree without filters takes with `java.util.HashMap`s. */
  def seconds(tree: AggregateTree, flows: IndexedSeq[Array[Long]]): Double = {
    val start = System.nanoTime()
    // By node: its groups by attribute, and how many records each has.
    val results = new Array[(IndexedSeq[Array[Long]], Array[Long])](tree.nodes.size)
    results(0) = (flows, Array.fill(flows.head.length)(1L))
    for (i <- 1 until tree.nodes.size) {
      val keys = tree.nodes(i).keys.get.toArray
      val (columns, counts) = results(tree.nodes(i).parent)
      val inputs = keys.map(columns(_))
      val groups = new util.HashMap[Group, Array[Long]]
      for (row <- counts.indices) {
        val group = new Group(inputs.map(_(row)))
        val known = groups.get(group)
        if (known == null) { val _ = groups.put(group, Array(counts(row))) }
        else known(0) += counts(row)
      }
      val outputs = Array.fill(keys.length)(new Array[Long](groups.size))
      val sums = new Array[Long](groups.size)
      var at = 0
      groups.forEach { (g, n) =>
        for (k <- keys.indices) outputs(k)(at) = g.values(k)
        sums(at) = n(0)
        at += 1
      }
      results(i) = (Array.tabulate(Attributes)(a => outputs.lift(keys.indexOf(a)).orNull).toIndexedSeq, sums)
    }
    (System.nanoTime() - start) / 1e9
  }
}
