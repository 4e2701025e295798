package io.phantoms.spark.house

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

/** A Scala or Java file of a module. */
final case class Source(module: String, path: String, text: String) {

  /** Without comments. Strings stay: a class that is named in one is known as well. */
  lazy val code: String = Source.withoutComments(text)

  /** Packages by their clauses: of `package a.b` and `package c` both `a.b` and `a.b.c`, whose members need no import. */
  lazy val packages: Seq[String] = {
    val clauses = "(?m)^\\s*package\\s+([\\w.]+)".r.findAllMatchIn(code).map(_.group(1)).toSeq
    clauses.scanLeft("")((outer, clause) => if (outer.isEmpty) clause else s"$outer.$clause").tail
  }

  lazy val room: String = packages.lastOption.getOrElse("").stripPrefix(House.Root).stripPrefix(".")
}

object Source {

  /** All main sources of a module below the working directory. */
  def of(module: String): Seq[Source] = {
    val root = Path.of("scala-plugin", module, "src", "main")
    val found = Files.walk(root)
    try found.iterator.asScala.filter(p => p.toString.endsWith(".scala") || p.toString.endsWith(".java"))
        .map(p => Source(module, p.toString, Files.readString(p))).toVector
    finally found.close()
  }

  // A comment, or what may hold the signs of one without being it: strings of three quotes or one, and characters.
  private val Token =
    "(?s)/\\*.*?\\*/|//[^\\n]*|(\"\"\".*?\"\"\"+|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])')".r

  def withoutComments(text: String): String = Token.replaceAllIn(
    text,
    m => java.util.regex.Matcher.quoteReplacement(Option(m.group(1)).getOrElse(" "))
  )
}
