package io.phantoms.spark.lab.papers

import java.io.PrintWriter
import java.nio.file.{Files, Path}

/** Comma-separated files in one directory. */
private[papers] final class Results(directory: Path) {
  Files.createDirectories(directory)

  def csv(name: String, header: Seq[String])(rows: => Seq[Seq[Any]]): Unit = {
    val out = new PrintWriter(directory.resolve(s"$name.csv").toFile)
    try {
      out.println(header.mkString(","))
      rows.foreach(r => out.println(r.map(text).mkString(",")))
    } finally out.close()
    println(s"$name.csv")
  }

  private def text(value: Any): String = value match {
    case d: Double if d.isNaN => ""
    case d: Double if d == math.rint(d) && math.abs(d) < 1e9 => d.toLong.toString
    case d: Double => f"$d%.4f"
    case other => other.toString
  }
}

private[papers] object Results {
  def mean(xs: Iterable[Double]): Double = xs.sum / xs.size
}
