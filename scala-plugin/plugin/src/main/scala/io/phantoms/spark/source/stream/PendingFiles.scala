package io.phantoms.spark.source.stream

import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import io.phantoms.spark.source.wire.{CaptureFile, WholeRecords}

import org.apache.spark.internal.Logging

/**
 * What is there to be taken: new files, and what others have grown by.
 *
 * A file that was changed less than `fileAge` ago may still be written to. A plain capture of that age is taken up to
 * its last whole record, other files wait. A file older than that is taken to its end. If a plain capture grows
 * nevertheless, it is followed from the last whole record on.
 *
 * @param follows whether files that grow can be followed: packets can, flows need all that was said before them
 * @param capture opens a file as if it had a length
 * @param exists whether a file is there at this moment
 */
private[source] final class PendingFiles(
    seen: SeenFiles,
    fileAgeMillis: Long,
    follows: Boolean,
    capture: (String, Long) => CaptureFile,
    exists: String => Boolean,
    clock: () => Long = () => System.currentTimeMillis()
) extends Logging {
  import PendingFiles._

  // Files that are too young by their time, which may be another clock's: since when they have looked as they do.
  private val watched = mutable.HashMap.empty[String, (ListedFile, Long)]
  private var young = 0
  private val leftAlone = mutable.HashMap.empty[String, ListedFile]

  /** Files that were changed after they had been taken, in a way that nothing can be made of. */
  def changed: Int = leftAlone.size

  /** Files that wait until nobody has changed them for a while, or for the rest of a record. */
  def waiting: Int = young

  /** The parts of files that can be taken, those changed earliest first. */
  def of(listed: Seq[ListedFile]): Seq[TakenPart] = {
    forgetMissing(listed)
    listed.foreach(f => seen.listed(f.path, f.modified))
    young = 0
    listed.sortBy(f => (f.modified, f.path)).flatMap(part)
  }

  private def forgetMissing(listed: Seq[ListedFile]): Unit = if (watched.nonEmpty || leftAlone.nonEmpty) {
    val there = listed.map(_.path).toSet
    watched.filterInPlace((path, _) => there(path))
    val _ = leftAlone.filterInPlace((path, _) => there(path))
  }

  private def part(file: ListedFile): Option[TakenPart] =
    seen.of(file.path) match {
      case None if file.length > 0 && seen.isNew(file.modified) =>
        looking(file)(first(file, _))
      case Some(last) if last.length != file.length || last.modified != file.modified || last.until < file.length =>
        looking(file)(further(file, last, _))
      case _ =>
        watched -= file.path
        None
    }

  /** A file that cannot be looked at is left to the tasks, whose errors say what is wrong, unless it is gone again. */
  private def looking(file: ListedFile)(body: Boolean => Option[TakenPart]): Option[TakenPart] = {
    val settled = isSettled(file)
    if (!settled) young += 1
    try body(settled)
    catch {
      case NonFatal(e) =>
        val there = Try(exists(file.path)).getOrElse(true)
        if (there) logWarning(s"${file.path} could not be looked at ($e)")
        Option.when(there && settled && seen.of(file.path).isEmpty)(whole(file, None))
    }
  }

  private def whole(file: ListedFile, growth: Option[Growth]): TakenPart =
    TakenPart(file.path, 0, file.length, file.length, file.modified, None, growth)

  private def first(file: ListedFile, settled: Boolean): Option[TakenPart] =
    if (settled) {
      // Somebody may pause in writing it. To look at all files would take long.
      val mayGrow = follows && clock() - file.modified < StillWritten
      val follow = mayGrow && WholeRecords.of(capture(file.path, math.min(file.length, Looked)), 0, null) != null
      Some(whole(file, if (follow) Some(growth(file, 0, None, math.min(file.length, Checked))) else None))
    } else if (!follows) None
    else
      for {
        records <- Option(WholeRecords.of(capture(file.path, file.length), 0, null))
        if records.end > LongestHeader
      } yield TakenPart(file.path, 0, records.end, file.length, file.modified, None, Some(growth(file, records)))

  private def further(file: ListedFile, last: TakenPart, settled: Boolean): Option[TakenPart] =
    last.growth match {
      case Some(known) if file.length >= last.until && isSame(file, known) =>
        if (file.length == last.until) None else grown(file, last, known, settled)
      case _ => leave(file)
    }

  private def isSame(file: ListedFile, known: Growth): Boolean =
    WholeRecords.checksum(capture(file.path, file.length), known.first) == known.checksum

  private def grown(file: ListedFile, last: TakenPart, known: Growth, settled: Boolean): Option[TakenPart] = {
    // What was taken may end in the middle of a record: its rest is there now, so it is read again from its beginning.
    // Tasks went past damage before it, and so must this: what lies behind would be read again.
    val begin =
      if (known.whole == last.until) Some(known.whole -> known.headers)
      else read(file.path, last.until, known).map(r => r.end -> plain(r.headers))
    begin.flatMap { case (from, headers) =>
      val here = known.copy(whole = from, headers = headers)
      if (settled) {
        // A file that was short when it was seen first had little to be told by.
        val told = growth(file, from, headers, math.min(file.length, Checked))
        Some(TakenPart(file.path, from, file.length, file.length, file.modified, headers, Some(told)))
      } else
        follow(file.path, file.length, here).filter(_.end > math.max(from, last.until)).map { records =>
          TakenPart(file.path, from, records.end, file.length, file.modified, headers, Some(growth(file, records)))
        }
    }
  }

  private def follow(path: String, length: Long, known: Growth): Option[WholeRecords] =
    Option(WholeRecords.of(capture(path, length), known.whole, boxed(known.headers)))

  private def read(path: String, length: Long, known: Growth): Option[WholeRecords] =
    Option(WholeRecords.pastDamage(capture(path, length), known.whole, boxed(known.headers)))

  private def growth(file: ListedFile, records: WholeRecords): Growth =
    growth(file, records.end, plain(records.headers), math.min(records.end, Checked))

  private def growth(file: ListedFile, whole: Long, headers: Option[Seq[Long]], first: Long): Growth =
    Growth(whole, headers, first.toInt, WholeRecords.checksum(capture(file.path, file.length), first.toInt))

  private def plain(headers: java.util.List[java.lang.Long]): Option[Seq[Long]] =
    Some(headers.asScala.toSeq.map(_.toLong))

  private def leave(file: ListedFile): Option[TakenPart] = {
    if (leftAlone.put(file.path, file).forall(_ != file))
      logWarning(
        s"${file.path} was changed after it had been taken, and is left alone: it shrank, or is another file now, or is of a " +
          "kind that cannot be followed while it grows. Move files in when they are complete, or write captures without " +
          "compression."
      )
    None
  }

  private def isSettled(file: ListedFile): Boolean =
    clock() - file.modified >= fileAgeMillis || {
      val now = TimeUnit.NANOSECONDS.toMillis(System.nanoTime())
      watched.get(file.path) match {
        case Some((same, since)) if same == file => now - since >= fileAgeMillis
        case _ =>
          watched(file.path) = file -> now
          false
      }
    }
}

private object PendingFiles {

  /** How long after its last change a file is looked at, in case it is a capture in the making. */
  private val StillWritten = TimeUnit.HOURS.toMillis(1)

  /** How many of its bytes, to learn whether it is a capture. */
  private val Looked = 4096L

  /** How many of its bytes tell it from another file. */
  private val Checked = 512L

  /** A file of no more than this has no packet. */
  private val LongestHeader = 24L

  private def boxed(headers: Option[Seq[Long]]): java.util.List[java.lang.Long] =
    headers.map(_.map(Long.box).asJava).orNull
}
