package io.phantoms.spark.physical

import java.util.concurrent.TimeoutException

import scala.annotation.tailrec
import scala.util.control.NonFatal

import io.phantoms.spark.shims.{Cancelled, SparkInternals}
import io.phantoms.spark.verify._

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * Hands on the rows of plain Spark's plan and takes their fingerprint; before that it has that of the plugin's. When the
 * last row has gone by they are compared.
 *
 * @param columns how each column is compared
 * @param fingerprint a subquery: the fingerprint of the plugin's rows
 * @param child plain Spark's plan
 */
final case class VerifiedExec(
    columns: IndexedSeq[ComparedColumn],
    about: About,
    fingerprint: Expression,
    child: SparkPlan
) extends UnaryExecNode {
  override def nodeName: String = "PhantomsVerified"
  override protected def stringArgs: Iterator[Any] = Iterator(about.configuration, fingerprint)
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "verifiedRows" -> SQLMetrics.createMetric(sparkContext, "rows compared"),
    "differingRows" -> SQLMetrics.createMetric(sparkContext, "rows that differ, at least"),
    "differences" -> SQLMetrics.createMetric(sparkContext, "comparisons that found a difference"),
    "sharedTime" -> SQLMetrics.createTimingMetric(sparkContext, "time for the plugin's plan")
  )

  // Started and waited for in `doExecute`, in this thread: its failure is not this query's, and it takes none of the threads
  // for subqueries, where this may be a part of one.
  override protected def prepareSubqueries(): Unit = ()
  override protected def waitForSubqueries(): Unit = ()

  override protected def doExecute(): RDD[InternalRow] = {
    val digest = new RowDigest(columns)
    val rows = child.execute()
    val started = System.nanoTime
    val shared = sharedFingerprint()
    metrics("sharedTime").set((System.nanoTime - started) / 1000000)
    val report = new VerificationReport(sparkContext, unfinished, VerifiedExec.number(fingerprint), metrics)
    LastExecution.running(this, about.configuration)
    report.begins()
    val partitions = PartitionFingerprints(rows.getNumPartitions, digest.rounded) { plain =>
      report.ends(_.compared(plain, shared, digest))
    }
    sparkContext.register(partitions)
    rows.mapPartitionsWithIndex { (i, part) =>
      new VerifiedRows(part, digest, fingerprint => partitions.add(i -> fingerprint))
    }
  }

  private def sharedFingerprint(): Either[Throwable, Fingerprint] = {
    @tailrec def isTimeout(e: Throwable): Boolean =
      e != null && (e.isInstanceOf[TimeoutException] || isTimeout(e.getCause))
    try Right(Fingerprint.of(VerifiedExec.subquery(fingerprint).executeCollect().head.getBinary(0)))
    catch {
      // A time that ran out is that plan's; whoever cancels the query means both.
      case Cancelled(e) if !isTimeout(e) => throw e
      case NonFatal(e) => Left(e)
      case e: LinkageError => Left(e)
    }
  }

  private def unfinished: Verification = Verification(
    Verification.Unfinished,
    Option(sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(_.toLongOption),
    Option(sparkContext.getLocalProperty("spark.job.description")),
    about.query,
    about.subject,
    about.configuration,
    plain = "",
    shared = "",
    plainRows = 0,
    sharedRows = 0,
    differingRows = 0,
    differingSums = Nil,
    leftOut = columns.filter(_.form == ColumnForm.LeftOut).map(_.name),
    error = None,
    confs = conf.redactOptions(conf.getAllConfs.filter { case (k, _) =>
      k.startsWith("spark.phantoms.") || k.startsWith("spark.sql.")
    })
  )

  override protected def withNewChildInternal(newChild: SparkPlan): VerifiedExec = copy(child = newChild)
}

object VerifiedExec {

  @tailrec private def planned(plan: SparkPlan): SparkPlan = plan match {
    case s: SubqueryExec => s.child
    case r: ReusedSubqueryExec => planned(r.child)
    case other => throw new IllegalStateException(s"${other.nodeName} is no subquery that is known")
  }

  private def subquery(e: Expression): SparkPlan = planned(executed(e).plan)

  private def number(e: Expression): Long = executed(e).exprId.id

  private def executed(e: Expression): ExecSubqueryExpression = e match {
    case s: ExecSubqueryExpression => s
    case other => throw new IllegalStateException(s"a subquery was not planned: $other")
  }
}

/** The rows of a partition; once all were asked for, `whenRead` gets their fingerprint. */
private final class VerifiedRows(rows: Iterator[InternalRow], digest: RowDigest, whenRead: Fingerprint => Unit)
    extends Iterator[InternalRow] {
  private val fingerprint = digest.empty
  private var open = true

  override def hasNext: Boolean = {
    val more = rows.hasNext
    if (!more && open) {
      open = false
      whenRead(fingerprint)
    }
    more
  }

  override def next(): InternalRow = {
    val row = rows.next()
    digest.add(row, fingerprint)
    row
  }
}

/**
 * Tells what one comparison finds: the log, listeners, metrics, and [[LastExecution]].
 *
 * @param verification what is known before
 * @param number of the comparison in its execution
 */
private final class VerificationReport(
    context: SparkContext,
    verification: Verification,
    number: Long,
    metrics: Map[String, SQLMetric]
) extends Logging {
  private val execution = verification.executionId.map(_.toString)

  def begins(): Unit = LastExecution.verifying(context, execution, number, verification)

  /** Called where a task's end is handled, by Spark's scheduler, that is: nothing here waits. */
  def ends(compared: Verification => Verification): Unit = {
    val found = compared(verification)
    metrics("verifiedRows").set(found.plainRows)
    metrics("differingRows").set(found.differingRows)
    metrics("differences").set(if (found.agrees) 0 else 1)
    SQLMetrics.postDriverMetricUpdates(context, execution.orNull, metrics.values.toSeq)
    LastExecution.verifying(context, execution, number, found)
    SparkInternals.post(context, found)
    if (!found.agrees) logWarning(found.warning)
  }
}
