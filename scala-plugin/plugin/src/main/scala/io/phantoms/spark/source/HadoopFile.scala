package io.phantoms.spark.source

import java.io.InputStream

import io.phantoms.spark.source.wire.CaptureFile

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** A file of a Hadoop file system. */
private[source] final class HadoopFile(at: Path, override val length: Long, conf: Configuration) extends CaptureFile {
  override def path: String = at.toString

  override def open(offset: Long): InputStream = {
    val stream = at.getFileSystem(conf).open(at)
    try {
      if (offset > 0) stream.seek(offset)
      stream
    } catch {
      case e: Throwable =>
        stream.close()
        throw e
    }
  }
}
