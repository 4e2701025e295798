package io.phantoms.spark.detect

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, BoundReference, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project, Union}
import org.apache.spark.sql.execution.QueryExecution

/**
 * Computes what a [[Workload]] says by plain groupBys, one per query: if detection read a plan rightly, putting this in
 * the plan's place changes no row. Knows nothing of configurations or of the shared operators.
 */
object WorkloadOracle {

  def plan(workload: Workload): LogicalPlan = {
    val branches = workload.queries.map(query(workload, _))
    val all = if (branches.size == 1) branches.head else Union(branches)
    Project(
      all.output.zip(workload.output).map { case (a, o) =>
        Alias(a, o.name)(exprId = o.exprId, explicitMetadata = Some(o.metadata))
      },
      all
    )
  }

  private def query(workload: Workload, query: WorkloadQuery): LogicalPlan = {
    val keys = query.keys.toSeq.map(i => i -> Alias(workload.keys(i), s"key$i")())
    val functions = query.aggregates.toSeq.map { j =>
      val a = workload.aggregates(j)
      j -> Alias(AggregateExpression(a.function, Complete, isDistinct = false, filter = a.filter), s"result$j")()
    }
    val input = Project(workload.base.output ++ keys.map(_._2), workload.base)
    val grouping =
      if (keys.isEmpty && !query.rowOnEmptyInput) Seq(Literal("no row from no input")) else keys.map(_._2.toAttribute)
    val grouped = Aggregate(grouping, keys.map(_._2.toAttribute) ++ functions.map(_._2), input)
    val slots: Map[Int, Attribute] =
      keys.map { case (i, k) => i -> k.toAttribute }.toMap ++
        functions.map { case (j, f) => workload.keys.size + j -> f.toAttribute }
    // A slot that the query does not have fails here: results must not mention absent keys.
    def bind(e: Expression): Expression = e.transformUp { case r: BoundReference => slots(r.ordinal) }
    val kept = query.having.map(h => Filter(bind(h), grouped)).getOrElse(grouped)
    Project(query.results.zipWithIndex.map { case (r, i) => Alias(bind(r), s"column$i")() }, kept)
  }

  /** The plan with every workload of the candidate computed by plain groupBys. */
  def replace(plan: LogicalPlan, candidate: Candidate): LogicalPlan = {
    val replacement = candidate.assemble(candidate.workloads.map(w => Some(WorkloadOracle.plan(w))))
    plan.transformDown { case p if p eq candidate.operator => replacement }
  }

  /** Rows as a multiset that compares NaN, arrays and nested rows by value. */
  def rows(spark: SparkSession, plan: LogicalPlan): Map[String, Int] = {
    val session = spark.asInstanceOf[org.apache.spark.sql.classic.SparkSession]
    multiset(new QueryExecution(session, plan).executedPlan.executeCollectPublic().toSeq)
  }

  def multiset(rows: Seq[Row]): Map[String, Int] = rows.map(show).groupMapReduce(identity)(_ => 1)(_ + _)

  private def show(value: Any): String = value match {
    case null => "NULL"
    case r: Row => r.toSeq.map(show).mkString("(", ",", ")")
    case b: Array[Byte] => b.mkString("x", ",", "")
    case s: scala.collection.Seq[_] => s.map(show).mkString("[", ",", "]")
    case d: Double if d == 0.0 => "0.0" // plain Spark may show either zero of a group
    case f: Float if f == 0.0f => "0.0"
    case other => s"${other.getClass.getSimpleName}:$other"
  }
}
