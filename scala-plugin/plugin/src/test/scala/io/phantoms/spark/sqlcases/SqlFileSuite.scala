package io.phantoms.spark.sqlcases

import org.scalatest.funsuite.AnyFunSuite

/** What may stand in a file of queries, and that whatever may not is named with its line. */
class SqlFileSuite extends AnyFunSuite {
  import Expectation._

  private def parsed(text: String): SqlFile =
    SqlFile.parse("some.sql", text).fold(e => fail(e.mkString("\n")), identity)
  private def refused(text: String): Seq[String] = SqlFile.parse("some.sql", text) match {
    case Left(problems) => problems
    case Right(file) => fail(s"accepted: $file")
  }

  test("confs, tables, setup, queries") {
    val file = parsed(
      """-- About something, with a note.
        |-- conf: spark.sql.ansi.enabled=true
        |-- tables: t, dim
        |create view v as select 1 a;
        |
        |-- expect: shared
        |select a -- a comment, not more
        |from v;
        |-- conf: x.y = a=b
        |-- expect: declined SINGLE_AGGREGATE
        |-- fails: DIVIDE_BY_ZERO
        |-- ordered: yes
        |with c as (select 1) select * from c;
        |-- expect: untouched
        |values (1);
        |""".stripMargin
    )
    assert(file.confs == Seq("spark.sql.ansi.enabled" -> "true") && file.tables == Seq("t", "dim"))
    assert(file.setup == Seq(4 -> "create view v as select 1 a"))
    assert(file.queries.map(_.line) == Seq(7, 13, 15))
    assert(file.queries.map(_.expect) == Seq(IsShared, IsDeclined("SINGLE_AGGREGATE"), IsUntouched))
    assert(file.queries.head.sql.linesIterator.map(_.trim).mkString(" ") == "select a from v")
    assert(file.queries(1).confs == Seq("x.y" -> "a=b") && file.queries(1).ordered)
    assert(file.queries.map(_.fails) == Seq(None, Some("DIVIDE_BY_ZERO"), None))
  }

  test("semicolons, comments and quotes within quotes") {
    val sql = "select ';' a, '-- expect: no' b, \"x;y\" c, `d;` e, 'it''s; \\'; \\\\' f"
    val file = parsed(s"-- expect: untouched\n$sql;\n-- expect: shared\nselect '\n;\n' ;\n")
    assert(file.queries.map(_.sql) == Seq(sql, "select '\n;\n'") && file.queries.map(_.line) == Seq(2, 4))
  }

  private val wrong: Seq[(String, String, String)] = Seq(
    ("a directive that is none", "-- expects: shared\nselect 1;", "line 1: 'expects' is no directive"),
    ("an expectation that is none", "\n-- expect: sharing\nselect 1;", "line 2: 'sharing' cannot be expected"),
    ("declined without a code", "-- expect: declined\nselect 1;", "line 1: 'declined' cannot be expected"),
    ("a code that is none", "-- expect: declined soon\nselect 1;", "line 1: 'declined soon' cannot be expected"),
    ("a query without one", "-- expect: shared\nselect 1;\n\nselect 2;", "line 4: a query without"),
    ("a query in brackets without one", "(select 2) union (select 3);", "line 1: a query without"),
    ("a conf without a value", "-- conf: a.b\n-- expect: shared\nselect 1;", "line 1: 'a.b' is no conf"),
    ("two expectations", "-- expect: shared\n-- expect: untouched\nselect 1;", "line 2: expect is said twice"),
    (
      "tables below the head",
      "-- expect: shared\nselect 1;\n-- tables: t\n-- expect: shared\nselect 1;",
      "line 3: tables"
    ),
    ("no end", "-- expect: shared\nselect 1;\n-- expect: shared\nselect 2", "line 4: a statement without a ;"),
    ("an end with nothing before", "-- expect: shared\nselect 1;;", "line 2: a ; with nothing"),
    ("a directive within", "select 1\n-- expect: shared\n;", "line 2: a directive within a statement"),
    ("a directive at the end", "-- expect: shared\nselect 1;\n-- conf: a=b\n", "line 3: a directive with no statement"),
    ("a query's directive before setup", "-- fails: X\ncreate view v as select 1;", "line 2: directives of a query"),
    ("an order in other words", "-- ordered: by a\n-- expect: shared\nselect 1;", "line 1: ordered"),
    ("nothing", "-- Only words.\n", "line 1: no query")
  )
  for ((name, text, say) <- wrong) test(s"wrong: $name") {
    val problems = refused(text)
    assert(problems.exists(_.contains(s"some.sql, $say")), problems)
  }

  test("all that is wrong is told at once, in order") {
    val problems = refused("-- expect: shared\nselect 1;\nselect 2;\n-- expect: x\nselect 3;")
    assert(problems.map(_.takeWhile(_ != ':')) == Seq("some.sql, line 3", "some.sql, line 4"))
  }
}
