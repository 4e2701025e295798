package io.phantoms.spark.source.papers

import java.util.SplittableRandom

import io.phantoms.spark.source.table.{ReaderTable, TableKind}

/**
 * What work costs, in seconds.
 *
 * @param packet per packet, whatever is asked
 * @param probe per packet and query
 * @param leaving per group that leaves a table, and query
 */
final case class Costs(packet: Double, probe: Double, leaving: Double)

/**
 * What came of it.
 *
 * @param lost packets of the offered ones
 * @param busy the part of the time that the server works
 * @param leaving groups that left a table
 */
final case class Outcome(offered: Long, lost: Long, busy: Double, leaving: Long) {
  def loss: Double = lost.toDouble / offered
  def leavingPerPacket: Double = leaving.toDouble / (offered - lost)
}

/**
 * Packets that arrive evenly in a ring from which one server takes them, who keeps a table for each of several equal
 * queries: in virtual time, with the tables of the readers.
 *
 * @param rate packets a second
 * @param ring packets that may wait
 * @param epoch seconds, at whose end the groups of the tables are closed
 */
final case class RingSimulation(costs: Costs, rate: Double, ring: Int, epoch: Double) {

  /**
   * @param groups uniformly among the packets
   * @param slots of a table
   * @param epochs that are counted; one before them is not
   */
  def run(groups: Int, queries: Int, kind: TableKind, slots: Int, lazily: Boolean, epochs: Int, seed: Long): Outcome = {
    val random = new SplittableRandom(seed)
    val table = new ReaderTable(kind, slots, 1, 3)
    val key = new Array[Long](1)
    val perEpoch = (rate * epoch).toLong
    // When the server will have done with each of those that wait, by its place in the ring; it works in order.
    val done = new Array[Double](ring)
    var (head, waiting) = (0, 0)
    var (free, worked) = (0.0, 0.0)
    var (offered, lost, left) = (0L, 0L, 0L)
    var current = 0L

    def drain(): Int = {
      var n = 0
      while (table.nextEvicted()) n += 1
      n
    }
    def work(from: Double, packets: Int, leaving: Int): Unit = {
      val time = packets * (costs.packet + queries * costs.probe) + leaving * queries * costs.leaving
      free = math.max(free, from) + time
      worked += time
      left += leaving
    }

    var i = 0L
    while (i < (epochs + 1) * perEpoch) {
      val now = i / rate
      if (i == perEpoch) {
        offered = 0
        lost = 0
        worked = 0
        left = 0
      }
      while (waiting > 0 && done(head) <= now) {
        head = (head + 1) % ring
        waiting -= 1
      }
      offered += 1
      val group = random.nextInt(groups)
      if (waiting == ring) lost += 1
      else {
        // The epoch that a packet belongs to is that of its arrival; the server learns of it when it takes the packet.
        if (i / perEpoch != current) {
          current = i / perEpoch
          if (lazily) {
            table.sweep()
            work(now, 0, drain())
            table.age()
          } else {
            table.flush()
            work(now, 0, drain())
          }
        }
        key(0) = group.toLong
        val _ = table.probe(key)
        work(now, 1, drain())
        done((head + waiting) % ring) = free
        waiting += 1
      }
      i += 1
    }
    Outcome(offered, lost, worked / (epochs * epoch), left)
  }
}
