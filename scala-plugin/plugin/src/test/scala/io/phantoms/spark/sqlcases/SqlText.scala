package io.phantoms.spark.sqlcases

import scala.collection.mutable

/**
 * The statements of a text, each with the directives before it.
 *
 * @param rest directives after the last statement
 * @param wrong what cannot be read, by line
 */
final case class SqlText(
    statements: Seq[SqlText.Statement],
    rest: Seq[SqlText.Directive],
    wrong: Seq[(Int, String)]
)

object SqlText {

  /** A line `-- name: value`. */
  final case class Directive(line: Int, name: String, value: String)
  final case class Statement(line: Int, sql: String, directives: Seq[Directive])

  private val DirectiveLine = "--\\s*([A-Za-z]+)\\s*:(.*)".r

  def of(text: String): SqlText = {
    val statements = mutable.ArrayBuffer.empty[Statement]
    val directives = mutable.ArrayBuffer.empty[Directive]
    val wrong = mutable.ArrayBuffer.empty[(Int, String)]
    val sql = new StringBuilder
    var begins = 0
    var line = 1
    var at = 0
    def isOutside: Boolean = sql.forall(_.isWhitespace)
    while (at < text.length) text.charAt(at) match {
      case '-' if text.startsWith("--", at) =>
        val end = Option(text.indexOf('\n', at)).filter(_ >= 0).getOrElse(text.length)
        text.substring(at, end).trim match {
          case DirectiveLine(name, value) if isOutside => directives += Directive(line, name, value.trim)
          case DirectiveLine(_, _) => wrong += line -> "a directive within a statement"
          case _ =>
        }
        at = end
      case ';' =>
        if (isOutside) wrong += line -> "a ; with nothing before it"
        else statements += Statement(begins, sql.toString.trim, directives.toSeq)
        directives.clear()
        sql.clear()
        at += 1
      case quote @ ('\'' | '"' | '`') =>
        if (isOutside) begins = line
        val end = closing(text, at, quote)
        sql ++= text.substring(at, end)
        line += text.substring(at, end).count(_ == '\n')
        at = end
      case c =>
        if (isOutside && !c.isWhitespace) begins = line
        if (c == '\n') line += 1
        sql += c
        at += 1
    }
    if (!isOutside) wrong += begins -> "a statement without a ; at its end"
    SqlText(statements.toSeq, if (isOutside) directives.toSeq else Nil, wrong.toSeq)
  }

  /** Where what is quoted ends; a doubled quote opens the next one at once. */
  private def closing(text: String, open: Int, quote: Char): Int = {
    var at = open + 1
    while (at < text.length && text.charAt(at) != quote) at += (if (text.charAt(at) == '\\' && quote != '`') 2 else 1)
    math.min(at + 1, text.length)
  }
}
