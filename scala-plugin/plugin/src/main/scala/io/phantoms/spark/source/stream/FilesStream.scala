package io.phantoms.spark.source.stream

import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.internal.Logging
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._

/**
 * A stream of the files of a directory as they appear and grow; each record is in one batch, whatever is restarted
 * when.
 *
 * What a batch has is in the [[EntryLog]] before the batch's offset is in Spark's own: a restart between the two
 * takes the entry that is there.
 */
private[source] final class FilesStream(files: StreamedFiles, log: EntryLog, options: FilesStreamOptions)
    extends MicroBatchStream
    with SupportsAdmissionControl
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics
    with HasReaders
    with Logging {
  private val seen = new SeenFiles(options.maxFileAgeMillis)
  log.remembered.foreach(seen.add)
  seen.age()
  private val pending = new PendingFiles(seen, options.fileAgeMillis, files.follows, files.capture, files.exists)

  // What there was when a run began that ends with it.
  private var frozen = Option.empty[Seq[TakenPart]]
  private var outstanding = Seq.empty[TakenPart]

  override def initialOffset(): Offset = EntryOffset(-1)
  override def deserializeOffset(json: String): Offset = EntryOffset.of(json)

  override def getDefaultReadLimit: ReadLimit = {
    val limits = options.maxFiles.map(ReadLimit.maxFiles).toSeq ++ options.maxBytes.map(ReadLimit.maxBytes)
    limits match {
      case Seq() => ReadLimit.allAvailable()
      case Seq(one) => one
      case several => ReadLimit.compositeLimit(several.toArray)
    }
  }

  override def prepareForTriggerAvailableNow(): Unit = synchronized {
    frozen = Some(pending.of(files.list()))
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is to be asked")

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = synchronized {
    val from = start.asInstanceOf[EntryOffset].entry
    if (from > log.latest)
      throw new IllegalStateException(
        s"The query's checkpoint has come to entry $from, the source's own log to ${log.latest}: a part of the checkpoint " +
          "is missing. Restore it, or begin anew with another checkpointLocation."
      )
    if (from == log.latest) append(limit)
    if (log.latest < 0) null else EntryOffset(log.latest)
  }

  private def append(limit: ReadLimit): Unit = {
    val all = frozen.getOrElse(pending.of(files.list()))
    val (taken, left) = all.splitAt(admitted(all, limit))
    outstanding = left
    if (frozen.isDefined) frozen = Some(left)
    if (taken.nonEmpty) {
      taken.foreach(seen.add)
      seen.purge()
      val entry = log.append(taken, seen.all)
      logInfo(s"Entry $entry of ${files.description}: ${taken.size} files, ${taken.map(_.bytes).sum} bytes")
    }
  }

  /** How many of the parts a batch may have: at least one, however large. */
  private def admitted(parts: Seq[TakenPart], limit: ReadLimit): Int = limit match {
    case few: ReadMaxFiles => math.min(parts.size, few.maxFiles)
    case few: ReadMaxBytes =>
      val ends = parts.iterator.map(_.bytes).scanLeft(0L)(_ + _).drop(1)
      math.min(parts.size, math.max(1, ends.takeWhile(_ <= few.maxBytes).size))
    case several: CompositeReadLimit => several.getReadLimits.map(admitted(parts, _)).min
    case _ => parts.size
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = synchronized {
    val parts = log.parts(start.asInstanceOf[EntryOffset].entry, end.asInstanceOf[EntryOffset].entry)
    files.partitions(parts)
  }

  override def readers: StreamReaders = files.readers

  override def createReaderFactory(): PartitionReaderFactory = readers.rows

  override def commit(end: Offset): Unit = synchronized {
    log.purge(end.asInstanceOf[EntryOffset].entry - options.retainedEntries)
  }

  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] = synchronized {
    Map(
      "filesOutstanding" -> outstanding.size.toLong,
      "bytesOutstanding" -> outstanding.map(_.bytes).sum,
      "filesGrowing" -> pending.waiting.toLong,
      "filesLeftAlone" -> pending.changed.toLong,
      "filesRemembered" -> seen.size.toLong
    ).map { case (k, v) => k -> v.toString }.asJava
  }

  override def stop(): Unit = ()

  override def toString: String = s"lfta[${files.description}]"
}

/**
 * @param maxFiles of which a batch may have parts
 * @param maxBytes that a batch may have, of files as they are stored; one part may have more
 * @param fileAgeMillis how long a file is not to have been changed for it to be complete
 * @param maxFileAgeMillis how much older than the newest one a file may be
 * @param retainedEntries how many entries below the last one are kept
 */
final case class FilesStreamOptions(
    maxFiles: Option[Int],
    maxBytes: Option[Long],
    fileAgeMillis: Long,
    maxFileAgeMillis: Long,
    retainedEntries: Int
)
