package io.phantoms.spark.sqlcases

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.decide.{Declined, Shared}
import io.phantoms.spark.explain.Explanations
import io.phantoms.spark.oracle.{DifferentialSuite, OracleTables, Outcome}

import org.scalatest.exceptions.TestFailedException
import org.scalatest.funsuite.AnyFunSuite

/**
 * The files of `src/test/resources/sql-cases`: each query with the plugin and without it, and what is to become of it. A case
 * is added by writing a file; CONTRIBUTING.md has the form.
 *
 * Three files have their turn with each commit, all of them with `-Dphantoms.matrix.full=true`;
 * `-Dphantoms.sql=unions.sql,having.sql` runs some.
 */
class SqlCasesSuite extends AnyFunSuite with DifferentialSuite {
  import SqlCasesSuite._

  override protected def createTables(): Unit = OracleTables.create(spark)

  private val names = Using.resource(Files.list(Folder))(_.iterator.asScala.map(_.getFileName.toString).toSeq.sorted)
  private val chosen = sys.props.get("phantoms.sql").filter(_.nonEmpty) match {
    case Some(some) => some.split(',').toSeq.map(_.trim)
    case None => Turns.some(names.filter(_.endsWith(".sql")), 3)
  }
  private val run = chosen.zipWithIndex.map { case (name, i) =>
    name -> (Math.floorMod(Turns.seed + i + Turns.slower(names.size), 2) == 0)
  }

  test("all files can be read, and nothing else lies there") {
    val problems = names.filter(_.endsWith(".sql")).flatMap(n => read(n).left.getOrElse(Nil))
    assert(problems.isEmpty, problems.mkString("\n", "\n", ""))
    assert(names.filterNot(_.endsWith(".sql")).isEmpty && names.size >= 8)
  }

  run.foreach { case (name, adaptive) =>
    test(s"$name, adaptive $adaptive") {
      val file = read(name).fold(problems => fail(problems.mkString("\n")), identity)
      val failures = problemsOf(file, adaptive)
      if (failures.nonEmpty) fail(failures.mkString("\n", "\n\n", ""))
    }
  }

  /** What is not as the file says, each with its line. */
  private def problemsOf(file: SqlFile, adaptive: Boolean): Seq[String] = {
    val before = tables
    def at(line: Int, sql: String, what: String): String = s"${file.name}, line $line: $what\n$sql"
    val missing = file.tables.filterNot(before)
    val unknown = missing.map(t => s"${file.name}: no table $t; there are ${before.toSeq.sorted.mkString(", ")}")
    withConf(("spark.sql.adaptive.enabled" -> adaptive.toString) +: file.confs: _*) {
      try {
        val setup = file.setup.flatMap { case (line, sql) =>
          val made = plain(spark.sql(sql))
          made.result.left.toOption.map(error => at(line, sql, s"fails with $error"))
        }
        if (unknown.nonEmpty || setup.nonEmpty) unknown ++ setup
        else file.queries.flatMap { q =>
          try {
            withConf(q.confs: _*)(check(q))
            None
          } catch { case e: TestFailedException => Some(at(q.line, q.sql, e.getMessage)) }
        }
      } finally (tables -- before).foreach { t =>
          spark.sql(s"drop view if exists $t")
          spark.sql(s"drop table if exists $t")
        }
    }
  }

  private def tables: Set[String] = spark.catalog.listTables().collect().map(_.name).toSet

  private def check(query: SqlQuery): Unit = {
    val expected = plain(spark.sql(query.sql))
    (expected.result.left.toOption, query.fails) match {
      case (Some(error), None) => fail(s"plain Spark fails with $error")
      case (None, Some(wanted)) => fail(s"was to fail with $wanted, and does not")
      case (found, wanted) => assert(found == wanted)
    }
    val actual = shared(spark.sql(query.sql))
    decided(query, actual)
    same(expected, actual, query.ordered, actual.plan)
  }

  private def decided(query: SqlQuery, actual: Outcome): Unit = {
    // Of an adaptive plan, operators over nothing are gone when it has run: the text has the first plan, too.
    val isShared = actual.isShared || actual.plan.contains("PhantomsMerge")
    val decisions = Explanations.explain(spark.sql(query.sql))
    val reasons = decisions.collect { case Declined(_, reason) => reason.code }.distinct
    val said = if (reasons.isEmpty) "no reason is given" else s"reasons: ${reasons.mkString(", ")}"
    query.expect match {
      case Expectation.IsShared => if (!isShared) fail(s"was to be shared: $said\n${actual.plan}")
      case Expectation.IsDeclined(code) =>
        if (isShared) fail(s"was to be declined with $code, and is shared\n${actual.plan}")
        if (!reasons.contains(code)) fail(s"was to be declined with $code: $said")
      case Expectation.IsUntouched =>
        if (isShared || decisions.exists(_.isInstanceOf[Shared])) fail(s"was to be untouched\n${actual.plan}")
    }
  }

  private def made(text: String): Seq[String] =
    problemsOf(SqlFile.parse("made.sql", text).fold(p => fail(p.mkString("\n")), identity), adaptive = true)

  test("what is not as a file says is told with its line") {
    val sets = "select a, b, count(*) from t group by cube(a, b)"
    assert(made(s"-- expect: shared\n$sets;") == Nil)
    def one(text: String, line: Int, say: String): Unit = {
      val found = made(text)
      assert(found.size == 1 && found.head.startsWith(s"made.sql, line $line: ") && found.head.contains(say), found)
      ()
    }
    one(s"-- expect: untouched\n$sets;", 2, "was to be untouched")
    one(s"-- expect: declined NO_BENEFIT\n$sets;", 2, "is shared")
    one("-- expect: shared\nselect a, count(*) from t group by a;", 2, "reasons: SINGLE_AGGREGATE")
    one("-- expect: declined DISABLED\n\nselect a, count(*) from t group by a;", 3, "reasons: SINGLE_AGGREGATE")
    one(s"-- expect: shared\n-- fails: DIVIDE_BY_ZERO\n$sets;", 3, "and does not")
    one("-- expect: untouched\nselect 1 div 0;", 2, "plain Spark fails with DIVIDE_BY_ZERO")
    one("create view v;\n-- expect: untouched\nselect 1;", 1, "fails with PARSE_SYNTAX_ERROR")
    one(s"-- conf: ${PhantomsConf.Chooser.key}=none\n-- expect: shared\n$sets;", 3, "NO_BENEFIT")
    val other = made("-- tables: t, nobody\n-- expect: untouched\nselect 1;")
    assert(other.size == 1 && other.head.contains("no table nobody; there are dim, "))
    assert(made("create temporary view gone as select 1 x;\n-- expect: untouched\nselect x from gone;") == Nil)
    assert(!tables("gone"))
  }
}

object SqlCasesSuite {
  private val Folder: Path = Paths.get("scala-plugin/plugin/src/test/resources/sql-cases")

  private def read(name: String): Either[Seq[String], SqlFile] =
    if (Files.exists(Folder.resolve(name))) SqlFile.parse(name, Files.readString(Folder.resolve(name)))
    else Left(Seq(s"no file $name in $Folder"))
}
