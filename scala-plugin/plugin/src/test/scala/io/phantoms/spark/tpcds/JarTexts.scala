package io.phantoms.spark.tpcds

import java.net.JarURLConnection
import java.nio.charset.StandardCharsets
import java.util.zip.ZipFile

import scala.jdk.CollectionConverters._
import scala.util.Using

/** Texts that lie in the jar of Spark's own tests, which is on the class path: nothing of it is copied here. */
object JarTexts {

  /** A text, such as `("sql-tests/inputs/having.sql", "-- comment...")`. */
  type Text = (String, String)

  /** All texts of a folder and those below it, by path. */
  def sql(folder: String): Seq[Text] = Using.resource(open(folder)) { jar =>
    jar.entries.asScala
      .filter(e => e.getName.startsWith(s"$folder/") && e.getName.endsWith(".sql"))
      .map(e => e.getName -> new String(jar.getInputStream(e).readAllBytes, StandardCharsets.UTF_8))
      .toSeq.sortBy(_._1)
  }

  def lines(path: String): Seq[String] = Using.resource(loader.getResourceAsStream(path)) { in =>
    new String(in.readAllBytes, StandardCharsets.UTF_8).linesIterator.toSeq
  }

  private def loader: ClassLoader = Thread.currentThread.getContextClassLoader

  private def open(folder: String): ZipFile = loader.getResource(s"$folder/").openConnection match {
    case c: JarURLConnection => new ZipFile(c.getJarFileURL.getPath)
    case other => sys.error(s"$folder is not in a jar: ${other.getURL}")
  }
}
