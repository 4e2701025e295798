package io.phantoms.spark.source.stream

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import scala.io.Source
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/**
 * Which parts of files each batch has, beside the query's own checkpoint: an entry is written before its batch runs,
 * and never changed, so that the batch has the same parts when it runs again.
 *
 * An entry is a file named by its number. After every tenth, all that is remembered of files is written to another one,
 * `<number>.compact`; a restart reads the last of these and the entries behind it.
 *
 * @param directory the source's own below the checkpoint
 * @param records what the stream reads; a checkpoint of something else is refused
 */
private[source] final class EntryLog(directory: String, conf: Configuration, records: String) extends Logging {
  import EntryLog._

  private val root = new Path(directory)
  private val files = CheckpointFileManager.create(root, conf)
  if (!files.exists(root)) files.mkdirs(root)
  requireRecords()

  private var last = numbers(Entry).maxOption.getOrElse(-1L)
  private var compacted = numbers(Compact).maxOption.getOrElse(-1L)
  if (compacted > last) damaged(s"${name(compacted)}, which is older than $compacted.compact, is missing")
  private var lastParts: Option[Seq[TakenPart]] = None

  // Entries below were removed; None: that is yet to be looked at.
  private var purged: Option[Long] = None

  /** The number of the last entry, or -1. */
  def latest: Long = last

  /**
   * Writes the next entry.
   *
   * @param remembered all that has to be known of files afterwards; asked for from time to time
   */
  def append(parts: Seq[TakenPart], remembered: => Seq[TakenPart]): Long = {
    val number = last + 1
    try write(name(number), parts.map(_.json), overwrite = false)
    catch {
      case e: FileAlreadyExistsException =>
        throw new IllegalStateException(
          s"Another query writes to the checkpoint $directory, too: entry $number is there already. Give each query a " +
            "checkpointLocation of its own.",
          e
        )
    }
    last = number
    lastParts = Some(parts)
    if (number % Every == Every - 1) compact(number, remembered)
    number
  }

  // Only a short cut: without it a restart reads more entries.
  private def compact(number: Long, remembered: Seq[TakenPart]): Unit =
    try {
      write(s"$number$Suffix", remembered.map(_.json), overwrite = true)
      numbers(Compact).filter(_ < compacted).foreach(n => files.delete(new Path(root, s"$n$Suffix")))
      compacted = number
    } catch { case NonFatal(e) => logWarning(s"What is remembered of files was not written to $directory", e) }

  /** The parts of the entries after one number up to another. */
  def parts(after: Long, to: Long): Seq[TakenPart] =
    (after + 1 to to).flatMap { n =>
      lastParts.filter(_ => n == last).getOrElse(read(name(n)))
    }

  /** What is remembered of files, oldest first; later parts of a file replace earlier ones. */
  def remembered: Seq[TakenPart] = {
    val before = if (compacted < 0) Nil else read(s"$compacted$Suffix")
    before ++ parts(compacted, last)
  }

  /** Removes entries below a number, as far as a restart does not read them. */
  def purge(number: Long): Unit = {
    val until = math.min(number, compacted)
    if (until > 0) {
      val gone = purged.fold(numbers(Entry).filter(_ < until))(_ until until)
      gone.foreach(n => files.delete(new Path(root, name(n))))
      purged = Some(until)
    }
  }

  private def requireRecords(): Unit =
    if (files.exists(new Path(root, Kind))) {
      val written = read(Kind, identity)
      if (written != Seq(records))
        throw new IllegalStateException(
          s"The checkpoint $directory is of a stream of ${written.mkString(" ")}, and now $records are to be read. Use " +
            s"another checkpointLocation, or set the option records to ${written.mkString(" ")}."
        )
    } else {
      try write(Kind, Seq(records), overwrite = false)
      catch { case _: FileAlreadyExistsException => requireRecords() }
    }

  private def numbers(which: String): Seq[Long] = {
    val pattern = which.r
    files.list(root).toSeq.filter(_.isFile).map(_.getPath.getName).collect { case pattern(n) => n.toLong }
  }

  private def write(file: String, lines: Seq[String], overwrite: Boolean): Unit = {
    val out = files.createAtomic(new Path(root, file), overwrite)
    try {
      out.write((Version +: lines).mkString("", "\n", "\n").getBytes(UTF_8))
      out.close()
    } catch {
      case e: Throwable =>
        out.cancel()
        throw e
    }
  }

  private def read(file: String): Seq[TakenPart] = read(file, TakenPart.of)

  private def read[T](file: String, line: String => T): Seq[T] = {
    val in =
      try files.open(new Path(root, file))
      catch { case _: FileNotFoundException => damaged(s"$file is missing") }
    val lines =
      try Source.fromInputStream(in, UTF_8.name).getLines().toVector
      finally in.close()
    lines.headOption match {
      case Some(Version) =>
      case other => damaged(s"$file begins with '${other.getOrElse("")}', $Version is what this version reads")
    }
    try lines.tail.map(line)
    catch { case NonFatal(e) => damaged(s"$file is not what was written (${e.getMessage})") }
  }

  private def damaged(what: String): Nothing = throw new IllegalStateException(
    s"The checkpoint in $directory cannot be used: $what. Restore it, or begin anew with another checkpointLocation."
  )
}

private object EntryLog {
  private val Version = "v1"
  private val Every = 10
  private val Suffix = ".compact"
  private val Kind = "records"
  private val Entry = """(\d+)"""
  private val Compact = """(\d+)\.compact"""

  private def name(number: Long): String = number.toString
}
