package io.phantoms.spark.sqlcases

import scala.collection.mutable

/** What is to become of a query. */
sealed trait Expectation

object Expectation {
  case object IsShared extends Expectation
  final case class IsDeclined(code: String) extends Expectation

  /** Nothing of the plugin is in its plan, for whatever reason. */
  case object IsUntouched extends Expectation
}

/**
 * A query of a file.
 *
 * @param line where it begins, from 1
 * @param confs for this query alone
 * @param fails the class of the error that it is to fail with
 * @param ordered whether its rows have an order
 */
final case class SqlQuery(
    line: Int,
    sql: String,
    expect: Expectation,
    confs: Seq[(String, String)],
    fails: Option[String],
    ordered: Boolean
)

/**
 * A file of queries, each with what is to become of it.
 *
 * @param confs for all queries
 * @param tables that it reads and does not make itself
 * @param setup statements that make the others, with their lines
 */
final case class SqlFile(
    name: String,
    confs: Seq[(String, String)],
    tables: Seq[String],
    setup: Seq[(Int, String)],
    queries: Seq[SqlQuery]
)

object SqlFile {
  import Expectation._

  /** What is wrong in a file, or the file. CONTRIBUTING.md describes the form. */
  def parse(name: String, text: String): Either[Seq[String], SqlFile] = {
    val reader = new Reader(name)
    val SqlText(statements, rest, wrong) = SqlText.of(text)
    wrong.foreach { case (line, what) => reader.refuse(line, what) }
    statements.foreach(reader.statement)
    rest.foreach(d => reader.refuse(d.line, "a directive with no statement after it"))
    reader.result
  }

  private val Query = "(?is)^\\(*\\s*(select|with|from|values|table)\\b.*".r

  private final class Reader(name: String) {
    private val problems = mutable.ArrayBuffer.empty[(Int, String)]
    private val confs = mutable.ArrayBuffer.empty[(String, String)]
    private val tables = mutable.ArrayBuffer.empty[String]
    private val setup = mutable.ArrayBuffer.empty[(Int, String)]
    private val queries = mutable.ArrayBuffer.empty[SqlQuery]
    private var isHead = true

    def refuse(line: Int, what: String): Unit = problems += line -> what

    def result: Either[Seq[String], SqlFile] = {
      if (problems.isEmpty && queries.isEmpty) refuse(1, "no query")
      if (problems.isEmpty) Right(SqlFile(name, confs.toSeq, tables.toSeq, setup.toSeq, queries.toSeq))
      else Left(problems.sortBy(_._1).map { case (line, what) => s"$name, line $line: $what" }.toSeq)
    }

    def statement(s: SqlText.Statement): Unit = {
      val own = mutable.ArrayBuffer.empty[(String, String)]
      var expect, fails = Option.empty[String]
      var ordered = false
      s.directives.foreach { d =>
        d.name match {
          case "conf" => conf(d).foreach(c => if (isHead) confs += c else own += c)
          case "tables" if isHead => tables ++= words(d)
          case "tables" => refuse(d.line, "tables are said at the head of a file")
          case "expect" if expect.isEmpty => expect = Some(d.value)
          case "fails" if fails.isEmpty => fails = one(d)
          case "ordered" => if (one(d).contains("yes")) ordered = true else refuse(d.line, "say ordered: yes")
          case "expect" | "fails" => refuse(d.line, s"${d.name} is said twice of one query")
          case other => refuse(d.line, s"'$other' is no directive: use ${Directives.mkString(", ")}")
        }
      }
      isHead = false
      expect match {
        case Some(wanted) =>
          expectation(wanted) match {
            case Some(e) => queries += SqlQuery(s.line, s.sql, e, own.toSeq, fails, ordered)
            case None =>
              val line = s.directives.find(_.name == "expect").fold(s.line)(_.line)
              refuse(line, s"'$wanted' cannot be expected: shared, declined CODE, or untouched")
          }
        case None if Query.matches(s.sql) => refuse(s.line, "a query without a line -- expect: ... before it")
        case None if fails.isDefined || ordered || own.nonEmpty =>
          refuse(s.line, "directives of a query before a statement that is none")
        case None => setup += s.line -> s.sql
      }
    }

    private def expectation(text: String): Option[Expectation] = text.split("\\s+").toSeq match {
      case Seq("shared") => Some(IsShared)
      case Seq("untouched") => Some(IsUntouched)
      case Seq("declined", code) if code.matches("[A-Z][A-Z_]*") => Some(IsDeclined(code))
      case _ => None
    }

    private def conf(d: SqlText.Directive): Option[(String, String)] = d.value.split("=", 2) match {
      case Array(key, value) if key.trim.nonEmpty && value.trim.nonEmpty => Some(key.trim -> value.trim)
      case _ =>
        refuse(d.line, s"'${d.value}' is no conf: key=value")
        None
    }

    private def words(d: SqlText.Directive): Seq[String] = {
      val found = d.value.split(",").toSeq.map(_.trim).filter(_.nonEmpty)
      if (found.isEmpty) refuse(d.line, "no table is named")
      found
    }

    private def one(d: SqlText.Directive): Option[String] =
      if (d.value.matches("\\S+")) Some(d.value)
      else {
        refuse(d.line, s"${d.name} has one word")
        None
      }
  }

  private val Directives = Seq("conf", "tables", "expect", "fails", "ordered")
}
