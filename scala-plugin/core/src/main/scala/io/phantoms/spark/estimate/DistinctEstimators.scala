package io.phantoms.spark.estimate

/**
 * How often values occur in a sample.
 *
 * @param distinct different values seen (d)
 * @param frequencies `frequencies(i)` values were seen exactly i times (f_i of Charikar et al.); index 0 is unused and
 *   the last index collects everything from there on
 * @param size rows of the sample (r)
 * @param pairs ordered pairs of different rows with the same value
 */
final case class FrequencyProfile(distinct: Int, frequencies: IndexedSeq[Int], size: Int, pairs: Double) {
  def f(i: Int): Int = frequencies(i)
}

object FrequencyProfile {

  /** Frequencies above this are not told apart: e^-i makes them irrelevant to every estimator here. */
  val MaxFrequency = 30

  /**
   * The profile of a column of hashes.
   *
   * @param n only the first n hashes count
   */
  def of(hashes: Array[Long], n: Int): FrequencyProfile = {
    val table = new HashCounts(n)
    var i = 0
    while (i < n) { table.add(hashes(i)); i += 1 }
    table.profile(n)
  }
}

/**
 * Counts 64-bit hashes in an open-addressing table of primitive arrays; 0 has a slot of its own. Also counts in how many
 * chunks each occurs.
 *
 * @param expected most different hashes
 */
private[spark] final class HashCounts(expected: Int) {
  private val capacity = math.max(16, Integer.highestOneBit(math.max(1, 2 * expected - 1)) << 1)
  private val mask = capacity - 1
  private val keys = new Array[Long](capacity + 1)
  private val counts = new Array[Int](capacity + 1)
  private val chunkCounts = new Array[Short](capacity + 1)
  private val lastChunk = new Array[Short](capacity + 1)
  private var chunk: Short = 0

  // The slots in use: a table is larger than what is in it.
  private var used = new Array[Int](math.min(capacity + 1, math.max(16, expected)))

  /** Different hashes so far. */
  var distinct: Int = 0

  /** What is added from now on belongs to another chunk. */
  def nextChunk(): Unit = chunk = (chunk + 1).toShort

  def add(hash: Long): Unit = {
    var slot = capacity
    if (hash != 0L) {
      slot = (hash ^ (hash >>> 32)).toInt & mask
      while (counts(slot) > 0 && keys(slot) != hash) slot = (slot + 1) & mask
    }
    if (counts(slot) == 0) {
      keys(slot) = hash
      chunkCounts(slot) = 1
      lastChunk(slot) = chunk
      if (distinct == used.length) used = java.util.Arrays.copyOf(used, math.min(capacity + 1, 2 * distinct))
      used(distinct) = slot
      distinct += 1
    } else if (lastChunk(slot) != chunk) {
      chunkCounts(slot) = (chunkCounts(slot) + 1).toShort
      lastChunk(slot) = chunk
    }
    counts(slot) += 1
  }

  /** By occurrences. */
  def profile(size: Int): FrequencyProfile = profile(size, byChunk = false)

  /** By chunks in which a hash occurs. */
  def collapsed(size: Int): FrequencyProfile = profile(size, byChunk = true)

  private def profile(size: Int, byChunk: Boolean): FrequencyProfile = {
    val f = new Array[Int](FrequencyProfile.MaxFrequency + 1)
    var pairs = 0.0
    var i = 0
    while (i < distinct) {
      val count = if (byChunk) chunkCounts(used(i)).toInt else counts(used(i))
      f(math.min(count, FrequencyProfile.MaxFrequency)) += 1
      pairs += count.toDouble * (count - 1)
      i += 1
    }
    FrequencyProfile(distinct, f.toIndexedSeq, size, pairs)
  }
}

private[spark] object HashCounts {

  /** Different hashes in each of the windows of `width` hashes, one after another, summed. */
  def distinctByWindow(hashes: Array[Long], width: Int): Int = {
    val mask = (Integer.highestOneBit(math.max(1, 2 * width - 1)) << 1) - 1
    val keys = new Array[Long](mask + 1)
    // The window that a slot was last used by: it is free for all others.
    val usedBy = new Array[Int](mask + 1)
    var distinct, window, i = 0
    while (i < hashes.length) {
      window += 1
      val end = math.min(hashes.length, i + width)
      while (i < end) {
        val hash = hashes(i)
        var slot = (hash ^ (hash >>> 32)).toInt & mask
        while (usedBy(slot) == window && keys(slot) != hash) slot = (slot + 1) & mask
        if (usedBy(slot) != window) {
          usedBy(slot) = window
          keys(slot) = hash
          distinct += 1
        }
        i += 1
      }
    }
    distinct
  }
}

/**
 * Distinct values of N rows from a uniform random sample of r of them. Charikar, Chaudhuri, Motwani, Narasayya, Towards
 * Estimation Error Guarantees for Distinct Values, PODS 2000 (the estimator aggregate trees are sized with).
 *
 * Every estimate lies between the values seen and N, and equals the values seen when the sample is the whole input.
 */
object DistinctEstimators {

  /**
   * GEE: sqrt(N/r) f_1 + sum of f_i, i >= 2. Within a factor of sqrt(N/r) of the truth, whatever the distribution; no
   * estimator can promise more.
   *
   * @param rows N
   */
  def gee(profile: FrequencyProfile, rows: Double): Double =
    bounded(profile, rows, geeWeight(scale(profile, rows), 1) * profile.f(1) + (profile.distinct - profile.f(1)))

  /**
   * How many values one of the sample stands for in [[gee]], by how often it was seen.
   *
   * @param scale N/r
   */
  def geeWeight(scale: Double, frequency: Long): Double = if (frequency == 1) math.sqrt(scale) else 1.0

  /**
   * AE, the adaptive estimator of the same paper: the values seen at most twice are taken as equally frequent, and how
   * many of them were missed follows from f_1 and f_2; values seen oftener count as found. More exact than GEE where
   * no value is close to unique, without its guarantee.
   *
   * @param rows N
   */
  def adaptive(profile: FrequencyProfile, rows: Double): Double = {
    val f1 = profile.f(1).toDouble
    val f2 = profile.f(2).toDouble
    if (f1 == 0) bounded(profile, rows, profile.distinct.toDouble)
    else {
      val seen = profile.frequencies.zipWithIndex.drop(3)
      val a = seen.map { case (f, i) => f * math.exp(-i.toDouble) }.sum
      val b = seen.map { case (f, i) => f * i * math.exp(-i.toDouble) }.sum
      val c = f1 + 2 * f2
      // m is the number of infrequent values, seen or not; the root of the paper's equation for it.
      def excess(m: Double): Double = {
        val e = math.exp(-c / m)
        m - f1 - f2 - f1 * (a + m * e) / (b + c * e)
      }
      var low = f1 + f2
      var high = math.max(low, rows)
      if (excess(high) <= 0) bounded(profile, rows, rows)
      else {
        var step = 0
        while (step < 60 && high - low > 0.5) {
          val middle = (low + high) / 2
          if (excess(middle) > 0) high = middle else low = middle
          step += 1
        }
        bounded(profile, rows, profile.distinct + (low + high) / 2 - f1 - f2)
      }
    }
  }

  /**
   * What the paper's hybrid estimators do: [[adaptive]], and where the rare values are skewed [[gee]] if that is more,
   * since the adaptive estimator then misses most of them.
   *
   * A few frequent values above many equally rare ones (ports: well-known ones and ephemeral ones) are no such skew:
   * the adaptive estimator counts the frequent ones as found, and GEE would say a multiple of the truth. So skew of all
   * values, by the pairs of equal rows (r^2/D of them if D values were equally frequent), has to show among the rare ones
   * too ([[rareAlike]]).
   *
   * @param rows N
   */
  def hybrid(profile: FrequencyProfile, rows: Double): Double = {
    val ae = adaptive(profile, rows)
    val r = profile.size.toDouble
    val skewed = r > 1 && profile.pairs * ae / (r * (r - 1)) > Skewed
    if (skewed && !rareAlike(profile)) math.max(ae, gee(profile, rows)) else ae
  }

  /**
   * Whether the values seen one, two and three times can be equally frequent: they follow a Poisson law then, of which
   * 3 f_1 f_3 = 2 f_2^2. Where values are skewed f_3 is larger. Says nothing of small numbers.
   */
  private def rareAlike(profile: FrequencyProfile): Boolean = {
    val (f1, f2, f3) = (profile.f(1).toDouble, profile.f(2).toDouble, profile.f(3).toDouble)
    f2 >= EnoughPairs && f1 > 0 && 3 * f1 * f3 <= Alike * 2 * f2 * f2
  }

  private val Skewed = 4.0

  /** Values seen twice from which on their number tells something. */
  private val EnoughPairs = 32.0

  private val Alike = 1.3

  private def scale(profile: FrequencyProfile, rows: Double): Double = math.max(1.0, rows / math.max(1, profile.size))

  /** Between d and the paper's upper bound: each value seen once stands for N/r values. */
  private def bounded(profile: FrequencyProfile, rows: Double, estimate: Double): Double = {
    val d = profile.distinct.toDouble
    val most = math.min(math.max(d, rows), scale(profile, rows) * profile.f(1) + (d - profile.f(1)))
    math.max(d, math.min(estimate, most))
  }
}
