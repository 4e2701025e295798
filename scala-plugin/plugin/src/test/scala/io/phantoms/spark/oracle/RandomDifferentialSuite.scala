package io.phantoms.spark.oracle

import scala.collection.mutable
import scala.util.Random
import scala.util.control.NonFatal

import io.phantoms.spark.Turns
import io.phantoms.spark.decide.{Declined, Shared}
import io.phantoms.spark.explain.Explanations

import org.scalatest.exceptions.TestFailedException
import org.scalatest.funsuite.AnyFunSuite

/**
 * Random queries over random tables under random configurations and confs.
 *
 * The halves of the first 60 take turns. `-Dphantoms.fuzz=N` runs N queries, `-Dphantoms.fuzz.seed=S` the one of seed S
 * again (a failure names its seed),
 * `-Dphantoms.fuzz.from=S` starts at seed S.
 */
class RandomDifferentialSuite extends AnyFunSuite with RandomConfigurationSuite {
  import RandomDifferentialSuite._

  // A cached batch with NaN has statistics without it: plain Spark passes the batch by for `x > 3`, although NaN is larger.
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.sql.inMemoryColumnarStorage.partitionPruning" -> "false")

  private def property(name: String): Option[String] = sys.props.get(s"phantoms.fuzz$name").filter(_.nonEmpty)
  private val from = property(".seed").orElse(property(".from")).fold(1L)(_.toLong)
  private val count = if (property(".seed").isDefined) 1 else property("").fold(Few)(_.toInt)
  private val all = from until from + count
  private val drawn = if (Seq(".seed", ".from", "").exists(property(_).isDefined)) all else Turns.some(all, Few / 2)
  private var table: (Long, RandomTable) = _

  test(s"${drawn.size} random queries from seed ${drawn.head}") {
    val failures = mutable.ArrayBuffer.empty[String]
    var sharedQueries = 0
    drawn.foreach { seed =>
      try if (check(seed)) sharedQueries += 1
      catch {
        case e: TestFailedException => failures += s"seed $seed: ${e.getMessage}"
        case NonFatal(e) => failures += s"seed $seed: $e\n${e.getStackTrace.take(12).mkString("\n")}"
      }
    }
    info(s"$sharedQueries of ${drawn.size} queries were shared")
    if (failures.nonEmpty)
      fail(s"${failures.size} of ${drawn.size} queries failed:\n${failures.take(10).mkString("\n\n")}")
    if (drawn.size >= Few / 2) assert(sharedQueries >= drawn.size * 8 / 10, "too many queries were left alone")
  }

  /** @return whether the query was shared */
  private def check(seed: Long): Boolean = {
    val tableSeed = seed / QueriesPerTable
    if (table == null || table._1 != tableSeed) table = (tableSeed, RandomTables.create(spark, tableSeed))
    val random = new Random(seed)
    random.nextInt()
    val sql = new RandomQueries(table._2, random).next()
    val confs = Seq(
      "spark.sql.ansi.enabled" -> random.nextBoolean().toString,
      "spark.sql.adaptive.enabled" -> (random.nextInt(3) > 0).toString,
      "spark.phantoms.chooser" -> (if (random.nextBoolean()) "auto" else "gc"),
      "spark.phantoms.lfta.secondChance" -> random.nextBoolean().toString,
      "spark.phantoms.blocks.packed" -> random.nextBoolean().toString,
      "spark.sql.codegen.factoryMode" -> (if (seed % 4 == 3) "NO_CODEGEN" else "FALLBACK")
    )
    RandomSharing.seed = Option.when(random.nextInt(4) > 0)(seed)
    RandomSharing.last = "the chooser's"
    try {
      withConf(confs: _*) {
        val expected = plain(spark.sql(sql))
        val actual = shared(spark.sql(sql))
        def context = s"$sql\n${confs.mkString(", ")}, table of ${table._2.rows} rows, ${table._2.form}: " +
          s"${table._2.columns.map(c => s"${c.name} ${c.dataType.sql}${if (c.nullable) "" else " not null"}").mkString(", ")}\n" +
          s"${RandomSharing.last}\n${actual.plan}"
        same(expected, actual, ordered = false, context)
        if (expected.result.isRight && !actual.isShared) {
          val decisions = Explanations.explain(spark.sql(sql))
          val known = decisions.forall {
            // Filters of their own, which may fail: of branches, or of windows, which drop rows without a time.
            case Declined(_, reason) => AllowedReasons(reason.code) ||
              (reason.code == "DIFFERENT_INPUTS" &&
                (sql.contains("window(") || sql.contains(" where ") || sql.contains(" join "))) ||
              (reason.code == "INPUT_READ_TWICE" && sql.contains(" join "))
            // Adaptive execution takes a join of nothing out of the plan, and what else was joined with it.
            case _: Shared => actual.plan.contains("EmptyRelation")
          }
          assert(known, s"not shared: $decisions\n$context")
        }
        // A query that plain Spark refuses proves little.
        actual.isShared && expected.result.isRight
      }
    } finally RandomSharing.seed = None
  }
}

object RandomDifferentialSuite {
  private val Few = 60
  private val QueriesPerTable = 6

  /** What random queries may be declined for. */
  private val AllowedReasons = Set("SINGLE_AGGREGATE")
}
