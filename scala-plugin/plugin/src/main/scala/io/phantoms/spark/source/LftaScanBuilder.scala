package io.phantoms.spark.source

import scala.collection.mutable

import io.phantoms.spark.source.read.{Condition, RecordColumn}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.aggregate.{Aggregation, Avg}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownAggregates, SupportsPushDownLimit}
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder
import org.apache.spark.sql.types.{DataType, LongType, StructType}

/**
 * Takes over from Spark what readers can do: columns, conditions, limits, and the first part of aggregations.
 *
 * Conditions come as Spark's own expressions, as to its file sources: a subnet cannot be said otherwise.
 */
private[source] final class LftaScanBuilder(
    session: SparkSession,
    index: PartitioningAwareFileIndex,
    dataSchema: StructType,
    records: Records,
    columns: LftaColumns,
    options: LftaOptions,
    request: LftaRequest
) extends FileScanBuilder(session, index, dataSchema)
    with SupportsPushDownAggregates
    with SupportsPushDownLimit {
  private val resolver = session.sessionState.conf.resolver
  private val conditions = new Conditions(name => known(name).map(_._1))
  private val pushed = mutable.ArrayBuffer.empty[(Expression, Condition)]
  private var left = Seq.empty[Expression]
  private var aggregate = Option.empty[PushedAggregate]
  private var limit = Option.empty[Int]
  private var averagesDiffer = false

  /** Columns of records. */
  private def known(name: String): Option[(RecordColumn, DataType)] =
    columns.column(name, dataSchema, index.partitionSchema, resolver)

  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    val (understood, others) = super.pushFilters(filters).partitionMap { f =>
      conditions.of(f).filter(_ => f.deterministic).map(f -> _).toLeft(f)
    }
    pushed ++= understood
    left ++= others
    others
  }

  override def pushedFilters: Array[Predicate] =
    pushed.flatMap { case (f, _) => new V2ExpressionBuilder(f, isPredicate = true).buildPredicate() }.toArray

  override def supportCompletePushDown(aggregation: Aggregation): Boolean = {
    // Spark makes sum and count of an average, and the sum of BIGINTs may overflow where that of an average, which is
    // one of DOUBLEs, does not.
    averagesDiffer ||= aggregation.aggregateExpressions.exists {
      case a: Avg =>
        a.column match {
          case r: NamedReference => known(r.fieldNames.head).forall(_._2 == LongType)
          case _ => true
        }
      case _ => false
    }
    false
  }

  override def pushAggregation(aggregation: Aggregation): Boolean = {
    if (options.pushDownAggregate && !averagesDiffer && left.isEmpty && limit.isEmpty)
      aggregate = PushedAggregate.of(aggregation, known)
    aggregate.isDefined
  }

  override def pushLimit(n: Int): Boolean = {
    val taken = left.isEmpty && aggregate.isEmpty
    if (taken) limit = Some(n)
    taken
  }

  override def build(): Scan = LftaScan(
    session,
    index,
    dataSchema,
    if (aggregate.isEmpty) readDataSchema() else StructType(Nil),
    if (aggregate.isEmpty) readPartitionSchema() else StructType(Nil),
    partitionFilters,
    dataFilters,
    records,
    columns,
    options,
    pushed.toSeq,
    aggregate,
    limit,
    request
  )
}
