package io.phantoms.spark.model

import scala.collection.immutable.BitSet

/** What is known of the input. Sets of attributes are ordinals into [[Problem.attributes]]. */
trait Statistics {

  /** Rows of the input (the paper's n_e for one epoch: the whole batch). */
  def rows: Double

  /** Groups of a relation, the paper's g_R: between 1 and [[rows]]; 1 for the empty set. */
  def groups(keys: BitSet): Double

  /** Effective flow length l_a of a relation (SMAP eq. 15): rows per run of one group in a bucket, at least 1. */
  def flowLength(keys: BitSet): Double

  /**
   * Effective flow length of what other tables pass on (SMAP section 5.3): the average measured at this depth of the
   * feeding tree, 2 for relations fed by a raw one. None: not known, taken as groups mixed at random.
   */
  def flowLengthAtDepth(depth: Int): Option[Double] = None

  /** Ticks from the first row's time to the last one's, for queries over windows. */
  def span: Long = 1L

  /** How many rows satisfy just which predicates; counted as shares of all rows. Nil: there are no predicates. */
  def signatures: Seq[(BitSet, Long)] = Nil

  /** The part of the rows that have this bit in this attribute, a signature; None: not known. */
  def share(attribute: Int, bit: Int): Option[Double] = None

  /**
   * Changes whenever numbers may differ although those of all queries and single attributes agree; only together with
   * them does it say that nothing changed.
   */
  def revision: Long = 0L

  /** The input, where these are numbers that its executions change: its plans change for a clear gain only. */
  def subject: Option[String] = None
}

/**
 * Machine constants, in nanoseconds unless said otherwise.
 *
 * @param c1 one probe of an LFTA table (SMAP)
 * @param c2 shipping one evicted entry across the shuffle and receiving it, for an entry of 32 bytes
 * @param c2PerByte what each byte beyond 32 adds to c2
 * @param merge merging one received or derived entry into a complete (after the shuffle) table
 * @param emit writing one result row
 * @param plainRow what plain Spark pays for one input row of one query (scan share, projection, hash probe)
 * @param plainGroup what plain Spark pays for one group leaving a partial aggregation (shuffle, final merge)
 * @param scanRow reading one input row once
 * @param fixed one more stage or task wave that sharing adds, per job
 * @param parallelism tasks that run at once
 * @param partitions map tasks the input is read by: each has tables of its own
 */
final case class Machine(
    c1: Double = 10,
    c2: Double = 150,
    c2PerByte: Double = 1.5,
    merge: Double = 60,
    emit: Double = 100,
    plainRow: Double = 90,
    plainGroup: Double = 1500,
    scanRow: Double = 10,
    fixed: Double = 20e6,
    parallelism: Int = 2,
    partitions: Int = 2
)

/**
 * One choice to make: which relations to maintain for these queries.
 *
 * @param attributes the distinct grouping attributes of the workload
 * @param queries several may share one grouping
 * @param bufferBits width of all aggregate buffers of one entry, in bits, but for sketches
 * @param memory bytes for all LFTA tables of one map task (SMAP's M)
 * @param maxShards most reduce partitions a relation may be spread over
 * @param secondTier whether relations may be placed in the second tier, see [[Placement.SecondTier]]
 * @param rowWork nanoseconds to compute keys and inputs of one row, once for all queries
 * @param plainRowWork the same without sharing, over all queries
 * @param sketches of all queries together, no part of [[bufferBits]]: relations that feed no query with some do not hold them
 * @param plainShuffles shuffles that plain Spark makes, each of which a stage writes
 */
final case class Problem(
    attributes: IndexedSeq[KeyAttribute],
    queries: IndexedSeq[Query],
    bufferBits: Int,
    statistics: Statistics,
    machine: Machine,
    memory: Long,
    maxShards: Int,
    secondTier: Boolean = true,
    rowWork: Double = 0.0,
    plainRowWork: Double = 0.0,
    sketches: Sketches = Sketches.None,
    plainShuffles: Int = 1
) {
  require(queries.forall(_.keys.forall(a => a >= 0 && a < attributes.size)), "a query names an unknown attribute")

  /** Whether a query's keys hold all that it asks for: a slice for windows, a signature for a predicate. */
  def isKeyed(query: Query): Boolean = {
    def has(kind: KeyKind) = query.keys.exists(attributes(_).kind == kind)
    (query.window.isEmpty || has(KeyKind.Slice)) && (query.predicate.isEmpty || has(KeyKind.Signature))
  }

  /** The part of the rows that a query wants. */
  def selectivity(query: Query): Double = query.predicate.fold(
    query.fragment.flatMap { case (attribute, bit) => statistics.share(attribute, bit) }.getOrElse(1.0)
  ) { p =>
    val all = statistics.signatures.iterator.map(_._2).sum
    if (all == 0) 1.0 else statistics.signatures.iterator.collect { case (b, n) if b(p) => n }.sum.toDouble / all
  }

  /** In how many places of a plan results are read, each of which merges them for itself. */
  val consumers: Int = queries.iterator.map(_.consumer).distinct.size

  /** The grouping of each query. */
  val groupings: IndexedSeq[BitSet] = queries.map(_.keys)

  /**
   * Attributes whose hash may deal groups to reduce tasks: with neither slices nor signatures among them, all of these of
   * one group are in one task.
   */
  val dealing: BitSet = BitSet.fromSpecific(attributes.indices.filter(attributes(_).kind == KeyKind.Grouping))

  /** Bytes of one table entry: packed key words, buffers and one word of flags (SMAP's h). */
  def entryBytes(keys: BitSet): Int = {
    def words(bits: Int): Int = (bits + 63) / 64
    8 * (1 + words(keys.iterator.map(attributes(_).bits).sum) + words(bufferBits) + sketchesOf(keys).words)
  }

  /** Whether entries of a relation hold sketches: all of them where it may feed a query that has some, else none. */
  def hasSketches(keys: BitSet): Boolean =
    !sketches.isEmpty && queries.exists(q => !q.sketches.isEmpty && q.keys.subsetOf(keys))

  /** The sketches of one entry of a relation; its objects as those of a group of as many rows as there are on average. */
  def sketchesOf(keys: BitSet): Sketches =
    if (!hasSketches(keys)) Sketches.None
    else sketches.copy(objectWords = sketches.objectWordsOf(statistics.rows / math.max(1.0, statistics.groups(keys))))

  /** Bytes that one entry is shipped as: objects lie beside their table, and are written behind their entry. */
  def shippedBytes(keys: BitSet): Int = {
    val objects = sketchesOf(keys)
    entryBytes(keys) + 8 * objects.objectWords + Problem.ObjectBytes * objects.objects
  }
}

object Problem {

  /** What writing an object takes beside its words, as bytes. */
  private val ObjectBytes = 256
}

/** Where a relation of a configuration is maintained and how its content reaches the consumer. */
sealed trait Placement

object Placement {

  /** An LFTA table whose evictions only feed children: a phantom of the map side. */
  case object Feeds extends Placement

  /**
   * An LFTA relation whose evictions (also) cross the shuffle.
   *
   * @param shardKey attributes whose hash picks the reduce partition; a subset of the relation's keys and of the keys
   *   of every relation derived from it. Empty: one partition holds the whole relation.
   * @param shards how many reduce partitions the relation is spread over
   */
  final case class Shipped(shardKey: BitSet, shards: Int) extends Placement

  /** Derived after the shuffle, in the task that merged its parent (Shipped, SecondTier or itself Derived). */
  case object Derived extends Placement

  /**
   * Fed after the first shuffle: from the complete groups of its parent, or the partial ones of a parent that is itself
   * in the second tier, in the reduce tasks of the first. What each of them has of it is shipped once more and merged in
   * a second reduce stage.
   *
   * @param shardKey as of [[Shipped]], for the second shuffle
   * @param shards how many reduce partitions of the second shuffle the relation is spread over
   */
  final case class SecondTier(shardKey: BitSet, shards: Int) extends Placement
}

/**
 * One relation of a configuration.
 *
 * @param keys its grouping
 * @param queries the queries (ordinals into [[Problem.queries]]) it answers; none: a phantom
 * @param parent ordinal of the relation that feeds it, or -1 when the raw input does
 * @param buckets LFTA table size, a power of two; 0: no table (each fed entry passes straight through), always 0 when
 *   it is not maintained in the map tasks
 */
final case class Relation(keys: BitSet, queries: Vector[Int], parent: Int, buckets: Int, placement: Placement) {
  def isPhantom: Boolean = queries.isEmpty
  def isDerived: Boolean = placement == Placement.Derived
  def isSecondTier: Boolean = placement.isInstanceOf[Placement.SecondTier]

  /** Whether it is an LFTA relation. */
  def isMapSide: Boolean = !isDerived && !isSecondTier
}

/**
 * The relations maintained, parents before children.
 *
 * An invariant of every configuration: each query is answered by exactly one relation, and that relation is
 * [[Placement.Shipped]], [[Placement.SecondTier]] or [[Placement.Derived]] from one of these.
 */
final case class Configuration(relations: Vector[Relation]) {
  {
    // By relation: the one that it is derived from in the end, which says by which key groups are dealt to tasks.
    val dealtBy = new Array[Int](relations.size)
    var i = 0
    while (i < relations.size) {
      check(i)
      dealtBy(i) = if (relations(i).isDerived) dealtBy(relations(i).parent) else i
      if (dealtBy(i) < i) requireShardKey(dealtBy(i), i)
      i += 1
    }
  }

  private def check(i: Int): Unit = {
    val r = relations(i)
    require(r.parent >= -1 && r.parent < i, s"relation $i: its parent must precede it")
    if (r.parent >= 0) {
      val p = relations(r.parent)
      require(r.keys.subsetOf(p.keys), s"relation $i: not coarser than its parent")
      if (r.isMapSide) require(p.isMapSide, s"relation $i: an LFTA relation under a derived one")
      else require(p.placement != Placement.Feeds, s"relation $i: derived from a map-side phantom")
      if (r.isSecondTier) require(!p.isDerived || !inSecondTier(r.parent), s"relation $i: in a third tier")
    } else require(r.isMapSide, s"relation $i: derived from nothing")
    r.placement match {
      case Placement.Shipped(key, shards) => requireShards(i, key, shards)
      case Placement.SecondTier(key, shards) => requireShards(i, key, shards)
      case _ => require(r.isDerived || !r.queries.nonEmpty, s"relation $i: a query that only feeds")
    }
    require(r.buckets == 0 || (Integer.bitCount(r.buckets) == 1 && r.isMapSide), s"relation $i: bad bucket count")
  }

  private def requireShards(i: Int, key: BitSet, shards: Int): Unit = {
    require(shards >= 1 && key.subsetOf(relations(i).keys), s"relation $i: shard key outside its keys")
    require(shards == 1 || key.nonEmpty, s"relation $i: several shards need a shard key")
  }

  private def requireShardKey(i: Int, derived: Int): Unit = {
    val key = relations(i).placement match {
      case Placement.Shipped(key, _) => key
      case Placement.SecondTier(key, _) => key
      case _ => BitSet.empty
    }
    require(key.subsetOf(relations(derived).keys), s"relation $i: shard key splits a child")
  }

  private lazy val childrenOf: Vector[Vector[Int]] = {
    val found = Vector.fill(relations.size)(Vector.newBuilder[Int])
    relations.indices.foreach(i => if (relations.isDefinedAt(relations(i).parent)) found(relations(i).parent) += i)
    found.map(_.result())
  }

  def children(parent: Int): Vector[Int] = childrenOf(parent)

  /** The same; what it makes when first asked has been made, so that it can be weighed. */
  private[spark] def complete: Configuration = {
    val _ = childrenOf
    this
  }

  /** Whether relation `i` is complete in the second reduce stage only. */
  def inSecondTier(i: Int): Boolean =
    relations(i).isSecondTier || (relations(i).isDerived && inSecondTier(relations(i).parent))

  /** Whether relations of the second tier are fed from relation `i`, or from what is derived from it in the first. */
  def feedsSecondTier(i: Int): Boolean = !relations(i).isSecondTier && children(i).exists(c =>
    relations(c).isSecondTier || (relations(c).isDerived && feedsSecondTier(c))
  )

  /** The shipped relation of the first tier in whose reduce tasks a relation of the second is fed. */
  def tierSource(i: Int): Int =
    if (relations(i).isMapSide) i else tierSource(relations(i).parent)

  def hasSecondTier: Boolean = relations.exists(_.isSecondTier)

  /** All relations derived, directly or not, from relation `i` in the tasks that merge it. */
  def derivedBelow(i: Int): Vector[Int] =
    children(i).filter(relations(_).isDerived).flatMap(c => c +: derivedBelow(c))
}

/**
 * What the chooser says: a configuration, or that doing nothing is best.
 *
 * @param configuration None: NoSharing
 * @param cost expected cost of the answer in nanoseconds of elapsed time (of NoSharing when nothing is shared)
 * @param costWithout expected cost of NoSharing
 * @param algorithm the algorithm that found it
 * @param runnerUp the best of the other answers it looked at
 */
final case class Choice(
    configuration: Option[Configuration],
    cost: Double,
    costWithout: Double,
    algorithm: String,
    runnerUp: Option[RunnerUp] = None
) {

  /** By which part of its own cost the choice is ahead of the runner-up; negative: behind, but not by enough. */
  def margin: Option[Double] = runnerUp.map(_.cost / cost - 1)

  /** Fraction of NoSharing's cost that the choice saves; 0 when nothing is shared. */
  def savings: Double = if (costWithout <= 0) 0.0 else 1.0 - cost / costWithout
}

/**
 * An answer that was not taken. Remembered with the choice: it holds what a description takes and nothing else.
 *
 * @param name what kind of answer
 * @param cost what it was expected to cost, in nanoseconds of elapsed time
 * @param shares what it would have maintained, if it shares at all and that is worth saying
 */
final case class RunnerUp(name: String, cost: Double, shares: Option[RunnerUp.Shares] = None) {

  /** Written out when asked for: that takes as long as a tenth of the choice. */
  def description: String =
    shares.fold(name)(s => s"$name ${new Notation(s.attributes).render(s.configuration)}")
}

object RunnerUp {
  final case class Shares(attributes: IndexedSeq[KeyAttribute], configuration: Configuration)

  def apply(name: String, cost: Double, problem: Problem, configuration: Configuration): RunnerUp =
    RunnerUp(name, cost, Some(Shares(problem.attributes, configuration)))
}
