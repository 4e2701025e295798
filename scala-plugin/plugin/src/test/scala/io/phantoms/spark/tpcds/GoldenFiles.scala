package io.phantoms.spark.tpcds

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path, Paths}

import io.phantoms.spark.shims.BuildInfo

/**
 * Golden texts by the release of Spark: `NAME.txt` has those of the primary one, `MINOR/NAME.txt` the blocks of another
 * minor that differ, and nothing else.
 *
 * {{{
 * == q1
 * line
 * }}}
 */
final class GoldenFiles(folder: Path) {
  import GoldenFiles._

  /** The blocks of a file as a Spark minor has them, by title. */
  def read(name: String, minor: String = BuildInfo.current.sparkMinor): Map[String, Seq[String]] = {
    val common = blocks(file(name)).toMap
    if (minor == Primary) common else common ++ blocks(file(name, minor))
  }

  /** Keeps the blocks of a Spark minor: all of them of the primary one, of another those that differ from these. */
  def write(name: String, found: Seq[Block], minor: String = BuildInfo.current.sparkMinor): Unit =
    if (minor == Primary) put(file(name), found)
    else {
      val common = blocks(file(name)).toMap
      val differing = found.filterNot { case (title, lines) => common.get(title).contains(lines) }
      if (differing.nonEmpty) put(file(name, minor), differing)
      else { val _ = Files.deleteIfExists(file(name, minor)) }
    }

  private def file(name: String): Path = folder.resolve(s"$name.txt")
  private def file(name: String, minor: String): Path = folder.resolve(minor).resolve(s"$name.txt")
}

object GoldenFiles {

  /** A title and its lines. */
  type Block = (String, Seq[String])

  /** The minor whose texts the others are told apart from. */
  val Primary = "4.2"

  /** Those of this project. */
  val ofProject = new GoldenFiles(Paths.get("scala-plugin/plugin/src/test/resources/golden"))

  private val Title = "== "

  private def blocks(file: Path): Seq[Block] = {
    val lines = if (Files.notExists(file)) Nil else Files.readAllLines(file).toArray(Array.empty[String]).toSeq
    val starts = lines.indices.filter(lines(_).startsWith(Title)) :+ lines.size
    starts.zip(starts.drop(1)).map { case (from, to) =>
      lines(from).stripPrefix(Title) -> lines.slice(from + 1, to).filter(_.nonEmpty)
    }
  }

  private def put(file: Path, blocks: Seq[Block]): Unit = {
    val text = blocks.map { case (title, lines) => (s"$Title$title" +: lines).mkString("", "\n", "\n") }.mkString("\n")
    Files.createDirectories(file.getParent)
    val _ = Files.write(file, text.getBytes(StandardCharsets.UTF_8))
  }
}
