package io.phantoms.spark.source

import java.io.{FilterInputStream, InputStream}

import io.phantoms.spark.source.wire.CaptureFile

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * A file of a Hadoop file system, as if it had this length: what has been written to it since is not there. A record
 * that the end cuts would be whole for some readers, else, and not for others.
 */
private[source] final class HadoopFile(at: Path, override val length: Long, conf: Configuration) extends CaptureFile {
  override def path: String = at.toString

  override def open(offset: Long): InputStream = {
    val stream = at.getFileSystem(conf).open(at)
    try {
      if (offset > 0) stream.seek(offset)
      new BoundedInput(stream, math.max(0, length - offset))
    } catch {
      case e: Throwable =>
        stream.close()
        throw e
    }
  }
}

/** So many bytes of a stream. */
private final class BoundedInput(in: InputStream, most: Long) extends FilterInputStream(in) {
  private var left = most

  override def read(): Int =
    if (left <= 0) -1
    else {
      val byte = in.read()
      if (byte >= 0) left -= 1
      byte
    }

  override def read(bytes: Array[Byte], offset: Int, length: Int): Int =
    if (left <= 0 && length > 0) -1
    else {
      val n = in.read(bytes, offset, math.min(length.toLong, left).toInt)
      if (n > 0) left -= n
      n
    }

  override def skip(n: Long): Long = {
    val skipped = in.skip(math.min(n, left))
    left -= skipped
    skipped
  }

  override def available(): Int = math.min(in.available().toLong, left).toInt

  override def markSupported(): Boolean = false
}
