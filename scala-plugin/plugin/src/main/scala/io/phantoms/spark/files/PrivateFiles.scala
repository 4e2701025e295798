package io.phantoms.spark.files

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardOpenOption}
import java.nio.file.attribute.{FileAttribute, PosixFilePermissions}

/**
 * Files that only their owner may read, where the file system knows owners. Statistics hold the filters of queries, and
 * with them names, numbers and whatever else was searched for.
 */
private[spark] object PrivateFiles {

  /** Makes a directory and those above it that are missing. One that is there keeps its permissions. */
  def createDirectories(directory: Path): Path =
    if (Files.isDirectory(directory)) directory
    else Files.createDirectories(directory, permissions(directory, "rwx------"): _*)

  /** Writes a text; a file that is there keeps its permissions. */
  def write(file: Path, text: String): Unit = {
    import StandardOpenOption.{CREATE, TRUNCATE_EXISTING, WRITE}
    val options = java.util.Set.of(CREATE, TRUNCATE_EXISTING, WRITE)
    val channel = Files.newByteChannel(file, options, permissions(file, "rw-------"): _*)
    try {
      val bytes = ByteBuffer.wrap(text.getBytes(UTF_8))
      while (bytes.hasRemaining) channel.write(bytes)
    } finally channel.close()
  }

  private def permissions(file: Path, which: String): Seq[FileAttribute[_]] =
    if (file.getFileSystem.supportedFileAttributeViews.contains("posix"))
      Seq(PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(which)))
    else Nil
}
