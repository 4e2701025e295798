package io.phantoms.spark.lab.windows.papers

import java.nio.file.{Files, Path}
import java.util.Locale

/**
 * One number of a paper beside ours.
 *
 * @param what the quantity, with its parameters
 * @param paper None: the paper shows it only in a picture, or not at all
 */
final case class Compared(what: String, paper: Option[Double], ours: Double) {

  /** Relative to the paper's number. */
  def difference: Option[Double] = paper.filter(_ != 0).map(ours / _ - 1)
}

object Compared {
  def apply(what: String, paper: Double, ours: Double): Compared = Compared(what, Some(paper), ours)
  def ours(what: String, value: Double): Compared = Compared(what, None, value)
}

/** A table or figure of a paper. */
final case class PaperTable(title: String, rows: Seq[Compared])

/** What can be computed of one paper: as JSON, and as the part of a page between two marks. */
final case class PaperReport(name: String, tables: Seq[PaperTable]) {
  import PaperReport._

  def writeJson(file: Path): Unit = {
    val rows = tables.flatMap { t =>
      t.rows.map { r =>
        s"""    {"table": "${t.title}", "what": "${r.what}", "paper": ${optional(r.paper)}, """ +
          s""""ours": ${number(r.ours)}, "difference": ${optional(r.difference)}}"""
      }
    }
    val text = rows.mkString(s"{\n  \"name\": \"$name\",\n  \"rows\": [\n", ",\n", "\n  ]\n}\n")
    val _ = Files.writeString(file, text)
  }

  /** Replaces what the page has between its marks. */
  def writePage(file: Path): Unit = {
    val page = Files.readString(file)
    val (begin, end) = (page.indexOf(Begin), page.indexOf(End))
    require(begin >= 0 && end > begin, s"$file has no marks")
    val text = page.take(begin + Begin.length) + "\n" + tables.map(markdown).mkString + page.drop(end)
    val _ = Files.writeString(file, text)
  }

  private def markdown(table: PaperTable): String = {
    val rows = table.rows.map { r =>
      val difference = r.difference.fold("") { d =>
        if (math.abs(d) < 5e-4) "0" else String.format(Locale.ROOT, "%+.1f %%", d * 100)
      }
      s"| ${r.what.replace("|", "\\|")} | ${r.paper.fold("")(shown)} | ${shown(r.ours)} | $difference |\n"
    }
    s"\n### ${table.title.replace("|", "\\|")}\n\n| | Paper | Ours | Difference |\n| --- | --- | --- | --- |\n${rows.mkString}"
  }
}

object PaperReport {
  val Begin = "<!-- results -->"
  val End = "<!-- end of results -->"

  private def optional(x: Option[Double]): String = x.fold("null")(number)

  private def number(x: Double): String =
    if (x.isInfinite) "null"
    else if (x == math.rint(x) && x.abs < 1e15) x.toLong.toString
    else String.format(Locale.ROOT, "%.6g", x)

  private def shown(x: Double): String =
    if (math.abs(x - math.rint(x)) < 1e-9 || x.abs >= 1000) String.format(Locale.ROOT, "%,d", Math.round(x))
    else if (x.abs >= 10) String.format(Locale.ROOT, "%.2f", x)
    else String.format(Locale.ROOT, "%.4g", x)
}
