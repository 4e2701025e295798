package io.phantoms.spark.oracle

import io.phantoms.spark.Turns

import org.scalatest.Suite

/** The same rows and errors without generated code. Plain Spark's side runs as ever. */
trait InterpretedVariants extends DifferentialSuite { this: Suite =>
  override protected def variants: Seq[Variant] = super.variants.map { v =>
    v.copy(label = s"${v.label}, interpreted", confs = v.confs :+ ("spark.sql.codegen.factoryMode" -> "NO_CODEGEN"))
  }
}

/** Queries over every type, interpreted and not, from batches and rows. */
class InterpretedSuite extends EverySecondTest with TakesTurns {
  override protected def createTables(): Unit = OracleTables.create(spark)

  override protected def turns: IndexedSeq[Seq[Variant]] = IndexedSeq(
    Seq("NO_CODEGEN" -> "true", "FALLBACK" -> "false"),
    Seq("NO_CODEGEN" -> "false", "FALLBACK" -> "true")
  ).map(_.map { case (mode, adaptive) =>
    Variant(
      s"$mode, adaptive $adaptive",
      Seq("spark.sql.codegen.factoryMode" -> mode, "spark.sql.adaptive.enabled" -> adaptive)
    )
  })

  private val queries = OracleTables.queries ++ Seq(
    // One error each: of two, the faster task's would be reported.
    "error of a key, with ANSI" -> "select 1 / z, a, count(*) from t group by cube(1 / z, a)",
    "error of an input, with ANSI" -> "select a, z, sum(cast(c as tinyint)) from t group by cube(a, z)",
    "error of a sum, with ANSI" ->
      "select a, z, sum(if(c > 100, 9223372036854775807, c)) from t group by cube(a, z)"
  )

  for {
    ((name, sql), q) <- queries.zipWithIndex
    (input, i) <- OracleTables.inputs.zipWithIndex
    // Of what fails in one mode only, both.
    ansi <- Turns.some(Seq("true", "false"), if (name.startsWith("error")) 2 else 1, q + i)
  } test(s"$name over $input, ANSI $ansi") {
    OracleTables.use(spark, input)
    withConf("spark.sql.ansi.enabled" -> ansi) {
      onTurn(q + Turns.slower(2)) {
        if (name.startsWith("error") && ansi == "true") checkFailsSharedSql(sql) else checkSharedSql(sql)
      }
    }
  }

  test("inputs without a row and without a file") {
    val queries = (t: String) =>
      Seq(
        s"select a, b, count(*), sum(c) from $t group by cube(a, b)",
        s"select a k, count(*) n, max(b) m from $t group by a union all select null, count(c), min(b) from $t"
      )
    for ((t, i) <- Seq("none", "nothing").zipWithIndex; (sql, q) <- queries(t).zipWithIndex)
      onTurn(i + q)(checkSharedSql(sql))
  }
}
