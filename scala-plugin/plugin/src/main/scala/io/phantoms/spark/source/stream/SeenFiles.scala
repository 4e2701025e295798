package io.phantoms.spark.source.stream

import scala.collection.mutable

/**
 * What was taken of files, as far back as has to be known: files that were last changed longer before the newest one
 * than `maxFileAge` are forgotten, and no longer looked at.
 */
private[source] final class SeenFiles(maxFileAgeMillis: Long) {
  private val taken = mutable.HashMap.empty[String, TakenPart]
  private var newest = 0L
  private var oldest = 0L

  /** The last part that was taken of a file. */
  def of(path: String): Option[TakenPart] = taken.get(path)

  /** Whether a file that was changed then and that is not known was never seen. */
  def isNew(modified: Long): Boolean = modified >= oldest

  def add(part: TakenPart): Unit = {
    taken(part.path) = part
    newest = math.max(newest, part.modified)
  }

  /** Forgets files that are too old. Between batches only: all files of a batch are judged alike. */
  def purge(): Unit = {
    oldest = math.max(oldest, newest - maxFileAgeMillis)
    val _ = taken.filterInPlace((_, part) => part.modified >= oldest)
  }

  def all: Seq[TakenPart] = taken.values.toSeq.sortBy(p => (p.modified, p.path))

  def size: Int = taken.size
}
