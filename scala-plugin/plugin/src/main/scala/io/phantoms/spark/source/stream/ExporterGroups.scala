package io.phantoms.spark.source.stream

import scala.collection.mutable

/**
 * Divides datagrams among tasks: an exporter's stay together and in order, as a later one is read with what an
 * earlier said.
 */
private object ExporterGroups {
  def of(datagrams: Seq[HeldDatagram], most: Int): Seq[Seq[HeldDatagram]] = {
    val bytes = mutable.LinkedHashMap.empty[Exporter, Long]
    datagrams.foreach(d => bytes(d.sender) = bytes.getOrElse(d.sender, 0L) + d.footprint())
    val loads = new Array[Long](math.max(1, math.min(most, bytes.size)))
    val task = bytes.toSeq.sortBy(-_._2).map { case (exporter, n) =>
      val least = loads.indices.minBy(loads(_))
      loads(least) += n
      exporter -> least
    }.toMap
    val groups = loads.map(_ => mutable.ArrayBuffer.empty[HeldDatagram])
    datagrams.foreach(d => groups(task(d.sender)) += d)
    groups.toSeq.map(_.toSeq).filter(_.nonEmpty)
  }
}
