package io.phantoms.spark.decide

import scala.collection.mutable

/** Collects the decisions of the plans that the calling thread optimises meanwhile. Off, it costs a look-up. */
object DecisionRecorder {
  private val collecting = new ThreadLocal[mutable.Buffer[Decision]]

  def isOn: Boolean = collecting.get != null

  def record(decisions: Iterable[Decision]): Unit = Option(collecting.get).foreach(_ ++= decisions)

  /** Runs `body` and returns what was decided in it. Calls may be nested: the inner one keeps its own. */
  def during(body: => Unit): Seq[Decision] = {
    val outer = collecting.get
    val mine = mutable.ArrayBuffer.empty[Decision]
    collecting.set(mine)
    try body
    finally if (outer == null) collecting.remove() else collecting.set(outer)
    mine.toSeq
  }
}
