package io.phantoms.spark.conf

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

/** Writes `docs/configuration.md` (the file is the only argument; without one, prints it). */
object ConfDocs {
  val markdown: String = {
    val rows = PhantomsConf.all.map(c => s"| `${c.key}` | ${c.default} | ${c.doc.replace("|", "\\|")} | ${c.since} |")
    // Rows are joined after stripMargin, which would take the bar each begins with.
    s"""# Configuration
       |
       |All confs belong to the session and may be changed at any time (`spark.conf.set`, `SET`); a plan is made under
       |those in force when it is optimised. A wrong value is an error when it is set; an unknown key under
       |`${PhantomsConf.Prefix}` is warned about once. This page is made by `io.phantoms.spark.conf.ConfDocs`.
       |
       |""".stripMargin + ("| Key | Default | Meaning | Since |" +: "| --- | --- | --- | --- |" +: rows).mkString(
      "",
      "\n",
      "\n"
    )
  }

  def main(arguments: Array[String]): Unit = arguments match {
    case Array(file) =>
      val _ = Files.write(Paths.get(file), markdown.getBytes(UTF_8))
    case _ => print(markdown)
  }
}
