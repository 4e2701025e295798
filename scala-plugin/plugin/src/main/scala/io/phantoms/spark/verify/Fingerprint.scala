package io.phantoms.spark.verify

import java.nio.ByteBuffer

/**
 * What is left of a multiset of rows: how many, and the sum of their hashes, of each of some buckets that rows are dealt to
 * by their hash; and for each column of rounded floats a weighted sum. The order of rows has no part in it, and those of
 * parts of the rows add up.
 *
 * @param floats columns of rounded floats
 */
final class Fingerprint(floats: Int) extends Serializable {
  import Fingerprint._

  private val counts = new Array[Long](Buckets)
  private val hashes = new Array[Long](Buckets)
  private val weighted = new Array[Double](floats)
  private val sizes = new Array[Double](floats)

  def add(hash: Long): Unit = {
    val bucket = (hash >>> BucketShift).toInt
    counts(bucket) += 1
    hashes(bucket) += hash
  }

  /**
   * A finite value of column `i`, in a row whose other values have this hash. Its weight is the row's, so that values which
   * change places are noticed.
   */
  def add(i: Int, hash: Long, value: Double): Unit = {
    val weight = 1.0 + (hash >>> 12) * Ulp
    weighted(i) += weight * (value * Scale)
    sizes(i) += weight * math.max(1.0, math.abs(value)) * Scale
  }

  def add(other: Fingerprint): Unit = {
    for (b <- 0 until Buckets) {
      counts(b) += other.counts(b)
      hashes(b) += other.hashes(b)
    }
    for (i <- weighted.indices) {
      weighted(i) += other.weighted(i)
      sizes(i) += other.sizes(i)
    }
  }

  def rows: Long = counts.sum

  /** The number of rows and the sum of their hashes, 64 bits each, in hexadecimal digits. */
  def text: String = f"$rows%016x$sumOfHashes%016x"

  private def sumOfHashes: Long = hashes.sum

  /** So many rows at least are missing or surplus; rounded floats apart. A row that changed is one of either. */
  def differing(other: Fingerprint): Long = (0 until Buckets).map { b =>
    val surplus = math.abs(counts(b) - other.counts(b))
    if (surplus == 0 && hashes(b) != other.hashes(b)) 1L else surplus
  }.sum

  /**
   * Columns of rounded floats whose sums are too far apart.
   *
   * @param tolerances of each column, relative to the sum of its values without their signs
   */
  def differingFloats(other: Fingerprint, tolerances: Array[Double]): Seq[Int] = weighted.indices.filter { i =>
    // Adding up the sums rounds as well, at most once a row.
    val tolerance = tolerances(i) + rows * Ulp
    val most = tolerance * math.max(sizes(i), other.sizes(i))
    !(math.abs(weighted(i) - other.weighted(i)) <= most)
  }

  def toBytes: Array[Byte] = {
    val bytes = ByteBuffer.allocate(8 * (2 * Buckets + 2 * floats))
    counts.foreach(bytes.putLong)
    hashes.foreach(bytes.putLong)
    weighted.foreach(bytes.putDouble)
    sizes.foreach(bytes.putDouble)
    bytes.array
  }
}

object Fingerprint {
  private val Buckets = 64
  private val BucketShift = 58
  private val Ulp = java.lang.Double.longBitsToDouble(0x3cb0000000000000L) // 2^-52
  // So that no sum of doubles gets out of range, however many there are.
  private val Scale = java.lang.Double.longBitsToDouble(0x3be0000000000000L) // 2^-65

  def of(bytes: Array[Byte]): Fingerprint = {
    val made = new Fingerprint(bytes.length / 16 - Buckets)
    val from = ByteBuffer.wrap(bytes)
    Seq(made.counts, made.hashes).foreach(a => a.indices.foreach(i => a(i) = from.getLong()))
    Seq(made.weighted, made.sizes).foreach(a => a.indices.foreach(i => a(i) = from.getDouble()))
    made
  }
}
