package io.phantoms.spark.search.graph

/** Sorting by numbers computed once for each element; `sortBy` computes and boxes them at every comparison. */
private[search] object Sorted {

  /** Positions in ascending order of their keys; of equal keys the first position comes first. */
  def positions(keys: Array[Double]): Array[Int] = {
    val sorted = Array.tabulate(keys.length)(i => i)
    if (keys.length > 1) sort(keys, sorted, sorted.clone(), 0, keys.length)
    sorted
  }

  /** Positions in ascending order of their keys; of equal keys those with smaller other keys come first. */
  def positions(keys: Array[Double], others: Array[Double]): Array[Int] = {
    val byOthers = positions(others)
    positions(byOthers.map(keys(_))).map(byOthers(_))
  }

  // Merge sort of `to` from `from`, which holds the same positions.
  private def sort(keys: Array[Double], to: Array[Int], from: Array[Int], start: Int, end: Int): Unit =
    if (end - start <= Short) insert(keys, to, start, end)
    else {
      val middle = (start + end) >>> 1
      sort(keys, from, to, start, middle)
      sort(keys, from, to, middle, end)
      var left = start
      var right = middle
      var i = start
      while (i < end) {
        if (right >= end || (left < middle && keys(from(left)) <= keys(from(right)))) {
          to(i) = from(left)
          left += 1
        } else {
          to(i) = from(right)
          right += 1
        }
        i += 1
      }
    }

  private def insert(keys: Array[Double], to: Array[Int], start: Int, end: Int): Unit = {
    var i = start + 1
    while (i < end) {
      val moved = to(i)
      val key = keys(moved)
      var j = i - 1
      while (j >= start && keys(to(j)) > key) {
        to(j + 1) = to(j)
        j -= 1
      }
      to(j + 1) = moved
      i += 1
    }
  }

  private val Short = 16
}
