package io.phantoms.spark.fuzz

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.util.control.NonFatal

import io.phantoms.spark.Turns
import io.phantoms.spark.oracle.{Difference, RandomConfigurationSuite}

import org.scalatest.funsuite.AnyFunSuite

/**
 * Random queries over random tables under random confs and configurations: rows, schema and errors off and on. What
 * differs is made small and written as a PySpark program.
 *
 * Parts of the first few take turns. `-Dphantoms.fuzz=N` runs N (`make fuzz`), `-Dphantoms.fuzz.from=S` begins with
 * seed S, `-Dphantoms.fuzz.seed=S` runs that one alone, `-Dphantoms.fuzz.pool=tiny` has 12 MB of execution memory.
 */
class FuzzSuite extends AnyFunSuite with RandomConfigurationSuite {
  import FuzzSuite._

  override protected def sessionConf: Map[String, String] = super.sessionConf ++ FuzzSession.confs ++
    (if (property(".pool").contains("tiny")) FuzzSession.tinyPool else Map.empty)

  private val from = property(".seed").orElse(property(".from")).fold(1L)(_.toLong)
  private val count = if (property(".seed").isDefined) 1 else property("").fold(Few)(_.toInt)
  private val all = from until from + count
  private val drawn = if (Seq(".seed", ".from", "").exists(property(_).isDefined)) all else Turns.some(all, PerTurn)

  test(s"${drawn.size} random queries from seed ${drawn.head}") {
    val runner = new Runner(spark)
    val tally = new Tally
    val failures = mutable.ArrayBuffer.empty[String]
    drawn.foreach { seed =>
      try {
        val c = Case.draw(seed)
        val run = runner.run(c)
        tally.add(run)
        run.difference.foreach(d => failures += report(runner, seed, c, d))
      } catch { case NonFatal(e) => failures += s"seed $seed: $e\n${e.getStackTrace.take(12).mkString("\n")}" }
      if (tally.total % Often == 0) println(s"seed $seed: ${tally.text}; ${failures.size} differ")
    }
    info(tally.text)
    if (failures.nonEmpty) fail(s"${failures.size} of ${drawn.size} differ:\n${failures.take(20).mkString("\n\n")}")
    // About six of ten in the long run; of the few of a turn a share of that is chance.
    if (drawn.size >= Many) assert(tally.share >= 0.5, s"too many queries were left alone: ${tally.text}")
    else if (drawn.size >= PerTurn) assert(tally.share > 0, s"all queries were left alone: ${tally.text}")
  }

  private val shrunk = mutable.Map.empty[String, Int].withDefaultValue(0)

  private def report(runner: Runner, seed: Long, c: Case, d: Difference): String = {
    shrunk(d.kind) += 1
    // What goes wrong in the same way often has the same cause, and making it small takes a minute.
    val small = if (shrunk(d.kind) > MostOfAKind) c
    else Shrinker.shrink(c, Attempts)(s => runner.run(s).difference.exists(_.kind == d.kind))
    val message = runner.run(small).difference.fold(d.message)(_.message)
    val file = Scripts.resolve(s"difference-$seed.py")
    Files.createDirectories(file.getParent)
    val session = FuzzSession.confs ++ Seq(
      "spark.phantoms.minSavings",
      "spark.phantoms.strict",
      "spark.phantoms.stats.sample.enabled",
      "spark.sql.shuffle.partitions"
    ).map(k => k -> spark.conf.get(k))
    Files.writeString(file, Script.of(small, s"Seed $seed, ${d.kind}: $message", session))
    val text = s"seed $seed, ${d.kind}: $message\n${small.sql}\n${small.confs.mkString(", ")}" +
      s"${small.configuration.fold("")(s => s", random configuration $s")}\n${file.toAbsolutePath}"
    println(text)
    text
  }
}

object FuzzSuite {
  private val Few = 60
  private val PerTurn = 15
  private val Many = 300
  private val Often = 500
  private val Attempts = 600
  private val MostOfAKind = 3
  private val Scripts = Path.of("target/fuzz")

  private def property(name: String): Option[String] = sys.props.get(s"phantoms.fuzz$name").filter(_.nonEmpty)
}

/** Confs of sessions in which cases are run. */
object FuzzSession {
  val confs: Map[String, String] = Map(
    // A cached batch with NaN has statistics without it: plain Spark passes it by for `x > 3`, although NaN is larger.
    "spark.sql.inMemoryColumnarStorage.partitionPruning" -> "false",
    // Times beyond what java.sql.Timestamp shows without another calendar.
    "spark.sql.datetime.java8API.enabled" -> "true",
    "spark.sql.session.timeZone" -> "UTC",
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS"
  )

  /** 12 MB for the tasks of both cores. */
  val tinyPool: Map[String, String] = Map(
    "spark.testing.memory" -> (24L << 20).toString,
    "spark.testing.reservedMemory" -> "0",
    "spark.memory.fraction" -> "0.5",
    "spark.memory.storageFraction" -> "0.1",
    "spark.buffer.pageSize" -> "256k"
  )
}
