package io.phantoms.spark.detect

import scala.util.{Random, Try}

import io.phantoms.spark.Turns

import org.scalatest.funsuite.AnyFunSuite

/** Seeded random queries: whatever detection makes of them, plain groupBys over its workload give the same rows. */
class RandomQueriesSuite extends AnyFunSuite with DetectionTestSession {
  private val columns = IndexedSeq("a", "b", "dt", "flag", "s.u", "a + 1", "length(b)", "ts", "f", "x", "w", "r")
  private val calls = IndexedSeq(
    "count(*)",
    "count(a)",
    "sum(c)",
    "sum(a)",
    "avg(c)",
    "avg(d)",
    "sum(d)",
    "min(b)",
    "max(b)",
    "max(dt)",
    "min(ts)",
    "sum(x)",
    "avg(x)",
    "max(flag)",
    "sum(c) filter (where a > 1)",
    "count(*) filter (where b = 'k1')",
    "sum(c) + count(*)",
    "coalesce(max(a), -1)",
    "try_sum(w)"
  )
  private val filters = IndexedSeq("", "", " where c > 20", " where a is not null and x < 40")

  private def some(random: Random, from: IndexedSeq[String], least: Int, most: Int): Seq[String] =
    random.shuffle(from).take(least + random.nextInt(most - least + 1))

  private def groupingSets(random: Random): String = {
    val keys = some(random, columns, 1, 3)
    val grouping = random.nextInt(4) match {
      case 0 => s"cube(${keys.mkString(", ")})"
      case 1 => s"rollup(${keys.mkString(", ")})"
      case 2 => s"${keys.head}, rollup(${keys.mkString(", ")})"
      case _ =>
        // `()` alone and duplicates are as likely as anything else.
        val sets = Seq.fill(2 + random.nextInt(3))(keys.filter(_ => random.nextBoolean()).mkString("(", ", ", ")"))
        s"grouping sets (${(sets :+ keys.mkString("(", ", ", ")")).mkString(", ")})"
    }
    // HAVING resolves plain columns only.
    val plain = keys.filter(_.matches("[a-z]+"))
    val having = random.nextInt(5) match {
      case 0 => " having count(*) > 5"
      case 1 if plain.nonEmpty => s" having ${plain.head} is not null"
      case 2 if plain.nonEmpty => s" having grouping(${plain.last}) = 0 or count(*) > 10"
      case _ => ""
    }
    val ids = if (random.nextBoolean()) Seq(s"grouping(${keys.head})", "grouping_id()") else Nil
    val shown = random.shuffle(keys ++ ids ++ some(random, calls, 0, 4))
    s"select ${shown.mkString(", ")} from t${filters(random.nextInt(filters.size))} group by $grouping$having"
  }

  private def union(random: Random): String = {
    val filter = filters(random.nextInt(filters.size))
    val branches = Seq.fill(2 + random.nextInt(4)) {
      val keys = some(random, columns, 0, 2)
      val call = s"cast(${calls(random.nextInt(calls.size))} as string)"
      val shown = keys.headOption.map(k => s"cast($k as string)").getOrElse("'all'")
      val grouping = if (keys.isEmpty) "" else s" group by ${keys.mkString(", ")}"
      val where = if (random.nextInt(6) == 0) " where c > 50" else filter
      val having = if (random.nextInt(4) == 0) " having count(*) > 3" else ""
      s"select $shown k, $call v, count(*) n from t$where$grouping$having"
    }
    val all = branches.mkString(" union all ")
    random.nextInt(4) match {
      case 0 => s"select v, k from ($all)"
      case 1 => s"select k, n from ($all) where n > 4"
      case 2 => s"select k, sum(n) from ($all) group by k"
      case _ => all
    }
  }

  private def check(kind: String, make: Random => String, least: Int): Unit = {
    val random = new Random(20240607)
    var found = 0
    // Some random texts are no queries: plain Spark refuses, say, grouping() where one global set is all there is.
    val valid = Iterator.continually(make(random)).filter(q => Try(spark.sql(q)).isSuccess).take(40)
    // All are looked at; the rows of a quarter of them are compared.
    val compared = Turns.some(0 until 40, 10).toSet
    for ((sql, i) <- valid.zipWithIndex) {
      withClue(s"$kind $i: $sql\n") {
        val plan = planFor(sql)
        detectIn(plan) match {
          case Some(Right(candidate)) =>
            found += 1
            val replaced = WorkloadOracle.replace(plan, candidate)
            assert(replaced.schema.map(_.dataType) == plan.schema.map(_.dataType))
            if (compared(i))
              assert(WorkloadOracle.rows(spark, replaced) == WorkloadOracle.multiset(spark.sql(sql).collect().toSeq))
          case _ =>
        }
      }
    }
    // Rows that were never compared prove nothing.
    assert(found >= least, s"only $found of 40 queries were found to be shareable")
    ()
  }

  test("grouping sets")(check("grouping sets", groupingSets, 30))
  test("queries of one kind differ") {
    val random = new Random(1)
    assert(Seq.fill(20)(groupingSets(random)).distinct.size > 15 && Seq.fill(20)(union(random)).distinct.size > 15)
  }
  test("unions")(check("union", union, 25))
}
