package io.phantoms.spark.oracle

import scala.collection.mutable
import scala.util.Random

import io.phantoms.spark.Turns

import org.scalatest.exceptions.TestFailedException
import org.scalatest.funsuite.AnyFunSuite

/**
 * Random queries whose expressions may fail: divisions, casts and overflows under FILTER, IF, CASE and HAVING, in
 * projections below and in conditions. Both sides have the same rows or the same error.
 *
 * The halves of the first 60 take turns. `-Dphantoms.fuzz.failing=N` runs N queries, `-Dphantoms.fuzz.failing.from=S`
 * starts at seed S;
 * `-Dphantoms.fuzz.failing.seeds=S,T` runs those of some seeds again.
 */
class FailingQueriesSuite extends AnyFunSuite with RandomConfigurationSuite {
  import FailingQueriesSuite._

  private def property(name: String): Option[String] = sys.props.get(s"phantoms.fuzz.failing$name").filter(_.nonEmpty)
  private val from = property(".from").fold(1L)(_.toLong)
  private val several: Seq[Long] = from until from + property("").fold(Few)(_.toInt)
  private val drawn = property(".seeds").map(_.split(',').map(_.toLong).toSeq)
    .getOrElse(if (Seq(".from", "").exists(property(_).isDefined)) several else Turns.some(several, Few / 2))
  private val count = drawn.size

  /** One task, so that plain Spark meets the rows in one order; of one kind of failure, since that of a row may be any. */
  override protected def createTables(): Unit = Kinds.foreach { kind =>
    val folder = java.nio.file.Files.createTempDirectory("phantoms-failing").toString
    val random = new Random(5)
    val rows = (0 until 24).map { i =>
      val odd = random.nextInt(8) == 0
      val z = if (odd && kind == "zero") 0 else 1 + random.nextInt(4)
      val s = if (odd && kind == "cast") "bad" else random.nextInt(9).toString
      val v = if (odd && kind == "overflow") "9223372036854775807" else random.nextInt(50).toString
      s"(${i % 3}, ${random.nextInt(3)}, $z, '$s', ${v}L, $odd)"
    }
    spark.sql(
      s"select * from values ${rows.mkString(", ")} as t(a, b, z, s, v, odd)"
    ).coalesce(1).write.mode("overwrite").parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView(s"files_$kind")
    spark.read.parquet(folder).repartition(1).createOrReplaceTempView(s"rows_$kind")
  }

  test(s"$count random queries that may fail, from seed ${drawn.head}") {
    val failures = mutable.ArrayBuffer.empty[String]
    var (sharedQueries, errors) = (0, 0)
    drawn.foreach { seed =>
      val random = new Random(seed)
      random.nextInt()
      val kind = Kinds(random.nextInt(Kinds.size))
      val sql = new Drawn(random, kind).query()
      val confs = Seq(
        "spark.sql.adaptive.enabled" -> random.nextBoolean().toString,
        "spark.sql.codegen.factoryMode" -> (if (seed % 4 == 3) "NO_CODEGEN" else "FALLBACK")
      )
      RandomSharing.seed = Option.when(random.nextInt(4) > 0)(seed)
      try withConf(confs: _*) {
          val expected = plain(spark.sql(sql))
          val actual = shared(spark.sql(sql))
          if (expected.result.isLeft) errors += 1
          if (actual.isShared) sharedQueries += 1
          same(expected, actual, ordered = false, s"$sql\n${confs.mkString(", ")}\n${actual.plan}")
        }
      catch { case e: TestFailedException => failures += s"seed $seed: ${e.getMessage}" }
      finally RandomSharing.seed = None
    }
    info(s"$sharedQueries of $count queries were shared, $errors failed on both sides")
    if (failures.nonEmpty) fail(s"${failures.size} of $count queries differ:\n${failures.take(10).mkString("\n\n")}")
    if (count >= Few / 2) {
      // Four of five in the long run, give or take; of the few of a turn any share is chance.
      val (few, least) = if (count <= Few) (20, 2) else (10, 7)
      assert(sharedQueries >= count * least / 10, "too many queries were left alone")
      assert(errors >= count / few && errors <= count * (few - 1) / few, "too few fail, or too many")
    }
  }
}

object FailingQueriesSuite {
  private val Few = 60
  private val Kinds = Vector("zero", "cast", "overflow")

  /** Grouping sets or a union over columns a, b, odd, an expression r that fails on some rows where odd is true, and v, z. */
  private final class Drawn(random: Random, kind: String) {
    private def pick(from: String*): String = from(random.nextInt(from.size))
    private val table = s"${pick("files", "rows")}_$kind"

    private val failing = kind match {
      case "zero" => Vector("10 / z", "20 div z", "v / z", "100 div z + 1")
      case "cast" => Vector("cast(s as int)", "cast(concat(s, '1') as bigint)", "cast(s as double) + a")
      case _ => Vector("v + 5", "v * 3", "2 * v + 1")
    }
    private def expression(): String = {
      val e = failing(random.nextInt(failing.size))
      random.nextInt(6) match {
        case 0 => s"if(odd, 0, $e)"
        case 1 => s"case when not odd then $e when a = 1 then 1 end"
        case 2 => s"coalesce(if(a > 5, 1, null), $e)"
        case _ => e
      }
    }
    private val projected = random.nextInt(3) == 0
    private val column = expression()
    private val source =
      if (projected) s"(select a, b, odd, v, z, s, $column r from $table)" else table
    private def value(): String = if (projected && random.nextInt(3) > 0) "r" else expression()

    private def function(): String = {
      val call = s"${pick("sum", "max", "min", "avg", "count")}(${
          random.nextInt(4) match {
            case 0 => s"if(odd, null, ${value()})"
            case _ => value()
          }
        })"
      // A total that leaves its type does so in another order.
      val safe = if (kind == "overflow" && (call.startsWith("sum") || call.startsWith("avg")))
        call.replaceFirst("sum|avg", "max")
      else call
      if (random.nextInt(3) == 0) s"$safe filter (where ${pick("not odd", "z > 1", "a = 1", "b <> 2")})" else safe
    }

    /** A condition of which parts may be NULL and one may fail. */
    private def condition(): String = random.shuffle(
      Seq(pick("not odd", "nullif(odd, true) is null", "not nullif(odd, true)", "nullif(b, 1) > 0", "a < 2")) ++
        (if (random.nextInt(2) == 0) Seq(s"${expression()} > 1") else Nil) ++
        (if (random.nextInt(2) == 0) Seq("b is not null", "nullif(a, 1) is not null") else Nil)
    ).mkString(" and ")

    /** Many aggregates under conditions, of one groupBy or of a cube. */
    private def conditionals(): String = {
      // As many as it takes to share them, and others.
      val sure = (0 until 8).map(i => s"count_if(z > ${i % 4} and a + 0D < $i)")
      val calls = sure ++ Seq.fill(1 + random.nextInt(6)) {
        random.nextInt(3) match {
          case 0 => s"sum(if(${condition()}, z, 0))"
          case 1 => s"max(${value()}) filter (where ${condition()})"
          case _ => s"count(*) filter (where ${condition()} and z > ${random.nextInt(9)})"
        }
      }
      val group = pick("a", "b", "cube(a)", "rollup(a, b)")
      s"select ${calls.zipWithIndex.map { case (e, i) => s"$e c$i" }.mkString(", ")}, count(*) n from $source$where group by $group"
    }
    private def key(): String = random.nextInt(5) match {
      case 0 if projected => "r"
      case 1 => expression()
      case _ => pick("a", "b", "odd")
    }
    private def having(keys: Seq[String]): String = random.nextInt(3) match {
      case 0 => " having " + pick(keys.map(k => s"$k is not null") ++ Seq("a = 1", "b > 0", "not odd").filter(c =>
          keys.exists(k => k.length < 4 && c.contains(k))
        ) ++ keys.map(k => s"grouping($k) = 1"): _*)
      case _ => ""
    }
    private def functions(): Seq[String] = {
      val one = function()
      // The same twice: plain Spark computes once what they have in common.
      Seq.fill(1 + random.nextInt(2))(function()) ++
        (if (random.nextInt(3) == 0) Seq(one, one.replaceFirst("^(sum|max|min|avg|count)", "max")) else Nil)
    }

    private def where: String = if (random.nextInt(4) == 0) s" where ${pick("not odd", "z > 1", "a <> 1")}" else ""

    def query(): String = if (random.nextInt(4) == 0) conditionals()
    else if (random.nextInt(3) > 0) {
      val keys = Seq.fill(2 + random.nextInt(2))(key()).distinct
      val group = if (random.nextBoolean()) "cube" else "rollup"
      s"select ${(keys ++ functions()).zipWithIndex.map { case (e, i) => s"$e c$i" }.mkString(", ")}, count(*) n " +
        s"from $source$where group by $group(${keys.mkString(", ")})${having(keys)}"
    } else {
      val filter = where
      val calls = functions()
      Seq.fill(2 + random.nextInt(2)) {
        val k = key()
        s"select cast($k as string) k, ${calls.zipWithIndex.map { case (e, i) => s"$e c$i" }.mkString(", ")}, count(*) n " +
          s"from $source$filter group by $k"
      }.mkString(" union all ")
    }
  }
}
