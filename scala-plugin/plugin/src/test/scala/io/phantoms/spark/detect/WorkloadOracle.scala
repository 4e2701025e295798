package io.phantoms.spark.detect

import io.phantoms.spark.functions.SignatureWord

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  And,
  Attribute,
  AttributeMap,
  BitwiseAnd,
  EqualTo,
  Expression,
  Literal,
  ShiftRight
}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
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
    def has(f: FragmentSlot): Expression = {
      val signature = query.keys.find(_.attribute.exprId == f.signature.exprId).get.expression
      EqualTo(BitwiseAnd(ShiftRight(signature, Literal(f.bit)), Literal(1L)), Literal(1L))
    }
    // Of a signature a query knows bits, and groups by none.
    val isFragmented = query.fragment.nonEmpty || query.masks.nonEmpty
    val keys = query.keys.filterNot(k => isFragmented && k.expression.isInstanceOf[SignatureWord])
      .map(k => k.attribute -> Alias(k.expression, "key")())
    def result(f: FunctionSlot, part: Option[FragmentSlot]) = {
      val filter = (f.filter ++ part.map(has)).reduceOption(And(_, _))
      // Each with buffers of its own.
      val function = f.function.clone().asInstanceOf[AggregateFunction]
      Alias(AggregateExpression(function, Complete, isDistinct = false, filter = filter), "result")()
    }
    val functions =
      if (query.masks.isEmpty) query.functions.map(f => f.attribute -> result(f, None))
      else query.masks.map { m =>
        m.attribute -> result(query.functions.find(_.attribute.exprId == m.function.exprId).get, m.bit)
      }
    val rows = query.fragment.fold(workload.base)(f => Filter(has(f), workload.base))
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
