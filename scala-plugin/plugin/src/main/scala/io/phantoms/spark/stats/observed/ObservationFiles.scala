package io.phantoms.spark.stats.observed

import java.io.IOException
import java.net.URI
import java.nio.file._
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.phantoms.spark.conf.PlanningMemory
import io.phantoms.spark.files.{PrivateFiles, SmallFile}
import io.phantoms.spark.keep.Kept

import org.apache.spark.internal.Logging

/**
 * Observations in files of the driver, one JSON file an input. They are written by a thread of their own, each as a whole
 * (written aside, then moved), and never over a file that is not one of ours. Nothing here throws: what goes wrong is
 * WARNed about once, and the observations stay in memory.
 */
private[observed] final class ObservationFiles extends Logging {
  import ObservationFiles._

  /** State of each file when it was last read or written. */
  private val seen = new Kept[Path, State](
    PlanningMemory.FileBytes,
    (p, s) => 200 + 2 * PlanningMemory.weigh(p.toString) + PlanningMemory.weigh(s.file)
  )
  private val warned = ConcurrentHashMap.newKeySet[String]()
  private val dirty = mutable.LinkedHashMap.empty[Path, StoredObservation]
  private var writer: Option[Thread] = None

  /** What the file of an input holds, unless it is what was last read or written here. */
  def changed(directory: String, key: ObservedKey): Option[StoredObservation] =
    folder(directory).map(_.resolve(name(key))).flatMap { file =>
      state(file).filter(s => !seen.get(file).contains(s)).flatMap { s =>
        remember(file, s)
        read(file).toOption
      }
    }

  /** All inputs that a directory has files of. */
  def readAll(directory: String): Seq[StoredObservation] = ours(directory).flatMap(read(_).toOption)

  /** Writes an observation soon. */
  def write(directory: String, stored: StoredObservation): Unit = folder(directory).foreach { folder =>
    dirty.synchronized {
      if (dirty.size < MostFiles) dirty.put(folder.resolve(name(stored.key)), stored)
      if (writer.isEmpty) {
        val thread = new Thread(() => writeAll(), "phantoms-observations")
        thread.setDaemon(true)
        writer = Some(thread)
        thread.start()
      }
    }
  }

  /** Waits for what is still to be written, a few seconds at most. */
  def flush(): Unit = dirty.synchronized(writer).foreach(_.join(TimeUnit.SECONDS.toMillis(MostSeconds)))

  def clear(directory: String): Unit = {
    dirty.synchronized(dirty.clear())
    flush()
    if (directory.nonEmpty) {
      ours(directory).filter(read(_).isRight).foreach { file =>
        try { val _ = Files.deleteIfExists(file) }
        catch { case e: IOException => warnOnce(file.toString, s"$file cannot be deleted: $e") }
      }
    }
    seen.clear()
  }

  private def writeAll(): Unit = {
    var next = take()
    while (next.isDefined) {
      next.foreach { case (file, stored) =>
        try write(file, stored)
        catch {
          case NonFatal(e) =>
            val folder = file.getParent.toString
            warnOnce(folder, s"observed statistics cannot be written to $folder, they stay in memory: $e")
        }
      }
      next = take()
    }
  }

  /** The next to write; None ends the thread. */
  private def take(): Option[(Path, StoredObservation)] = dirty.synchronized {
    val next = dirty.headOption
    next.foreach { case (file, _) => dirty.remove(file) }
    if (next.isEmpty) writer = None
    next
  }

  private def write(file: Path, stored: StoredObservation): Unit = {
    val folder = PrivateFiles.createDirectories(file.getParent)
    val now = state(file)
    // Another application may have been here since.
    val merged = if (now.isEmpty) Right(stored) else read(file).map(_.updated(stored))
    merged match {
      case Left(_) => // said already
      case Right(_) if now.isEmpty && isFull(folder) =>
        warnOnce(s"$folder full", s"$folder has $MostFiles observed inputs already; no more are written.")
      case Right(whole) =>
        val text = ObservationJson.render(whole)
        // Nobody could read it again.
        if (text.length > MostBytes) throw new IOException(s"${file.getFileName} would have ${text.length} characters")
        val aside = folder.resolve(s".${file.getFileName}.${UUID.randomUUID()}.tmp")
        try {
          PrivateFiles.write(aside, text)
          try Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
          catch {
            case _: AtomicMoveNotSupportedException => Files.move(aside, file, StandardCopyOption.REPLACE_EXISTING)
          }
        } finally { val _ = Files.deleteIfExists(aside) }
        state(file).foreach(remember(file, _))
    }
  }

  /** What a file says of the input that it has its name of. */
  private def read(file: Path): Either[String, StoredObservation] = {
    val stored =
      try {
        SmallFile.read(file, MostBytes).left.map(no => s"it ${no.why}").flatMap { text =>
          val said = ObservationJson.parse(text)
          if (file.getFileName.toString == name(said.key)) Right(said)
          else Left("it is about another input than its name says")
        }
      } catch {
        case e: ObservationJson.Unreadable => Left(e.getMessage)
        case e if SmallFile.isFailure(e) => Left(s"reading it failed (${e.getClass.getSimpleName})")
      }
    stored.left.foreach { why =>
      warnOnce(file.toString, s"$file cannot be used as observed statistics and is left alone: $why.")
    }
    stored
  }

  private def ours(directory: String): Seq[Path] = folder(directory).toSeq.flatMap { folder =>
    try listed(folder).take(MostFiles)
    catch {
      case _: NoSuchFileException => Nil
      case e: IOException =>
        warnOnce(folder.toString, s"the directory $folder cannot be read: $e")
        Nil
    }
  }

  private def isFull(folder: Path): Boolean = listed(folder).size >= MostFiles

  private def listed(folder: Path): Seq[Path] = {
    val stream = Files.newDirectoryStream(folder, s"$Prefix*.json")
    try stream.asScala.toSeq.sortBy(_.toString)
    finally stream.close()
  }

  private def folder(directory: String): Option[Path] =
    try Some(local(directory))
    catch {
      case NonFatal(e) =>
        warnOnce(directory, s"$directory is no directory of the driver, observed statistics stay in memory: $e")
        None
    }

  private def remember(file: Path, s: State): Unit = seen.put(file, s)

  private def state(file: Path): Option[State] =
    try {
      val a = Files.readAttributes(file, classOf[attribute.BasicFileAttributes])
      Some(State(a.lastModifiedTime, a.size, Option(a.fileKey).map(_.toString).getOrElse("")))
    } catch { case _: IOException => None }

  private def warnOnce(what: String, message: String): Unit =
    if (warned.size < MostWarnings && warned.add(what)) logWarning(s"spark-phantoms: $message")
}

object ObservationFiles {
  private val Prefix = "observed-"

  /** Bytes of one file: an input with a thousand groupings has some hundred thousand. */
  private[observed] val MostBytes: Int = 8 << 20

  private def local(directory: String): Path =
    if (directory.startsWith("file:")) Paths.get(URI.create(directory))
    else if (directory.contains("://")) throw new IllegalArgumentException("only local directories can be used")
    else Paths.get(directory)

  /** Files of one directory: filters that change from day to day would fill it. */
  private[observed] val MostFiles = 4096

  /** Of one kind each; what goes wrong with more files is not said. */
  private val MostWarnings = 256

  private val MostSeconds = 5L

  private[observed] final case class State(modified: attribute.FileTime, size: Long, file: String)

  private[observed] def name(key: ObservedKey): String = s"$Prefix${key.digest}.json"
}
