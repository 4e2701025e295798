package io.phantoms.spark.stats.sampled

import java.util.concurrent.{TimeoutException, TimeUnit}

import scala.collection.mutable.ArrayBuilder
import scala.concurrent.Await
import scala.concurrent.duration.Duration
import scala.util.control.{NonFatal, NoStackTrace}

import io.phantoms.spark.conf.{PhantomsConf, PlanningMemory, SamplingOptions}
import io.phantoms.spark.functions.SignatureWord
import io.phantoms.spark.shims.Cancelled
import io.phantoms.spark.stats.input.LinearInput

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Coalesce, Expression, If, Literal, XxHash64}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan, Project, Range}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.types.BooleanType
import org.apache.spark.storage.StorageLevel

/**
 * Reads a few rows of an input.
 *
 * At most [[Sampler.Partitions]] evenly spread partitions are visited (more only while they turn out to be nearly
 * empty), each from its start: a file reader cannot skip rows for less than the price of decoding them. Half of what a
 * partition may contribute is one stretch of consecutive rows, from which the clustering of groups is seen; the other
 * half is runs of [[Sampler.Run]] rows out of every [[Sampler.Period]].
 *
 * Filters are evaluated here and not pushed down (those over partition columns are), so that rows read and rows that
 * passed are both known and the work stays bounded however selective they are.
 */
object Sampler extends Logging {
  val Partitions = 8
  val Run = 256
  val Period = 1024

  private val Rounds = 3
  private val RejectedRows = 1024

  // Kept by all partitions (half as many again where more had to be visited), and rejected by one. A sample that the cache
  // has no room for would be taken again for each plan.
  private val MostHashes = PlanningMemory.SampleBytes / 8 / 2
  private val MostRejected = PlanningMemory.SampleBytes / 8 / 16 / (Partitions * Rounds)

  private val running = new ThreadLocal[java.lang.Boolean] {
    override def initialValue(): java.lang.Boolean = java.lang.Boolean.FALSE
  }

  /** True on a thread that is planning a sample: rules must leave that plan alone. */
  def isSampling: Boolean = running.get

  /** Why an input is not sampled, or None if it can be. */
  def refusal(input: LinearInput): Option[String] =
    if (!input.isRepeatable) Some("it is not deterministic, or has a subquery")
    else
      input.leaf match {
        case r: LogicalRelation if r.relation.isInstanceOf[HadoopFsRelation] => None
        case r: DataSourceV2Relation if isBoundedRead(r) => None
        case _: LocalRelation | _: Range => None
        case r: InMemoryRelation =>
          // Reading one row of a partition that is not cached yet would build the whole of it.
          if (r.cacheBuilder.isCachedColumnBuffersLoaded) None else Some("the cached input is not materialized yet")
        case r: LogicalRDD =>
          // An RDD may hide any amount of work, and user code with effects of its own (accumulators).
          if (r.rdd.isCheckpointed || r.rdd.getStorageLevel != StorageLevel.NONE) None
          else Some("reading some rows of an RDD runs the code behind it")
        case other => Some(s"reading some rows of ${other.nodeName} may cost as much as reading all")
      }

  /** Sources known to stop reading when the consumer stops; a JDBC driver, for one, may fetch the whole table. */
  private def isBoundedRead(r: DataSourceV2Relation): Boolean = r.table.isInstanceOf[FileTable] || {
    val name = r.table.getClass.getName
    Seq("io.phantoms.", "org.apache.iceberg.", "io.delta.", "org.apache.spark.sql.delta.").exists(name.startsWith)
  }

  /**
   * A sample of the input, or why there is none. What goes wrong is logged as a WARN; only who ends the query meanwhile
   * (see [[Cancelled]]) ends the sample with it.
   *
   * @param keys grouping expressions over the leaf of the input
   */
  def sample(
      session: SparkSession,
      input: LinearInput,
      keys: Seq[Expression],
      options: SamplingOptions
  ): Either[String, InputSample] =
    if (!options.enabled) Left("sampling is switched off")
    else
      refusal(input) match {
        case Some(reason) => Left(reason)
        case None =>
          try Right(guarded(run(session, input, keys, options)))
          catch {
            case Cancelled(e) => throw e
            case e: TooSlow => Left(e.getMessage)
            case NonFatal(e) =>
              val text = Option(e.getMessage).getOrElse("").linesIterator.nextOption().getOrElse("")
              logWarning(s"spark-phantoms: the input could not be sampled, default statistics are used: $e")
              Left(s"reading it failed: ${e.getClass.getSimpleName} $text".trim)
          }
      }

  private def guarded[T](body: => T): T = {
    val before = running.get
    running.set(java.lang.Boolean.TRUE)
    try body
    finally running.set(before)
  }

  private def run(
      session: SparkSession,
      input: LinearInput,
      keys: Seq[Expression],
      options: SamplingOptions
  ): InputSample = {
    val names = keys.map(input.canonical)
    val distinctKeys = keys.zip(names).distinctBy(_._2)
    val pass = input.filters.foldRight[Expression](Literal(true, BooleanType)) { (filter, rest) =>
      // Nested, so that a filter is evaluated only on rows that passed those below it, as in the plan.
      If(filter, rest, Literal(false, BooleanType))
    }
    val hashes = distinctKeys.zipWithIndex.map { case ((key, _), i) =>
      val safe = key match {
        case a: Attribute => a
        case computed if input.filters.isEmpty => computed
        // The filters may protect it from values it fails on.
        case computed => If(pass, computed, Literal(null, computed.dataType))
      }
      // The bits of a signature say more than a hash of them, and tell as many values apart.
      val told = if (key.isInstanceOf[SignatureWord]) Coalesce(Seq(safe, Literal(0L))) else new XxHash64(Seq(safe))
      Alias(told, s"h$i")()
    }
    val pruned = partitionFilters(input).foldLeft[LogicalPlan](input.leaf) {
      (plan, filter) => Filter(filter, plan)
    }
    val rdd = session.sessionState.executePlan(Project(hashes :+ Alias(pass, "pass")(), pruned)).toRdd
    val count = rdd.getNumPartitions
    val order = spread(count)
    var visited = IndexedSeq.empty[PartitionSample]
    var round, asked = 0
    val until = System.nanoTime() + options.millis * 1000000L
    def left: Long = until - System.nanoTime()
    val most = math.min(options.rows.toLong, MostHashes / math.max(1, hashes.size)).toInt
    val rejected = math.min(RejectedRows.toLong, MostRejected / math.max(1, hashes.size)).toInt
    while (round < Rounds && asked < count && visited.map(_.read).sum < most / 2 && left > 0) {
      val chosen = order.slice(asked, asked + Partitions)
      asked += chosen.size
      val share = math.max(1, most / math.min(Partitions, count))
      visited ++= described(session.sparkContext) {
        read(session.sparkContext, rdd, chosen, left) { nanos => reader(hashes.size, share, rejected, nanos) }
      }
      round += 1
    }
    if (visited.isEmpty && count > 0) throw new TooSlow(options.millis)
    new InputSample(distinctKeys.map(_._2).toIndexedSeq, visited, count)
  }

  /**
   * What partitions give in a time: their tasks stop reading when it is over, and those that have not come so far by then
   * are cancelled. Whoever ends the query meanwhile ends the job with it.
   *
   * @param nanos the time, of which each of the tasks that follow one another on a core has its part
   */
  private def read(context: SparkContext, rdd: RDD[InternalRow], chosen: Seq[Int], nanos: Long)(
      reader: Long => Iterator[InternalRow] => Array[Long]
  ): IndexedSeq[PartitionSample] = {
    val found = new Array[Array[Long]](chosen.size)
    val waves = (chosen.size + context.defaultParallelism - 1) / math.max(1, context.defaultParallelism)
    val job = context.submitJob[InternalRow, Array[Long], Unit](
      rdd,
      reader(nanos / math.max(1, waves)),
      chosen,
      (i, longs) => found.synchronized(found(i) = longs),
      ()
    )
    try {
      Await.ready(job, Duration(nanos, TimeUnit.NANOSECONDS))
      job.value.foreach(_.get)
    } catch {
      case _: TimeoutException => job.cancel()
      case e: InterruptedException =>
        job.cancel()
        throw e
    }
    found.synchronized(found.toIndexedSeq).filter(_ != null).map(PartitionSample.of)
  }

  /** Nothing was read in time. */
  private final class TooSlow(millis: Long)
      extends RuntimeException(s"nothing was read within $millis ms (${PhantomsConf.SampleTime.key})")
      with NoStackTrace

  /** Conjuncts that only look at partition columns: they choose files and cost no rows. */
  def partitionFilters(input: LinearInput): Seq[Expression] = input.leaf match {
    case r: LogicalRelation =>
      r.relation match {
        case fs: HadoopFsRelation =>
          val resolver = r.conf.resolver
          val columns =
            r.output.filter(a => fs.partitionSchema.exists(f => resolver(f.name, a.name))).map(_.exprId).toSet
          input.filters.filter(f => f.references.nonEmpty && f.references.forall(a => columns.contains(a.exprId)))
        case _ => Nil
      }
    case _ => Nil
  }

  /** All ordinals below n, such that every beginning of the sequence is spread evenly. */
  private[sampled] def spread(n: Int): IndexedSeq[Int] = {
    val bits = 32 - Integer.numberOfLeadingZeros(math.max(1, n - 1))
    (0 until (1 << bits)).iterator.map(i => Integer.reverse(i) >>> (32 - bits)).filter(_ < n).toIndexedSeq
  }

  private def described[T](context: SparkContext)(body: => T): T = {
    val key = "spark.job.description"
    val before = context.getLocalProperty(key)
    context.setLocalProperty(key, "spark-phantoms: sample of an input for statistics")
    try body
    finally context.setLocalProperty(key, before)
  }

  /**
   * The task, which answers [[PartitionSample.toLongs]]. Holds no reference to a plan or a session.
   *
   * @param nanos after which it stops
   */
  private def reader(width: Int, keep: Int, reject: Int, nanos: Long): Iterator[InternalRow] => Array[Long] = {
    (rows: Iterator[InternalRow]) =>
      val until = System.nanoTime() + nanos
      val hashes = new ArrayBuilder.ofLong
      val rejected = new ArrayBuilder.ofLong
      val stretch = math.max(1, keep / 2)
      val most = 4L * keep
      var kept, dropped = 0
      var passed, read = 0L
      def add(row: InternalRow, to: ArrayBuilder.ofLong): Unit = {
        var i = 0
        while (i < width) { to += row.getLong(i); i += 1 }
      }
      while (kept < keep && read < most && ((read & 63) != 63 || System.nanoTime() < until) && rows.hasNext) {
        val row = rows.next()
        read += 1
        if (row.getBoolean(width)) {
          if (passed < stretch || (passed - stretch) % Period < Run) { add(row, hashes); kept += 1 }
          passed += 1
        } else if (dropped < reject) { add(row, rejected); dropped += 1 }
      }
      val exhausted = System.nanoTime() < until && !rows.hasNext
      PartitionSample(
        hashes.result(),
        math.min(kept, stretch),
        rejected.result(),
        passed,
        read,
        exhausted,
        TaskContext.get().taskMetrics().inputMetrics.bytesRead
      ).toLongs
  }
}
