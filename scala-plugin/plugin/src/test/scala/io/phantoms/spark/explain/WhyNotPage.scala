package io.phantoms.spark.explain

import java.nio.file.{Path, Paths}
import java.util.regex.{Matcher, Pattern}

import io.phantoms.spark.detect.DeclineCode

/**
 * Writes `docs/why-not.md` anew (the file is the only argument; without one, prints it): the table of codes and the samples,
 * which are golden texts, each between two comments.
 */
object WhyNotPage {
  private val file: Path = Paths.get("docs/why-not.md")

  def read(): String = GoldenTexts.read(file)
  def write(text: String): Unit = GoldenTexts.write(file, text)

  /** The page with what is between comments made anew. */
  def made(text: String): String = {
    val found = Pattern.compile("(?s)<!-- (codes|golden/\\S+) -->\n.*?<!-- end -->").matcher(text)
    found.replaceAll(m => Matcher.quoteReplacement(s"<!-- ${m.group(1)} -->\n${section(m.group(1))}<!-- end -->"))
  }

  def main(arguments: Array[String]): Unit = arguments match {
    case Array(page) => GoldenTexts.write(Paths.get(page), made(GoldenTexts.read(Paths.get(page))))
    case _ => print(made(read()))
  }

  private def section(name: String): String = name match {
    case "codes" => codes
    case golden => s"```text\n${GoldenTexts.read(golden.stripPrefix("golden/"))}```\n"
  }

  private def codes: String = {
    val rows = DeclineCode.all.map(c => s"| ${c.name} | ${c.means} | ${c.advice} |")
    ("| Code | Met | What would help |" +: "| --- | --- | --- |" +: rows).mkString("", "\n", "\n")
  }
}
