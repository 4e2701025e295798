package io.phantoms.spark.files

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file._
import java.nio.file.attribute.BasicFileAttributes

import scala.util.control.NonFatal

/**
 * Texts that the driver reads from files somebody named. Such a name may be anyone's mistake: of a pipe, from which
 * reading never returns, of a device without end, of another program's secrets. So only regular files are read, only up
 * to a size, and what goes wrong is said without a word of what a file holds.
 */
private[spark] object SmallFile {

  /** Why a file was not read. */
  sealed abstract class Refused {

    /** What is wrong with it, as the end of a sentence that begins with its name. */
    def why: String
  }
  case object Missing extends Refused {
    override def why: String = "does not exist on the driver"
  }
  final case class Unusable(why: String) extends Refused

  /**
   * The whole text of a file. Never throws, nor runs out of memory.
   *
   * @param most bytes it may have
   */
  def read(file: Path, most: Int): Either[Refused, String] =
    try {
      if (!Files.readAttributes(file, classOf[BasicFileAttributes]).isRegularFile)
        Left(Unusable("is not a regular file"))
      else {
        // Not by the size it claims to have: it may grow meanwhile, and some that claim none have no end.
        val in = Files.newInputStream(file)
        val bytes =
          try in.readNBytes(most + 1)
          finally in.close()
        if (bytes.length > most) Left(Unusable(s"has more than the $most bytes that are read of such a file"))
        else Right(new String(bytes, UTF_8))
      }
    } catch { case e if isFailure(e) => Left(refused(e)) }

  /** The same for a name, which need not be one that the file system takes. */
  def read(file: String, most: Int): Either[Refused, String] =
    try read(Paths.get(file), most)
    catch { case _: InvalidPathException => Left(Unusable("is not a file name")) }

  /** Failures that reading or parsing a file may come to, too little memory or stack for it among them. */
  def isFailure(e: Throwable): Boolean = e match {
    case NonFatal(_) | _: OutOfMemoryError | _: StackOverflowError => true
    case _ => false
  }

  // Messages of exceptions are not used: those of parsers quote.
  private def refused(e: Throwable): Refused = e match {
    case _: NoSuchFileException => Missing
    case _: AccessDeniedException | _: SecurityException => Unusable("must not be read by the driver")
    case _: OutOfMemoryError => Unusable("does not fit into the memory the driver has left")
    case _: IOException => Unusable(s"cannot be read on the driver (${e.getClass.getSimpleName})")
    case _ => Unusable(s"cannot be read on the driver (${e.getClass.getName})")
  }
}
