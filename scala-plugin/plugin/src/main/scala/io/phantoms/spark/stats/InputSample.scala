package io.phantoms.spark.stats

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
)

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

  /** Longs held, the sample's weight in a cache. */
  def weight: Long = partitions.iterator.map(p => p.hashes.length.toLong + p.rejected.length).sum + 16

  def covers(wanted: Iterable[String]): Boolean = wanted.forall(keys.contains)

  private val profiles = scala.collection.mutable.HashMap.empty[Set[Int], InputSample.Profiles]

  /**
   * Groups of a set of keys among `rows` rows.
   *
   * Where the order of rows says nothing about the keys the sample is as good as a random one and the hybrid of
   * AE and GEE takes it as it is. Where rows of one group lie near each other ([[flowLength]] is above 1) the rows of one partition
   * are no random sample: each partition then counts a group once (Chaudhuri, Das, Srivastava, SIGMOD 2004, COLLAPSE),
   * and GEE extrapolates from the stretch of input the sample spans.
   *
   * @param wanted keys in canonical form, all of them in [[keys]]
   */
  def distinct(wanted: Seq[String], rows: Double): Double = {
    val p = profilesOf(wanted)
    if (size == 0) 1.0
    else if (complete && size == passed) math.max(1, p.rows.distinct).toDouble
    else {
      val estimate =
        if (p.flowLength < InputSample.Clustered || chunks.size < 2) DistinctEstimators.hybrid(p.rows, rows)
        else DistinctEstimators.gee(p.collapsed.copy(size = math.min(passed, Int.MaxValue.toLong).toInt), rows)
      math.max(1.0, math.min(estimate, math.max(1.0, rows)))
    }
  }

  /**
   * The effective flow length l_a of a set of keys (SMAP section 5.2, eq. 15): how many more different groups as many
   * rows hold when they are picked from all over the sample than when they follow each other. 1 where rows come in
   * random order. Told from windows of 256 and of 4096 rows, whichever shows longer flows: flows that go on for longer
   * than that are longer than said here.
   */
  def flowLength(wanted: Seq[String]): Double = profilesOf(wanted).flowLength

  private def profilesOf(wanted: Seq[String]): InputSample.Profiles = synchronized {
    val columns = wanted.map(keys.indexOf).toSet
    require(!columns.contains(-1), "a key that was not sampled")
    profiles.getOrElseUpdate(columns, compute(columns.toArray.sorted))
  }

  private def compute(columns: Array[Int]): InputSample.Profiles = {
    val hashes = chunks.zip(chunkRows).map { case (c, n) => InputSample.combine(c, n, width, columns) }
    val all = new HashCounts(size)
    hashes.foreach(_.foreach(all.add))
    InputSample.Profiles(all.profile(size), collapse(hashes), flow(hashes))
  }

  /** Each partition counts each group once. */
  private def collapse(hashes: IndexedSeq[Array[Long]]): FrequencyProfile = {
    val counts = new HashCounts(size)
    hashes.foreach { chunk =>
      val sorted = chunk.clone()
      java.util.Arrays.sort(sorted)
      var i = 0
      while (i < sorted.length) {
        if (i == 0 || sorted(i) != sorted(i - 1)) counts.add(sorted(i))
        i += 1
      }
    }
    counts.profile(size)
  }

  private def flow(hashes: IndexedSeq[Array[Long]]): Double =
    if (useRejected || size == 0) 1.0
    else {
      val stretches = hashes.zip(partitions.filter(_.hashes.nonEmpty)).map { case (h, p) => (h, p.contiguous) }
      InputSample.Windows.map { case (width, most) => flow(hashes, stretches, width, most) }.max
    }

  /**
   * @param stretches hashes of each partition, and how many of them follow each other
   * @param width rows of a window
   * @param most windows looked at
   */
  private def flow(
      hashes: IndexedSeq[Array[Long]],
      stretches: IndexedSeq[(Array[Long], Int)],
      width: Int,
      most: Int
  ): Double = {
    val windows = stretches.flatMap { case (h, n) => (0 until n / width).map(w => h.slice(w * width, (w + 1) * width)) }
    // A picked row of a flow must not be followed by the next picked row of the same flow.
    if (windows.isEmpty || size < 4 * width) 1.0
    else {
      val chosen = math.min(most, windows.size)
      val near = (0 until chosen).map { i =>
        FrequencyProfile.of(windows((i.toLong * windows.size / chosen).toInt), width).distinct
      }.sum
      val stride = size.toDouble / width
      val far = (0 until chosen).map { i =>
        val start = i * stride / chosen
        FrequencyProfile.of(Array.tabulate(width)(j => rowAt(hashes, (start + j * stride).toLong)), width).distinct
      }.sum
      math.max(1.0, far.toDouble / math.max(1, near))
    }
  }

  private def rowAt(hashes: IndexedSeq[Array[Long]], row: Long): Long = {
    var chunk = 0
    var rest = row
    while (rest >= hashes(chunk).length) { rest -= hashes(chunk).length; chunk += 1 }
    hashes(chunk)(rest.toInt)
  }
}

object InputSample {

  /** With fewer rows past the filters than this, neither their fraction nor their distribution is trusted. */
  val EnoughRows = 256

  /** Rows of a window in which flows are looked for, and how many windows are looked at. */
  private val Windows = Seq(256 -> 32, 4096 -> 8)

  /** Flow lengths from here on are taken as clustering, not as noise. */
  val Clustered = 1.2

  private final case class Profiles(rows: FrequencyProfile, collapsed: FrequencyProfile, flowLength: Double)

  /** One hash per row for a set of keys. */
  private def combine(chunk: Array[Long], rows: Int, width: Int, columns: Array[Int]): Array[Long] = {
    val out = new Array[Long](rows)
    var row = 0
    while (row < rows) {
      var h = 0x9e3779b97f4a7c15L
      var c = 0
      while (c < columns.length) {
        // The finaliser of splitmix64, so that neither order nor equal columns cancel out.
        h = (h ^ chunk(row * width + columns(c))) * 0xbf58476d1ce4e5b9L
        h = (h ^ (h >>> 29)) * 0x94d049bb133111ebL
        h ^= h >>> 32
        c += 1
      }
      out(row) = h
      row += 1
    }
    out
  }
}
