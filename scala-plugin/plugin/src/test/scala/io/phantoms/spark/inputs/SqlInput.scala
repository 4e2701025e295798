package io.phantoms.spark.inputs

/**
 * A file of statements from Spark's own SQL tests.
 *
 * @param settings what the file wants set
 * @param dimensions settings that the file wants its statements run under one after the other: of each dimension one
 */
final case class SqlInput(
    name: String,
    statements: Seq[String],
    settings: Seq[(String, String)],
    dimensions: Seq[Seq[Seq[(String, String)]]]
) {

  /** The settings of a turn: of each dimension another one with the next turn. */
  def confs(turn: Int): Seq[(String, String)] = settings ++ dimensions.zipWithIndex.flatMap { case (d, i) =>
    d(Math.floorMod(turn + i, d.size))
  }
}

object SqlInput {

  /** @param texts of all files, by name: one may import another */
  def of(name: String, texts: Map[String, String]): SqlInput = {
    val (comments, code) = texts(name).linesIterator.toSeq.partition { line =>
      line.trim.startsWith("--") && !line.trim.startsWith(Delimiter)
    }
    def after(word: String): Seq[String] = comments.map(_.trim).filter(_.startsWith(word)).map(_.drop(word.length).trim)
    val imported = after("--IMPORT ").map(of(_, texts))
    SqlInput(
      name,
      imported.flatMap(_.statements) ++ split(code),
      imported.flatMap(_.settings) ++ after("--SET ").flatMap(pairs),
      (1 to 9).map(n => after(s"--CONFIG_DIM$n ").map(pairs)).filter(_.nonEmpty)
    )
  }

  private val Delimiter = "--QUERY-DELIMITER"

  private def pairs(text: String): Seq[(String, String)] = text.split(",(?=\\s*spark\\.)").toSeq.map { pair =>
    val equals = pair.indexOf('=')
    pair.take(equals).trim -> pair.drop(equals + 1).trim
  }

  /** By semicolons, but where a statement that holds some is marked. */
  private def split(code: Seq[String]): Seq[String] = {
    val marked = code.indexWhere(_.trim.startsWith(s"$Delimiter-START"))
    val statements =
      if (marked < 0) code.mkString("\n").split("(?<=[^\\\\]);").toSeq
      else {
        val (before, rest) = code.splitAt(marked)
        val (inside, others) = rest.drop(1).span(!_.trim.startsWith(s"$Delimiter-END"))
        split(before) ++ Seq(inside.mkString("\n").trim.stripSuffix(";")) ++ split(others.drop(1))
      }
    statements.map(_.linesIterator.filterNot(_.startsWith("--")).mkString("\n").trim).filter(_.nonEmpty)
  }
}
