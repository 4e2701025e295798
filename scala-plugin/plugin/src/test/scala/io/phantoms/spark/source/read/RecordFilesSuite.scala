package io.phantoms.spark.source.read

import java.io.{FileNotFoundException, IOException}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._

import io.phantoms.spark.TestSessions
import io.phantoms.spark.source.wire._

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.{BinaryType, StructField, StructType}
import org.scalatest.funsuite.AnyFunSuite

/** A task's files one after another: conditions, limits, counts, and what becomes of those that fail. */
class RecordFilesSuite extends AnyFunSuite {
  import RecordFilesSuite._

  private def parts(names: String*): Array[FilePart] = names.map { name =>
    FilePart(PartitionedFile(InternalRow.empty, SparkPath.fromPathString(s"file:/$name"), 0, 10), new Split(0, 10))
  }.toArray

  private def numbers(files: RecordFiles): Seq[Long] =
    Iterator.continually(files.next()).takeWhile(identity).map(_ => files.record.number(0)).toList

  private def over(names: String*)(
      opens: OpensFiles,
      condition: Condition = null,
      limit: Long = Long.MaxValue,
      skipped: SkippedFiles = SkippedFiles(missing = false, corrupt = false)
  ) = new RecordFiles(parts(names: _*), opens, condition, limit, skipped)

  private val first = new RecordColumn(ColumnForm.INT, 0)

  test("conditions and limits, and counts over all files") {
    val opens = new Counted(Map("a" -> 3, "b" -> 0, "c" -> 2))
    val all = over("a", "b", "c")(opens)
    assert(numbers(all) == Seq(0, 1, 2, 0, 1) && all.counters.packets == 5 && !all.next())
    all.close()
    assert(opens.opened.get == 0)
    val some = over("a", "b", "c")(opens, new Condition.Compared(first, Condition.Comparison.LESS, 2), 3)
    assert(numbers(some) == Seq(0, 1, 0))
    assert(some.counters.packets == 4 && opens.opened.get == 1)
    some.close()
    some.close()
    assert(opens.opened.get == 0)
  }

  test("what fails is closed, and told with the file's name") {
    val opens = new Counted(Map("a" -> 2), failing = Map("a" -> new IOException("disk")))
    val files = over("a")(opens)
    val e = intercept[WireException](numbers(files))
    assert(e.file.contains("a") && e.getMessage.contains("disk") && e.getCause.getMessage == "disk")
    files.close()
    assert(opens.opened.get == 0)
    val malformed = new WireException("a", 7, "is wrong", "Mend it")
    val told = intercept[WireException](numbers(over("a")(new Counted(Map("a" -> 2), failing = Map("a" -> malformed)))))
    assert(told eq malformed)
    val gone = intercept[WireException](numbers(over("x")(new Counted(Map.empty))))
    assert(gone.getMessage.contains("file:/x") && gone.getMessage.contains("ignoreMissingFiles"))
  }

  test("what may be skipped is skipped, and nothing else") {
    val missing = SkippedFiles(missing = true, corrupt = false)
    val corrupt = SkippedFiles(missing = false, corrupt = true)
    def opens = new Counted(Map("a" -> 2, "b" -> 1), failing = Map("a" -> new IOException("disk")))
    assert(numbers(over("x", "b")(opens, skipped = missing)) == Seq(0))
    assert(numbers(over("a", "b")(opens, skipped = corrupt)) == Seq(0, 1, 0))
    assertThrows[WireException](numbers(over("a", "b")(opens, skipped = missing)))
    assertThrows[WireException](numbers(over("x", "b")(opens, skipped = corrupt)))
    val stopped = new Counted(Map("a" -> 2), failing = Map("a" -> new java.io.InterruptedIOException("stop")))
    assertThrows[java.io.InterruptedIOException](numbers(over("a")(stopped, skipped = corrupt)))
  }

  test("a batch ends with its file, at so many rows, or at so many bytes") {
    val opens = new Counted(Map("a" -> 10, "b" -> 1, "c" -> 0, "d" -> 5))
    val schema = StructType(Seq(StructField("value", BinaryType)))
    val large = Array(new RecordColumn(ColumnForm.BYTES, Number.Large))
    def batches(rows: Int, bytes: Long, limit: Long = Long.MaxValue): Seq[Int] = {
      val reader = new BatchReader(over("a", "b", "c", "d")(opens, limit = limit), large, schema, rows, bytes)
      val sizes = Iterator.continually(reader.next()).takeWhile(identity).map { _ =>
        assert(opens.opened.get <= 1)
        val batch = reader.get()
        assert((0 until batch.numRows).forall(batch.column(0).getBinary(_).length == Number.Bytes))
        batch.numRows
      }.toList
      reader.close()
      assert(opens.opened.get == 0)
      sizes
    }
    assert(batches(4096, Long.MaxValue) == Seq(10, 1, 5))
    assert(batches(4, Long.MaxValue) == Seq(4, 4, 2, 1, 4, 1))
    assert(batches(4096, 3 * Number.Bytes - 1) == Seq(3, 3, 3, 1, 1, 3, 2))
    assert(batches(4096, Long.MaxValue, limit = 12) == Seq(10, 1, 1))
  }

  test("a task that is asked to stop does, though no record passes") {
    val spark = TestSessions.start(Map.empty)
    val sc = spark.sparkContext
    try {
      val running = Future {
        sc.setJobGroup("endless", "", interruptOnCancel = false)
        val at = parts("a")
        sc.parallelize(Seq(1), 1).foreach { _ =>
          val never = new Condition.Always(Condition.FALSE)
          val files =
            new RecordFiles(at, new Endless, never, Long.MaxValue, SkippedFiles(missing = true, corrupt = true))
          val _ = files.next()
        }
      }
      val begun = System.nanoTime()
      while (sc.statusTracker.getJobIdsForGroup("endless").isEmpty && System.nanoTime() - begun < 30e9) Thread.sleep(20)
      Thread.sleep(200)
      assert(!running.isCompleted)
      sc.cancelJobGroup("endless")
      assertThrows[Exception](Await.result(running, 30.seconds))
      val cancelled = System.nanoTime()
      while (sc.statusTracker.getActiveStageIds().nonEmpty && System.nanoTime() - cancelled < 30e9) Thread.sleep(20)
      // The only core but one is free again only if the task has ended.
      assert(sc.parallelize(1 to 4, 4).map { i => Thread.sleep(10); i }.sum() == 10)
      assert(sc.statusTracker.getExecutorInfos.map(_.numRunningTasks).sum == 0)
    } finally TestSessions.end(spark)
  }
}

object RecordFilesSuite {

  private final class Number(var n: Long) extends WireRecord {
    override def isNull(field: Int): Boolean = false
    override def number(field: Int): Long = n
    override def bytes(field: Int): Array[Byte] = if (field == Number.Large) new Array[Byte](Number.Bytes) else null
    override def addressLength(field: Int): Int = 0
    override def addressHigh(field: Int): Long = 0
    override def addressLow(field: Int): Long = 0
    override def map(field: Int): java.util.Map[String, Array[Byte]] = null
    override def problem(): String = null
  }

  private object Number {
    val Large = 1
    val Bytes: Int = 1 << 16
  }

  private class Numbers(count: Long, failure: Option[Exception], closing: () => Unit) extends RecordReader {
    private val current = new Number(-1)
    private val counted = new WireCounters
    override def next(): Boolean =
      if (current.n + 1 < count) {
        current.n += 1
        counted.packets += 1
        true
      } else {
        failure.foreach(e => throw e)
        false
      }
    override def record(): WireRecord = current
    override def counters(): WireCounters = counted
    override def close(): Unit = closing()
  }

  /** So many records by file; others are missing. */
  private final class Counted(files: Map[String, Int], failing: Map[String, Exception] = Map.empty) extends OpensFiles {
    val opened = new AtomicInteger
    override def open(part: FilePart): RecordReader = {
      val name = part.file.toPath.getName
      val count = files.getOrElse(name, throw new FileNotFoundException(s"$name does not exist"))
      opened.incrementAndGet()
      new Numbers(count.toLong, failing.get(name), () => { val _ = opened.decrementAndGet() })
    }
  }

  private final class Endless extends OpensFiles {
    override def open(part: FilePart): RecordReader = new Numbers(Long.MaxValue, None, () => ())
  }
}
