package io.phantoms.spark.stats.sampled

import scala.collection.immutable.BitSet

import io.phantoms.spark.conf.PlanningMemory
import io.phantoms.spark.estimate.{DistinctEstimators, FrequencyProfile, HashCounts}

import org.apache.spark.sql.catalyst.expressions.{Literal, XxHash64}

/**
 * What one partition gave to a sample.
 *
 * @param hashes one 64-bit hash per key of every kept row that passes the filters, row after row
 * @param contiguous how many of the kept rows, from the first on, followed each other in the input
 * @param rejected the same hashes for some rows that did not pass the filters
 * @param passed rows that were read and passed the filters
 * @param read rows that were read
 * @param exhausted the partition had no further row
 * @param bytes what the reader says it read, 0 if it does not
 */
final case class PartitionSample(
    hashes: Array[Long],
    contiguous: Int,
    rejected: Array[Long],
    passed: Long,
    read: Long,
    exhausted: Boolean,
    bytes: Long
) {

  /**
   * All of it as plain numbers. Task results go through the serializer of the user's choice, which may know no class that
   * was not registered with it (`spark.kryo.registrationRequired`).
   */
  def toLongs: Array[Long] =
    Array(contiguous.toLong, passed, read, if (exhausted) 1L else 0L, bytes, hashes.length.toLong) ++ hashes ++ rejected
}

object PartitionSample {
  private val Header = 6

  /** What [[PartitionSample.toLongs]] made. */
  def of(longs: Array[Long]): PartitionSample = {
    val (hashes, rejected) = longs.drop(Header).splitAt(longs(Header - 1).toInt)
    PartitionSample(hashes, longs(0).toInt, rejected, longs(1), longs(2), longs(3) == 1L, longs(4))
  }
}

/**
 * A bounded sample of an input, kept as one hash per row and key, so that the groups of any set of keys can be
 * estimated from it later. NULL is a value like any other.
 *
 * The rows of a partition are its first ones: one contiguous stretch, then short runs with gaps (see [[Sampler]]). What
 * is rare at the start of every partition is therefore under-represented; inputs sorted or partitioned by a key show
 * too few of its values. Estimates of such keys are corrected as far as the sample shows the clustering
 * ([[distinct]]), not beyond.
 *
 * @param keys the keys in canonical form, in the order of the hashes
 * @param partitions the partitions visited
 * @param partitionCount partitions the input is read by
 */
final class InputSample(
    val keys: IndexedSeq[String],
    val partitions: IndexedSeq[PartitionSample],
    val partitionCount: Int
) {
  private val width = keys.size

  val read: Long = partitions.map(_.read).sum
  val passed: Long = partitions.map(_.passed).sum

  /** True when every row of the input was read. */
  val complete: Boolean = partitions.size == partitionCount && partitions.forall(_.exhausted)

  /** Fraction of the rows read that passed the filters; None when too few did to say. */
  val selectivity: Option[Double] =
    if (read == 0) None
    else if (passed == read || complete || passed >= InputSample.EnoughRows) Some(passed.toDouble / read)
    else None

  /** Too few rows passed: the distribution of all rows is a better guess than that of a handful. */
  val useRejected: Boolean = passed < InputSample.EnoughRows && !complete
  private val chunks: IndexedSeq[Array[Long]] =
    (if (useRejected) partitions.map(p => p.hashes ++ p.rejected) else partitions.map(_.hashes)).filter(_.nonEmpty)
  private val chunkRows: IndexedSeq[Int] = chunks.map(c => if (width == 0) 0 else c.length / width)

  /** Rows kept. */
  val size: Int = chunkRows.sum

  private val ownBytes: Long = 200 + keys.iterator.map(24 + PlanningMemory.weigh(_)).sum +
    partitions.iterator.map(p => 120 + 8L * (p.hashes.length + p.rejected.length)).sum +
    (if (useRejected) chunks.iterator.map(24 + 8L * _.length).sum else 24L * chunks.size)

  /** Bytes held: hashes, and what was worked out from them so far. */
  def weight: Long = ownBytes + synchronized(profiles.size.toLong * InputSample.ProfileBytes + looked)

  def covers(wanted: Iterable[String]): Boolean = wanted.forall(keys.contains)

  // By columns and whether it was looked at precisely.
  private val profiles = scala.collection.mutable.HashMap.empty[(BitSet, Boolean), InputSample.Profiles]

  /**
   * Groups of a set of keys among `rows` rows.
   *
   * Where the order of rows says nothing about the keys the sample is as good as a random one and the hybrid of
   * AE and GEE takes it as it is. Where rows of one group lie near each other ([[flowLength]] is above 1) the rows of one partition
   * are no random sample: each partition then counts a group once (Chaudhuri, Das, Srivastava, SIGMOD 2004, COLLAPSE),
   * and GEE extrapolates from the stretch of input the sample spans.
   *
   * @param wanted keys in canonical form, all of them in [[keys]]
   * @param precise false: from some of the sampled rows only, at a tenth of the time
   */
  def distinct(wanted: Seq[String], rows: Double, precise: Boolean = true): Double = {
    val p = profilesOf(wanted, precise)
    if (size == 0) 1.0
    else if (complete && size == passed) math.max(1, p.rows.distinct).toDouble
    else {
      val estimate =
        if (p.flowLength < InputSample.Clustered || chunks.size < 2) DistinctEstimators.hybrid(p.rows, rows)
        else DistinctEstimators.gee(p.collapsed.copy(size = math.max(p.rows.size, spanned(p.rows.size))), rows)
      math.max(1.0, math.min(estimate, math.max(1.0, rows)))
    }
  }

  /**
   * The effective flow length l_a of a set of keys (SMAP section 5.2, eq. 15): how many more different groups as many
   * rows hold when they are picked from all over the sample than when they follow each other. 1 where rows come in
   * random order. Told from windows of 256 and of 4096 rows, whichever shows longer flows: flows that go on for longer
   * than that are longer than said here.
   */
  def flowLength(wanted: Seq[String], precise: Boolean = true): Double = profilesOf(wanted, precise).flowLength

  /** How many sampled rows satisfy just which of these keys, which are predicates. */
  def signatures(predicates: Seq[String]): Seq[(BitSet, Long)] = if (predicates.isEmpty) Nil
  else {
    val columns = predicates.map(keys.indexOf)
    require(!columns.contains(-1), "a predicate that was not sampled")
    val counts = scala.collection.mutable.HashMap.empty[BitSet, Long].withDefaultValue(0L)
    for (c <- chunks.indices; row <- 0 until chunkRows(c)) {
      val hashes = chunks(c)
      counts(BitSet.fromSpecific(columns.indices.filter(p =>
        hashes(row * width + columns(p)) == InputSample.True
      ))) += 1
    }
    counts.toSeq
  }

  /** The part of the rows that have each bit of a signature, which is kept as it is; None where there is no row. */
  def bits(signature: String): Option[IndexedSeq[Double]] = {
    val column = keys.indexOf(signature)
    Option.when(column >= 0 && size > 0)(synchronized(shares.getOrElseUpdate(column, sharesOf(column))))
  }

  private val shares = scala.collection.mutable.HashMap.empty[Int, IndexedSeq[Double]]

  private def sharesOf(column: Int): IndexedSeq[Double] = {
    val counts = new Array[Long](64)
    for (c <- chunks.indices; row <- 0 until chunkRows(c)) {
      var left = chunks(c)(row * width + column)
      while (left != 0) {
        counts(java.lang.Long.numberOfTrailingZeros(left)) += 1
        left &= left - 1
      }
    }
    counts.toIndexedSeq.map(_.toDouble / size)
  }

  private def profilesOf(wanted: Seq[String], precise: Boolean): InputSample.Profiles = synchronized {
    val ordinals = wanted.map(keys.indexOf)
    require(!ordinals.contains(-1), "a key that was not sampled")
    val columns = BitSet.fromSpecific(ordinals)
    profiles.get((columns, true)).orElse(profiles.get((columns, precise))).getOrElse {
      val made = compute(columns.toArray, precise)
      if (profiles.size < InputSample.MostProfiles) profiles.put((columns, precise), made)
      made
    }
  }

  /** Rows of input that a number of kept rows stand for where neighbours belong to the same groups. */
  private def spanned(rows: Int): Int =
    math.min(Int.MaxValue.toDouble, passed.toDouble * rows / math.max(1, size)).toInt

  private def compute(columns: Array[Int], precise: Boolean): InputSample.Profiles = {
    val at = if (precise) all else few
    val counts = new HashCounts(at.rows.size + chunks.size)
    val hashes = at.rows.of(columns)
    var i = 0
    at.ends.foreach { end =>
      while (i < end) { counts.add(hashes(i)); i += 1 }
      counts.nextChunk()
    }
    // Where no row resembles another there are no flows.
    val length =
      if (useRejected || counts.distinct == hashes.length) 1.0
      else at.windows.map(flow(columns, _)).max
    InputSample.Profiles(counts.profile(hashes.length), counts.collapsed(hashes.length), length)
  }

  private def flow(columns: Array[Int], windows: Windows): Double =
    if (windows.near.size == 0) 1.0
    else {
      def distinct(rows: Rows): Int = HashCounts.distinctByWindow(rows.of(columns), windows.width)
      math.max(1.0, distinct(windows.far).toDouble / math.max(1, distinct(windows.near)))
    }

  /** The rows that estimates look at, and those that are looked at in haste. */
  private lazy val all = held(new Looked(1, InputSample.Windows))
  private lazy val few =
    held(new Looked(math.max(1, size / InputSample.FewRows), InputSample.Windows.take(1), gathered = true))

  // Bytes of these.
  private var looked = 0L

  private def held(made: Looked): Looked = {
    looked += (made.rows +: made.windows.flatMap(w => Seq(w.near, w.far))).map(_.bytes).sum
    made
  }

  /** @param windows rows of a window, and how many windows are looked at */
  private final class Looked(stride: Int, of: Seq[(Int, Int)], gathered: Boolean = false) {
    private val each = chunkRows.map(n => (n + stride - 1) / stride)

    /** Every so many rows of each chunk. */
    val rows: Rows = {
      val (chunk, row) = (new Array[Int](each.sum), new Array[Int](each.sum))
      var at = 0
      for (c <- chunks.indices; i <- 0 until each(c)) { chunk(at) = c; row(at) = i * stride; at += 1 }
      new Rows(chunk, row, gathered)
    }

    /** Where each chunk ends among them. */
    val ends: IndexedSeq[Int] = each.scanLeft(0)(_ + _).drop(1)
    val windows: Seq[Windows] = of.map { case (width, most) => new Windows(width, most, gathered) }
  }

  /**
   * @param width rows of a window
   * @param most windows looked at
   */
  private final class Windows(val width: Int, most: Int, gathered: Boolean) {
    // First rows of the windows of consecutive rows that the sample has.
    private val firsts = {
      val contiguous = partitions.filter(_.hashes.nonEmpty).map(_.contiguous)
      contiguous.zipWithIndex.flatMap { case (n, chunk) => (0 until n / width).map(w => (chunk, w * width)) }
    }
    // A picked row of a flow must not be followed by the next picked row of the same flow.
    private val chosen = if (size < 4 * width) 0 else math.min(most, firsts.size)

    /** Windows of rows that follow each other, and as many rows picked from all over the sample. */
    val (near, far): (Rows, Rows) = {
      val n = chosen * width
      val (nearChunk, nearRow) = (new Array[Int](n), new Array[Int](n))
      val (farChunk, farRow) = (new Array[Int](n), new Array[Int](n))
      val begins = chunkRows.scanLeft(0)(_ + _)
      val stride = size.toDouble / width
      for (i <- 0 until chosen; j <- 0 until width) {
        val (chunk, first) = firsts((i.toLong * firsts.size / chosen).toInt)
        nearChunk(i * width + j) = chunk
        nearRow(i * width + j) = first + j
        val picked = (i * stride / chosen + j * stride).toInt
        val of = begins.lastIndexWhere(_ <= picked)
        farChunk(i * width + j) = of
        farRow(i * width + j) = picked - begins(of)
      }
      (new Rows(nearChunk, nearRow, gathered), new Rows(farChunk, farRow, gathered))
    }
  }

  /**
   * Some rows of the sample.
   *
   * @param gathered whether their hashes are copied, key by key: worth it where many sets of keys are asked for
   */
  private final class Rows(chunk: Array[Int], row: Array[Int], gathered: Boolean) {
    private val columns: Array[Array[Long]] = if (gathered) Array.tabulate(width)(column) else null

    def size: Int = row.length

    def bytes: Long = 8L * size * (if (gathered) 1 + width else 1)

    /** Their hashes by a set of keys: sums, since those of single keys are mixed well, each in a way of its own. */
    def of(keys: Array[Int]): Array[Long] = {
      val sums = new Array[Long](row.length)
      java.util.Arrays.fill(sums, InputSample.Golden)
      keys.foreach { key =>
        val hashes = if (gathered) columns(key) else column(key)
        var i = 0
        while (i < sums.length) { sums(i) += hashes(i); i += 1 }
      }
      sums
    }

    private def column(key: Int): Array[Long] = {
      val hashes = new Array[Long](row.length)
      var i = 0
      while (i < hashes.length) {
        hashes(i) = InputSample.mixed(chunks(chunk(i))(row(i) * width + key), key)
        i += 1
      }
      hashes
    }
  }
}

object InputSample {

  /** The hash of a predicate that holds. */
  private val True: Long = new XxHash64(Seq(Literal.TrueLiteral)).eval().asInstanceOf[Long]

  /** With fewer rows past the filters than this, neither their fraction nor their distribution is trusted. */
  val EnoughRows = 256

  /** Rows that an estimate in haste looks at, up to twice as many. */
  private val FewRows = 8192

  private val Golden = 0x9e3779b97f4a7c15L

  /** A hash of one key, so that sums of those of several neither cancel out nor depend on each other. */
  private def mixed(hash: Long, key: Int): Long = {
    // The finaliser of splitmix64.
    var h = (hash ^ (key + 1) * Golden) * 0xbf58476d1ce4e5b9L
    h = (h ^ (h >>> 29)) * 0x94d049bb133111ebL
    h ^ (h >>> 32)
  }

  /** Rows of a window in which flows are looked for, and how many windows are looked at. */
  private val Windows = Seq(256 -> 16, 4096 -> 4)

  /** Flow lengths from here on are taken as clustering, not as noise. */
  val Clustered = 1.2

  /** Sets of keys of which the result is remembered: twice a feeding graph's. */
  private val MostProfiles = 4096

  /** An entry of a map, its key, and two profiles of [[FrequencyProfile.MaxFrequency]] numbers. */
  private val ProfileBytes = 600

  private final case class Profiles(rows: FrequencyProfile, collapsed: FrequencyProfile, flowLength: Double)
}
