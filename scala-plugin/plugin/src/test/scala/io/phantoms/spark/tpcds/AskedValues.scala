package io.phantoms.spark.tpcds

/**
 * What queries compare columns with: rows made of these pass the queries' filters often enough to have answers.
 *
 * Columns are known by what follows their table's prefix: `ca_zip` and `s_zip`, which are joined, have the same values.
 */
final class AskedValues(texts: Seq[String]) {
  import AskedValues._

  private val byColumn: Map[String, Vector[String]] = {
    val found = texts.flatMap { text =>
      val compared = Compared.findAllMatchIn(text).map(m => m.group(1) -> Seq(m.group(2)))
      val listed = Listed.findAllMatchIn(text).map(m => m.group(1) -> Value.findAllIn(m.group(2)).toSeq)
      val between = Between.findAllMatchIn(text).map(m => m.group(1) -> Seq(m.group(2), m.group(3)))
      compared ++ listed ++ between
    }
    found.groupMap(f => bare(f._1))(_._2.map(_.stripPrefix("'").stripSuffix("'"))).map { case (c, vs) =>
      c -> vs.flatten.toVector
    }
  }

  /** As often as they are asked for. */
  def of(column: String): Vector[String] = byColumn.getOrElse(bare(column), Vector.empty)
}

object AskedValues {
  private val Value = """'[^']*'|-?\d+(?:\.\d+)?""".r
  // Alone, or its beginning: substr(ca_zip, 1, 5).
  private val Column = """\b(?:substr(?:ing)?\(\s*)?(?:\w+\.)?(\w+)(?:\s*,\s*1\s*,\s*\d\))?"""
  private val Compared = s"(?i)$Column\\s*(?:<>|[<>]=?|=)\\s*($Value)".r
  private val Listed = s"(?i)$Column\\s+in\\s*\\(([^()]*)\\)".r
  private val Between = s"(?i)$Column\\s+between\\s+($Value)\\s+and\\s+($Value)".r

  def bare(column: String): String = column.toLowerCase.split("_", 2).last
}
