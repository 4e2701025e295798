package io.phantoms.spark.explain

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

/** What users are told of queries, kept as text: a file for each. `-Dphantoms.golden.write=true` writes them anew. */
object GoldenTexts {
  val writes: Boolean = sys.props.get("phantoms.golden.write").contains("true")

  private val folder = Paths.get("scala-plugin/plugin/src/test/resources/golden/why-not")

  def names: Set[String] = {
    val files = Files.list(folder)
    try files.toArray.map(_.asInstanceOf[Path].getFileName.toString.stripSuffix(".txt")).toSet
    finally files.close()
  }

  def read(name: String): String = read(file(name))

  def write(name: String, text: String): Unit = write(file(name), text)

  private[explain] def read(file: Path): String = if (Files.exists(file)) Files.readString(file, UTF_8) else ""

  private[explain] def write(file: Path, text: String): Unit = {
    Files.createDirectories(file.getParent)
    val _ = Files.writeString(file, text, UTF_8)
  }

  private def file(name: String): Path = folder.resolve(s"$name.txt")
}
