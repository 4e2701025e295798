package io.phantoms.spark.source.stream

import io.phantoms.spark.source.wire.CaptureFile

import org.apache.spark.sql.connector.read.InputPartition

/**
 * A file as a listing shows it.
 *
 * @param path as a URI
 * @param modified when it was changed last, in milliseconds since 1970
 */
final case class ListedFile(path: String, length: Long, modified: Long)

/** What a stream of files asks of the source: the same that a batch is made of. */
trait StreamedFiles {

  /** The files that are there now. */
  def list(): Seq[ListedFile]

  def exists(path: String): Boolean

  /** A file on the driver, as if it had this length. */
  def capture(path: String, length: Long): CaptureFile

  /** The tasks that read these parts. */
  def partitions(parts: Seq[TakenPart]): Array[InputPartition]

  /** Whether a part of a file can be read without what is before it. */
  def follows: Boolean

  /** Those that read what a partition has. */
  def readers: StreamReaders

  /** Where they are, for people. */
  def description: String
}
