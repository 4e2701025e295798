package io.phantoms.spark.fuzz

import java.nio.file.Files

import scala.sys.process.{Process, ProcessLogger}

import io.phantoms.spark.Turns
import io.phantoms.spark.oracle.DifferentialSuite

import org.scalatest.funsuite.AnyFunSuite

/** Cases that a wrong plugin gets wrong become small, and come out as programs. */
abstract class ShrinkerSuite extends AnyFunSuite with DifferentialSuite {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ FuzzSession.confs ++ Map(
    // Hundreds of small cases: compiling them takes longer than running them.
    "spark.sql.codegen.wholeStage" -> "false",
    "spark.sql.codegen.factoryMode" -> "NO_CODEGEN",
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.shuffle.partitions" -> "1"
  )

  /** How many rows the smallest table with the difference has. */
  protected def rows: Int

  /** Whether it takes so long that it runs with all settings only. */
  protected def isLong: Boolean = false

  private val name = "the first random query that comes out wrong, made small"
  if (isLong && !Turns.full) ignore(name)(shrink()) else test(name)(shrink())

  private def shrink(): Unit = {
    val runner = new Runner(spark)
    def isWrong(c: Case): Boolean = runner.run(c).difference.exists(_.kind == "ROWS")
    val start = Iterator.from(1).map(s => Case.draw(s.toLong)).filter(c => isUnion(c.query)).take(100)
      .map(c => c.copy(tables = c.tables.map(t => t.copy(rows = t.rows.take(20))), configuration = None))
      .find(isWrong).get
    val small = Shrinker.shrink(start, 600)(isWrong)
    val text = s"${start.sql}\nbecame\n${small.sql}\n${small.tables.map(_.rows).mkString("\n")}"
    assert(isWrong(small), text)
    assert(small.query.selects == 1, text)
    assert(small.tables.map(_.rows.size).sum <= rows, text)
    assert(small.confs.isEmpty, text)
    assert(pythonErrors(Script.of(small, s"ROWS: '\"\"\"' \\N \\u", FuzzSession.confs)) == "", text)
    ()
  }

  /** Of several groupBys over a table: one of aggregates over aggregates may need both to come out wrong. */
  private def isUnion(query: Query): Boolean = query match {
    case SetOperation("union all", branches) => branches.size > 2 && query.selects == branches.size
    case _ => false
  }

  private def pythonErrors(program: String): String = {
    val errors = new StringBuilder
    val file = Files.createTempFile("phantoms", ".py")
    Files.writeString(file, program)
    val parse = "import ast, sys; ast.parse(open(sys.argv[1], encoding='utf-8').read())"
    val log = ProcessLogger { line => errors.append(line).append('\n'); () }
    val status = Process(Seq("python3", "-c", parse, file.toString)).!(log)
    if (status == 0) "" else s"$errors\n$program"
  }
}

class LostNullShrinkerSuite extends ShrinkerSuite {
  override protected def extensions: String = classOf[LosesNull].getName
  override protected def rows: Int = 1
}

class LostAddendsShrinkerSuite extends ShrinkerSuite {
  override protected def extensions: String = classOf[LosesAddends].getName
  override protected def rows: Int = 2
  override protected def isLong: Boolean = true
}
