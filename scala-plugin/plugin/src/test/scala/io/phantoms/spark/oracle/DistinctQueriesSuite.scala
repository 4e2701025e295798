package io.phantoms.spark.oracle

import scala.util.Random

import io.phantoms.spark.Turns

import org.scalatest.funsuite.AnyFunSuite

/** Random queries with DISTINCT: keys, functions, conditions, grouping sets, joins and filters in any combination. */
class DistinctQueriesSuite extends AnyFunSuite with TrapTables {

  private val keys = IndexedSeq("a", "b", "z", "n", "dt", "x", "flag", "a % 2", "s.u", "upper(b)")
  private val values = keys ++ IndexedSeq("c", "d", "w", "f", "by", "sh", "ts", "bin", "s", "r", "ym", "c % 5", "1")
  private val numbers = IndexedSeq("a", "c", "d", "w", "by", "sh", "n", "x", "z + 1", "2")
  private val conditions = IndexedSeq(
    "c > 40",
    "z = 1",
    "flag",
    "b <> 'k1'",
    "x > 1",
    "a is null",
    "not flag or n = 1",
    "c < -1000",
    "a in (0, 2) and c > 0"
  )

  private final class Query(random: Random) {
    private def one(of: IndexedSeq[String]): String = of(random.nextInt(of.size))
    private def chance(n: Int): Boolean = random.nextInt(n) == 0
    private def some(most: Int, of: => String): Seq[String] = Seq.fill(1 + random.nextInt(most))(of)

    private def maybe(value: String): String =
      if (!chance(3)) value
      else if (chance(2)) s"if(${one(conditions)}, $value, null)"
      else s"case when ${one(conditions)} then $value end"

    private def filtered(call: String): String =
      if (chance(4)) s"$call filter (where ${one(conditions)})" else call

    private def distinct: String = filtered(random.nextInt(5) match {
      case 0 => s"sum(distinct ${maybe(one(numbers))})"
      case 1 => s"avg(distinct ${maybe(one(numbers))})"
      case 2 => s"count(distinct ${some(3, one(values)).mkString(", ")})"
      case _ => s"count(distinct ${maybe(one(values))})"
    })

    private def ordinary: String = filtered(random.nextInt(5) match {
      case 0 => "count(*)"
      case 1 => s"sum(${one(numbers)})"
      case 2 => s"avg(${one(numbers)})"
      case 3 => s"max(${one(values)})"
      case _ => s"count(${one(values)})"
    })

    private def aggregate: String = {
      val by = if (chance(4)) Nil else some(3, one(keys)).distinct
      val calls = some(5, distinct) ++ (if (chance(3)) Nil else some(3, ordinary))
      val grouping = if (by.isEmpty) ""
      else s"group by ${if (chance(3)) s"cube(${by.mkString(", ")})" else by.mkString(", ")}"
      val where = if (chance(3)) s"where ${one(conditions)}" else ""
      val having = if (by.nonEmpty && chance(5)) "having count(distinct c) > 2" else ""
      val columns = (by ++ calls).zipWithIndex.map { case (c, i) => s"$c as c$i" }.mkString(", ")
      s"select $columns from ${if (chance(12)) "none" else "t"} $where $grouping $having"
    }

    val sql: String =
      if (chance(3)) s"select * from ($aggregate) l cross join (select count(*) m, max(c0) h from ($aggregate)) r"
      else aggregate
  }

  test("random queries") {
    val count = if (Turns.full) 250 else 8
    val queries = (0 until count).map(i => new Query(new Random(Turns.seed * count + i)).sql)
    val acted = queries.count { sql =>
      val expected = plain(spark.sql(sql))
      val actual = shared(spark.sql(sql))
      same(expected, actual, ordered = false, s"$sql\n${actual.plan}")
      assert(expected.result.isRight, s"$expected\n$sql")
      actual.hasPluginNode
    }
    // One grouping alone is left alone, and of rows that are none nothing may be left.
    assert(if (Turns.full) acted * 2 > count else acted > 0, s"$acted of $count")
  }
}
