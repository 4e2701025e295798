package io.phantoms.spark.fuzz

/** Makes a case that fails small, greedily: the first smaller one that fails in the same way is the next start. */
object Shrinker {

  /**
   * @param fails whether a case still fails in the way that is looked for
   * @param attempts how many cases may be tried at most
   */
  def shrink(start: Case, attempts: Int)(fails: Case => Boolean): Case = {
    var (best, left, from, found) = (start, attempts, 0, true)
    while (found && left > 0) {
      val all = best.smaller.toVector
      // What was tried before the last one that failed most likely does not fail now either: it is tried last.
      val next = (all.indices.drop(from) ++ all.indices.take(from)).iterator.takeWhile(_ => left > 0).find { i =>
        left -= 1
        fails(all(i))
      }
      found = next.isDefined
      next.foreach { i =>
        best = all(i)
        from = i
      }
    }
    best
  }
}
