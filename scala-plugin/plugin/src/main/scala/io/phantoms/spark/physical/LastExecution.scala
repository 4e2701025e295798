package io.phantoms.spark.physical

import io.phantoms.spark.conf.OfApplication
import io.phantoms.spark.verify.Verification

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.{SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * The operators of the query that was run last, and what they count. Known by the id of Spark's own execution, so that the
 * stages of one query stay together however adaptive execution starts them.
 */
final class LastExecution {
  import LastExecution._

  private var execution = Option.empty[String]
  private var operators = Vector.empty[Operator]
  private var verifications = Map.empty[Long, Verification]

  private def add(id: Option[String], operator: Operator): Unit = synchronized {
    if (id.isEmpty || id != execution) {
      operators = Vector.empty
      verifications = Map.empty
    }
    execution = id
    // A stage that is run again, and an operator that several consumers ask for its rows, counts on.
    if (!operators.exists(_.metrics eq operator.metrics)) operators :+= operator
  }

  private def add(id: Option[String], number: Long, verification: Verification): Unit = synchronized {
    if (id == execution) verifications += number -> verification
  }

  /** What was found when the rows of this execution were compared with plain Spark's. */
  def verified: Seq[Verification] = synchronized(verifications.toSeq.sortBy(_._1).map(_._2))

  /** Spark's id of the execution, None outside of any, and its operators; None: nothing was run yet. */
  def get: Option[(Option[Long], Seq[Operator])] = synchronized {
    Option.when(operators.nonEmpty)((execution.flatMap(_.toLongOption), operators))
  }
}

object LastExecution {

  /** @param configuration in the notation */
  final case class Operator(name: String, configuration: String, metrics: Map[String, SQLMetric])

  val of = new OfApplication(() => new LastExecution)

  /** Called by an operator that is about to run, once what it reads was asked: operators are kept from the input on. */
  private[physical] def running(plan: SparkPlan, configuration: String): Unit = {
    val context = plan.session.sparkContext
    val id = Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    of(context).add(id, Operator(plan.nodeName, configuration, plan.metrics))
  }

  /**
   * Called when rows are about to be compared, and when they have been.
   *
   * @param id of the execution
   * @param number of the comparison, the same both times
   */
  private[physical] def verifying(
      context: SparkContext,
      id: Option[String],
      number: Long,
      verification: Verification
  ): Unit =
    of(context).add(id, number, verification)
}
