package io.phantoms.spark.source

import java.nio.file.{Files, Path}

import scala.collection.mutable

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException, Trigger}
import org.scalatest.Suite

/** Streams of the source into a sink that keeps a batch once, and that fails when it is told to. */
trait LftaStreams extends LftaSession { this: Suite =>

  /** Rows by batch: a batch that comes again replaces what it left. */
  protected final class Kept {
    val batches: mutable.SortedMap[Long, Seq[Row]] = mutable.SortedMap.empty
    @volatile var fails: Long => Boolean = _ => false
    def write(batch: Dataset[Row], id: Long): Unit = {
      val rows = batch.collect().toSeq
      if (fails(id)) throw new IllegalStateException(s"the sink fails at batch $id")
      synchronized { val _ = batches.put(id, rows) }
    }
    def rows: Seq[Row] = synchronized(batches.values.flatten.toSeq)
    def sizes: Seq[Int] = synchronized(batches.values.map(_.size).toSeq)
  }

  /** A directory to be read and one for the checkpoint. */
  protected final class Place(val input: Path = Files.createTempDirectory("lfta-stream")) {
    val checkpoint: Path = Files.createTempDirectory("lfta-checkpoint")

    /** The same files, for a query that has read none of them. */
    def anew: Place = new Place(input)

    /** Files are written elsewhere and moved in, their last change a while ago. */
    def add(name: String, bytes: Array[Byte], secondsAgo: Long = 60): Path = {
      val to = input.resolve(name)
      Files.createDirectories(to.getParent)
      val written = Files.write(Files.createTempFile("lfta", ".part"), bytes)
      Files.setLastModifiedTime(
        written,
        java.nio.file.attribute.FileTime.fromMillis(System.currentTimeMillis - secondsAgo * 1000)
      )
      Files.move(written, to)
    }
  }

  protected def source(at: Place, options: (String, String)*): DataFrame =
    spark.readStream.format("lfta").options(options.toMap).load(at.input.toString).asInstanceOf[DataFrame]

  protected def start(df: DataFrame, at: Place, sink: Kept, trigger: Trigger = Trigger.AvailableNow()): StreamingQuery =
    df.writeStream.trigger(trigger).option("checkpointLocation", at.checkpoint.toString)
      .foreachBatch(sink.write _).start()

  /** Runs until what is there was read. */
  protected def run(at: Place, sink: Kept, options: (String, String)*): StreamingQuery = {
    val query = start(source(at, options: _*).select("time_nanos", "srcport"), at, sink)
    query.awaitTermination()
    query
  }

  /** Why a query ended. */
  protected def failure(body: => StreamingQuery): String = {
    val e = intercept[Exception](body)
    Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("\n")
  }

  protected def failed(query: StreamingQuery): String = {
    val e = intercept[StreamingQueryException](query.awaitTermination())
    Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("\n")
  }

  protected def eventually(what: => String)(condition: => Boolean): Unit = {
    val deadline = System.nanoTime + 60000000000L
    while (!condition && System.nanoTime < deadline) Thread.sleep(20)
    assert(condition, what)
    ()
  }

  /** What the readers of the last batch counted. */
  protected def counted(query: StreamingQuery): Map[String, Long] = {
    Option(query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution).toSeq
      .flatMap(last => collectWithSubqueries(last.executedPlan) { case s: MicroBatchScanExec => s })
      .flatMap(_.metrics.map { case (name, m) => name -> m.value }).toMap
  }
}
