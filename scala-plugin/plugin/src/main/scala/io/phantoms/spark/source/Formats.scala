package io.phantoms.spark.source

import java.io.Closeable

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.`export`.ExportReader
import io.phantoms.spark.source.wire._

/** What a row is. */
sealed abstract class Records(val name: String) extends Serializable {
  def schema: RecordSchema

  /** Of a file, for want of better knowledge: what one record takes up. */
  def bytesOfRecord: Double
}

object Records {

  /** A packet of a capture. */
  case object Packets extends Records("packets") {
    override def schema: RecordSchema = wire.Packets.SCHEMA
    override def bytesOfRecord: Double = 128
  }

  /** A flow record of an exporter. */
  case object Flows extends Records("flows") {
    override def schema: RecordSchema = `export`.Flows.SCHEMA
    override def bytesOfRecord: Double = 50
  }

  val all: Seq[Records] = Seq(Packets, Flows)
}

/** Which readers there are, for which files. */
private[source] object Formats {
  private val HeadOfExport = 24

  /** Flows of a file of datagrams; packets of any other; None where it is compressed and broken from the beginning. */
  def recordsOf(file: CaptureFile): Option[Records] = {
    val supply = bytesOf(file)
    try
      if (isExport(supply)) Some(Records.Flows)
      else Option.when(supply.failure == null || supply.available >= HeadOfExport)(Records.Packets)
    finally supply.close()
  }

  private def isExport(file: CaptureFile): Boolean = recordsOf(file).contains(Records.Flows)

  private def bytesOf(file: CaptureFile): ByteSupply = {
    val stored = file.open(0)
    closedOnFailure(stored)(ByteSupply.decompressed(file.path, stored))
  }

  private def isExport(supply: ByteSupply): Boolean = {
    val head = supply.head(HeadOfExport)
    val n = head.length
    !CaptureFiles.recognises(head, n) && (ExportReader.recognises(head, n) || ExportReader.isOfNfdump(head, n))
  }

  /** Parts of a file of about this many bytes. What a template says holds to the end of a file: flows have one part. */
  def splits(file: CaptureFile, records: Records, bytes: Long): Seq[Split] = records match {
    case Records.Packets => CaptureFiles.splits(file, bytes).asScala.toSeq
    case Records.Flows => Seq(new Split(0, file.length))
  }

  /**
   * The records of a part of a file.
   *
   * @param wanted by field, and behind the last one whether what is wrong with a record matters
   * @param ports of collectors, for flows within captures
   */
  def open(
      file: CaptureFile,
      part: Split,
      records: Records,
      policy: Policy,
      wanted: Array[Boolean],
      ports: Set[Int]
  ): RecordReader = records match {
    case Records.Packets => packets(file, part, policy, wanted)
    case Records.Flows => flows(file, policy, wanted, ports)
  }

  private def packets(file: CaptureFile, part: Split, policy: Policy, wanted: Array[Boolean]): RecordReader =
    try CaptureFiles.open(file, part, policy, wanted)
    catch {
      case e: WireException if part.start == 0 && isExport(file) =>
        val told = new WireException(
          file.path,
          0,
          "is a flow export, and has no packets",
          "Read it with the option records=flows, or leave it out with pathGlobFilter"
        )
        told.addSuppressed(e)
        throw told
    }

  private def flows(file: CaptureFile, policy: Policy, wanted: Array[Boolean], ports: Set[Int]): RecordReader = {
    val supply = bytesOf(file)
    closedOnFailure(supply) {
      val head = supply.head(CaptureFiles.HEAD)
      if (!CaptureFiles.recognises(head, head.length)) new ExportReader(supply, policy, wanted)
      else {
        supply.close()
        // What cannot be decoded is told to the reader of the datagrams, who knows what becomes of it.
        val whole = new Split(0, Long.MaxValue)
        val packets = CaptureFiles.open(file, whole, Policy.PERMISSIVE, CaptureDatagrams.wanted)
        val counters = new WireCounters
        val of = ports.map(Int.box).asJava
        new ExportReader(file.path, new CaptureDatagrams(packets, of, counters), counters, policy, wanted)
      }
    }
  }

  private def closedOnFailure[T](opened: Closeable)(body: => T): T =
    try body
    catch {
      case e: Throwable =>
        opened.close()
        throw e
    }
}
