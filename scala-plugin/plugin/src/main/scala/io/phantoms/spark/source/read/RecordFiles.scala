package io.phantoms.spark.source.read

import java.io.{FileNotFoundException, IOException, InterruptedIOException}
import java.nio.channels.ClosedByInterruptException

import scala.util.control.NonFatal

import io.phantoms.spark.source.wire.{RecordReader, Split, WireCounters, WireException, WireRecord}

import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.PartitionedFile

/**
 * What is done where a file of a scan is not there any more, or cannot be read to its end: skipped with a warning as by
 * Spark's own file sources, or the end of the query.
 */
final case class SkippedFiles(missing: Boolean, corrupt: Boolean) {

  /** Whether a file that fails so is skipped, or the rest of it. */
  def passesOver(e: Throwable): Boolean = e match {
    case _: InterruptedIOException | _: ClosedByInterruptException | _: TaskKilledException => false
    case _: FileNotFoundException => missing
    case _: IOException | _: RuntimeException => corrupt
    case _ => false
  }
}

/**
 * A part of a file that a task reads.
 *
 * @param file with what its path says
 * @param split which part
 */
final case class FilePart(file: PartitionedFile, split: Split)

/** Opens a part of a file. */
trait OpensFiles extends Serializable {
  def open(part: FilePart): RecordReader
}

/**
 * The records of a task's files, one after another, that pass a condition.
 *
 * @param condition what passes; null: all
 * @param limit how many are wanted
 */
private[source] final class RecordFiles(
    parts: Array[FilePart],
    opens: OpensFiles,
    condition: Condition,
    limit: Long,
    skipped: SkippedFiles
) extends TaskRecords
    with Logging {
  private val total = new WireCounters
  private val context = TaskContext.get()
  private var reader: RecordReader = _
  private var opened = 0
  private var passed = 0L
  private var looked = 0L

  /** How many files were opened so far; the record is of the last of them. */
  override def epoch: Int = opened

  /** The file that the record is of. */
  def file: PartitionedFile = parts(opened - 1).file

  override def record: WireRecord = reader.record()

  override def next(): Boolean = {
    while (passed < limit && (reader != null || openNext()))
      if (nextOfFile()) return true
    false
  }

  /** As [[next]], but stays within the file that the last record was of, and opens no other. */
  def nextOfFile(): Boolean = {
    while (passed < limit && reader != null) {
      if (!advance()) closeFile()
      else if (passes()) return true
    }
    false
  }

  private def passes(): Boolean = {
    val yes = condition == null || condition.test(reader.record()) == Condition.TRUE
    if (yes) passed += 1
    yes
  }

  private def advance(): Boolean = {
    looked += 1
    if ((looked & RecordFiles.BetweenChecks) == 0 && context != null && context.isInterrupted())
      throw new TaskKilledException("the task was asked to stop")
    try reader.next()
    catch {
      case e: Throwable =>
        failed(e)
        false
    }
  }

  private def openNext(): Boolean = {
    while (reader == null && opened < parts.length) {
      opened += 1
      InputFile.set(file.urlEncodedPath, file.start, file.length)
      try reader = opens.open(parts(opened - 1))
      catch { case e: Throwable => failed(e) }
    }
    reader != null
  }

  /** Throws it on, unless such files are to be skipped. */
  private def failed(e: Throwable): Unit = e match {
    case _ if skipped.passesOver(e) =>
      val what = if (e.isInstanceOf[FileNotFoundException]) "the missing file" else "the rest of the file"
      logWarning(s"Skipped $what ${file.filePath}", e)
    case _: InterruptedIOException | _: ClosedByInterruptException | _: TaskKilledException => throw e
    case e: WireException => throw e
    case e: IOException =>
      val told = new WireException(
        file.filePath.toString,
        Option(reader).fold(file.start)(_.counters().bytes),
        s"cannot be read ($e)",
        "Check that the file is still there and that Spark may read it; the option ignoreMissingFiles skips files that " +
          "are gone."
      )
      told.initCause(e)
      throw told
    case other => throw other
  }

  private def closeFile(): Unit = if (reader != null) {
    val closing = reader
    total.add(closing.counters())
    reader = null
    closing.close()
  }

  /** What was read so far. */
  override def counters: WireCounters = {
    val sum = new WireCounters
    sum.add(total)
    if (reader != null) sum.add(reader.counters())
    sum
  }

  override def close(): Unit =
    try closeFile()
    catch { case NonFatal(e) => logWarning("A file could not be closed", e) }
    finally InputFile.unset()
}

private object RecordFiles {
  // Records between two looks at whether the task is to stop, less one; a power of two.
  private val BetweenChecks = 1023L
}
