package io.phantoms.spark.search.placement

/** Turns shares of the memory into tables: whole buckets, powers of two, their sum within the memory. */
object TableSizes {

  /** Fewest buckets worth a table. */
  val MinBuckets: Int = 16

  /** Most buckets of one table: array lengths are ints. */
  val MaxBuckets: Int = 1 << 26

  /** More buckets per group than this leave cache lines untouched without saving evictions (eq 13: under 1.6 %). */
  val MaxBucketsPerGroup: Double = 32

  /** Most buckets a relation of `groups` groups can use, a power of two. */
  def ceiling(groups: Double): Int = {
    val wanted = math.min(MaxBuckets.toDouble, math.max(MinBuckets.toDouble, MaxBucketsPerGroup * groups))
    val floor = Integer.highestOneBit(wanted.toInt)
    if (floor < wanted) math.min(MaxBuckets, floor * 2) else floor
  }

  /** Hands what `space` gives beyond each relation's limit to the relations that can use it. */
  def respread(space: Array[Double], limit: Int => Double): Unit = {
    var rounds = 0
    var surplus = 1.0
    while (rounds < 4 && surplus > 0) {
      surplus = 0.0
      var open = 0.0
      var r = 0
      while (r < space.length) {
        val most = limit(r)
        if (space(r) > most) {
          surplus += space(r) - most
          space(r) = most
        } else if (space(r) < most) open += space(r)
        r += 1
      }
      if (surplus > 0 && open > 0) {
        val grow = 1 + surplus / open
        r = 0
        while (r < space.length) {
          if (space(r) < limit(r)) space(r) *= grow
          r += 1
        }
      } else surplus = 0.0
      rounds += 1
    }
    var r = 0
    while (r < space.length) { space(r) = math.min(space(r), limit(r)); r += 1 }
  }

  /**
   * Rounds to powers of two: down first, then doubles the tables furthest below their share while memory is left.
   *
   * @param space bytes each relation should have
   * @param entryBytes bytes of one of its entries
   * @param groups its groups in one task
   * @param memory bytes for all tables together
   * @return buckets of each relation; 0 where the memory does not reach for a table of the minimum size
   */
  def round(space: Array[Double], entryBytes: Int => Int, groups: Int => Double, memory: Double): Array[Int] = {
    val n = space.length
    val most = new Array[Int](n)
    val buckets = new Array[Int](n)
    val bytes = new Array[Double](n)
    var left = memory
    var r = 0
    while (r < n) {
      most(r) = ceiling(groups(r))
      val width = entryBytes(r)
      val wanted = math.min(most(r).toDouble, math.max(MinBuckets.toDouble, space(r) / width))
      buckets(r) = Integer.highestOneBit(wanted.toInt)
      bytes(r) = buckets(r).toDouble * width
      left -= bytes(r)
      r += 1
    }

    // Minimum sizes may have overdrawn the memory: halve the largest tables, then do without the widest ones.
    while (left < 0) {
      val shrinkable = buckets.indices.filter(buckets(_) > 0)
      val largest = shrinkable.maxBy(r => (buckets(r) > MinBuckets, bytes(r)))
      val kept = if (buckets(largest) > MinBuckets) bytes(largest) / 2 else 0.0
      left += bytes(largest) - kept
      bytes(largest) = kept
      buckets(largest) = if (kept > 0) buckets(largest) / 2 else 0
    }

    var growing = true
    while (growing) {
      var next = -1
      var furthest = 0.0
      r = 0
      while (r < n) {
        if (bytes(r) <= left && buckets(r) > 0 && buckets(r) < most(r)) {
          val below = space(r) / bytes(r)
          if (next < 0 || below > furthest) { next = r; furthest = below }
        }
        r += 1
      }
      growing = next >= 0
      if (growing) {
        left -= bytes(next)
        bytes(next) *= 2
        buckets(next) *= 2
      }
    }
    buckets
  }
}
