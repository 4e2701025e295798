package io.phantoms.spark.source.stream

import scala.collection.mutable

/**
 * What was taken of files, as far back as has to be known: files that were last changed longer before the newest one
 * than `maxFileAge` are forgotten, and no longer looked at.
 */
private[source] final class SeenFiles(maxFileAgeMillis: Long) {
  private val taken = mutable.HashMap.empty[String, TakenPart]

  // When files were changed that nothing was taken of since.
  private val touched = mutable.HashMap.empty[String, Long]
  private var newest = 0L
  private var oldest = 0L

  /** The last part that was taken of a file. */
  def of(path: String): Option[TakenPart] = taken.get(path)

  /** Whether a file that was changed then and that is not known was never seen. */
  def isNew(modified: Long): Boolean = modified >= oldest

  def add(part: TakenPart): Unit = {
    taken(part.path) = part
    touched -= part.path
    newest = math.max(newest, part.modified)
  }

  /** A file is there and was changed then: it is as old as that, or it would be new once it was forgotten. */
  def listed(path: String, modified: Long): Unit =
    if (taken.get(path).exists(_.modified < modified)) touched(path) = modified

  /** Passes over files that are too old, yet forgets none: which of them were changed since, only a listing tells. */
  def age(): Unit = oldest = math.max(oldest, newest - maxFileAgeMillis)

  /** Forgets files that are too old. Between batches only: all files of a batch are judged alike. */
  def purge(): Unit = {
    age()
    taken.filterInPlace((path, part) => math.max(part.modified, touched.getOrElse(path, 0L)) >= oldest)
    touched.filterInPlace((path, _) => taken.contains(path))
    ()
  }

  def all: Seq[TakenPart] = taken.values.toSeq.sortBy(p => (p.modified, p.path))

  def size: Int = taken.size
}
