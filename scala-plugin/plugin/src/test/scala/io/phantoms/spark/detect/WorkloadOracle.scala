package io.phantoms.spark.detect

import io.phantoms.spark.functions.SignatureWord

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeMap,
  BitwiseAnd,
  EqualTo,
  Expression,
  Literal,
  ShiftRight
}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project, Union}
import org.apache.spark.sql.execution.QueryExecution

/**
 * Computes what a [[Workload]] says by plain groupBys, one per query: if detection read a plan rightly, putting this in
 * the plan's place changes no row. Knows nothing of configurations or of the shared operators.
 */
object WorkloadOracle {

  /** One plan for each consumer. */
  def plans(workload: Workload): IndexedSeq[LogicalPlan] = workload.consumers.map { consumer =>
    val branches = consumer.queries.map(i => query(workload, workload.queries(i)))
    val all = if (branches.size == 1) branches.head else Union(branches)
    Project(
      all.output.zip(consumer.output).map { case (a, o) =>
        Alias(a, o.name)(exprId = o.exprId, explicitMetadata = Some(o.metadata))
      },
      all
    )
  }

  private def query(workload: Workload, query: WorkloadQuery): LogicalPlan = {
    val signature = query.fragment.map(f => query.keys.find(_.attribute.exprId == f.signature.exprId).get.expression)
    // Of a signature a query knows one bit, and groups by none.
    val keys = query.keys.filterNot(k => signature.isDefined && k.expression.isInstanceOf[SignatureWord])
      .map(k => k.attribute -> Alias(k.expression, "key")())
    val functions = query.functions.map { f =>
      f.attribute -> Alias(AggregateExpression(f.function, Complete, isDistinct = false, filter = f.filter), "result")()
    }
    val rows = query.fragment.fold(workload.base) { f =>
      val bit = BitwiseAnd(ShiftRight(signature.get, Literal(f.bit)), Literal(1L))
      Filter(EqualTo(bit, Literal(1L)), workload.base)
    }
    val input = Project(workload.base.output ++ keys.map(_._2), rows)
    val grouping =
      if (keys.isEmpty && !query.rowOnEmptyInput) Seq(Literal("no row from no input")) else keys.map(_._2.toAttribute)
    val grouped = Aggregate(grouping, keys.map(_._2.toAttribute) ++ functions.map(_._2), input)
    val slots = AttributeMap((keys ++ functions).map { case (slot, column) => slot -> column.toAttribute })
    // A slot that the query does not have fails here: results must not mention absent keys.
    def bind(e: Expression): Expression = e.transformUp { case a: Attribute => slots(a) }
    val kept = query.having.map(h => Filter(bind(h), grouped)).getOrElse(grouped)
    Project(query.results.map(r => Alias(bind(r), "column")()), kept)
  }

  /** The plan with every workload of the candidate computed by plain groupBys. */
  def replace(plan: LogicalPlan, candidate: Candidate): LogicalPlan = {
    val replacement = candidate.assemble(candidate.workloads.map(w => Some(WorkloadOracle.plans(w).head)))
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
