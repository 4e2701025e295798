package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions.{Expression, PythonUDF}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, Project}
import org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF
import org.apache.spark.sql.execution.python.ExtractPythonUDFFromAggregate

/** Python functions of what an Aggregate puts out: Spark computes them of its rows, whoever made these. */
private[detect] object PythonResults {

  def isIn(aggregate: Aggregate): Boolean =
    aggregate.aggregateExpressions.exists(e => e.containsPattern(PYTHON_UDF) && e.exists(isOverResults(_, aggregate)))

  // As Spark tells them.
  private def isOverResults(e: Expression, aggregate: Aggregate): Boolean = PythonUDF.isScalarPythonUDF(e) &&
    (e.references.isEmpty || e.exists { part =>
      part.isInstanceOf[AggregateExpression] || aggregate.groupingExpressions.exists(_.semanticEquals(part))
    })

  /** An Aggregate with such functions as one without, and what computes them above it. */
  def apart(aggregate: Aggregate): Option[(Aggregate, Project)] =
    ExtractPythonUDFFromAggregate(aggregate.copy(child = LocalRelation(aggregate.child.output))) match {
      case p @ Project(_, a: Aggregate) =>
        // What a function reads may be a column of the result as well.
        val columns = a.aggregateExpressions.distinctBy(_.exprId)
        Some((a.copy(aggregateExpressions = columns, child = aggregate.child), p))
      case _ => None
    }
}
