package io.phantoms.spark.oracle

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf

import org.scalatest.funsuite.AnyFunSuite

/** A few queries of each kind under ANSI mode or not, adaptive execution, forms of the input and algorithms. */
class MatrixSuite extends AnyFunSuite with TakesTurns {
  override protected def createTables(): Unit = OracleTables.create(spark)

  // SMAP's other algorithms differ in their configurations alone, which RandomConfigurations varies more widely.
  override protected def turns: IndexedSeq[Seq[Variant]] = IndexedSeq(
    Seq("auto" -> "true", "gc" -> "false", "gp" -> "true"),
    Seq("auto" -> "false", "gc" -> "true", "epes" -> "true")
  ).map(_.map { case (algorithm, adaptive) =>
    Variant(
      s"adaptive $adaptive, chooser $algorithm",
      Seq("spark.sql.adaptive.enabled" -> adaptive, PhantomsConf.Chooser.key -> algorithm)
    )
  })

  private val queries = Seq(
    "cube" -> "select a, b, dt, count(*), sum(c), avg(x), min(b), max(d) from t group by cube(a, b, dt)",
    "filtered rollup" ->
      "select a, s.u, sum(w) filter (where z > 0), grouping_id() from t where c > -20 group by rollup(a, s.u)",
    "sets with HAVING" ->
      "select a, f, bin, count(b) n from t group by grouping sets ((a, f), (f, bin), (a), ()) having count(b) > 2",
    "union" ->
      """select a k, sum(c) v, max(x) m from t group by a
        |union all select by, count(*), min(x) from t group by by
        |union all select null, sum(sh), avg(c) from t""".stripMargin
  )

  for {
    ((name, sql), q) <- queries.zipWithIndex
    (input, i) <- OracleTables.inputs.zipWithIndex
    ansi <- Turns.some(Seq("true", "false"), 1, q + i)
  } test(s"$name over $input, ANSI $ansi") {
    OracleTables.use(spark, input)
    onTurn(q + Turns.slower(2))(withConf("spark.sql.ansi.enabled" -> ansi)(checkSharedSql(sql)))
  }

  test("a check of a plugin that does nothing fails") {
    val sql = queries.head._2
    withConf(PhantomsConf.Chooser.key -> "none") {
      val outcome = shared(spark.sql(sql))
      assert(!outcome.isShared && !outcome.hasPluginNode)
    }
    intercept[org.scalatest.exceptions.TestFailedException](checkSharedSql("select a, sum(c) from t group by a"))
    intercept[org.scalatest.exceptions.TestFailedException](checkDeclinedSql(sql, "NO_BENEFIT"))
    ()
  }
}
