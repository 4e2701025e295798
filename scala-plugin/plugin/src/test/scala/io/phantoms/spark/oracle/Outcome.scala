package io.phantoms.spark.oracle

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.{Expression, ExprId, RuntimeReplaceableAggregate, ScalarSubquery}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{ReusedSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType, StructType}

/**
 * What a query did: rows or an error, and the plan that ran.
 *
 * @param declared the schema that the user sees
 * @param schema the schema of the optimised plan: names, types, nullability, metadata
 * @param result rows, or the error's class
 * @param nodes names of all physical operators of the final plan, through stages, reuse and subqueries
 * @param inexact ordinals of columns that hold sums of floats, whose order of addition is free
 * @param signless ordinals of columns that hold minima or maxima of floats: of 0.0 and -0.0 Spark keeps whichever came
 *   first, and the order of merging is free
 */
final case class Outcome(
    declared: StructType,
    schema: StructType,
    result: Either[String, Seq[Row]],
    nodes: Seq[String],
    inexact: Set[Int],
    signless: Set[Int],
    plan: String
) {
  def isShared: Boolean = nodes.contains("PhantomsLfta") && nodes.contains("PhantomsMerge")
  def hasPluginNode: Boolean = nodes.exists(_.startsWith("Phantoms"))

  /** All floats may be sums: on their way through common table expressions, windows and subqueries they are lost sight of. */
  def tolerant: Outcome =
    copy(inexact = declared.indices.filter(i => Outcome.isFloat(declared(i).dataType)).toSet)
}

object Outcome {

  /** Runs a query to its end. An error while planning counts like one while running. */
  def of(build: => DataFrame): Outcome = {
    var df: DataFrame = null
    val result =
      try {
        df = build
        val _ = df.queryExecution.executedPlan
        Right(df.collect().toSeq)
      } catch { case NonFatal(e) => Left(errorClass(e)) }
    val planned = df != null && (try { val _ = df.queryExecution.executedPlan; true }
    catch { case NonFatal(_) => false })
    if (!planned) Outcome(new StructType, new StructType, result, Nil, Set.empty, Set.empty, "no plan")
    else {
      val physical = df.queryExecution.executedPlan
      Outcome(
        df.schema,
        df.queryExecution.optimizedPlan.schema,
        result,
        operators(physical).map(_.nodeName),
        columns(df.queryExecution.analyzed)(addsFloats),
        columns(df.queryExecution.analyzed)(picksFloat),
        physical.toString
      )
    }
  }

  /** All operators of a plan as it ran: adaptive plans, stages and subqueries opened. */
  def operators(plan: SparkPlan): Seq[SparkPlan] = {
    val inside = plan match {
      case a: AdaptiveSparkPlanExec => Seq(a.executedPlan)
      case s: QueryStageExec => Seq(s.plan)
      case r: ReusedExchangeExec => Seq(r.child)
      case r: ReusedSubqueryExec => Seq(r.child)
      case other => other.children
    }
    plan +: (inside ++ plan.subqueries).flatMap(operators)
  }

  /** The innermost condition with a name; else the class of the innermost cause. */
  def errorClass(error: Throwable): String = {
    val chain = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(30).toSeq
    val named = chain.collect { case s: SparkThrowable if s.getCondition != null => s.getCondition }
    named.lastOption.getOrElse(chain.last.getClass.getName + ": " + chain.last.getMessage)
  }

  private def isFloat(t: DataType): Boolean = t == DoubleType || t == FloatType

  private def addsFloats(e: Expression): Boolean = e match {
    case s: Sum => s.dataType == DoubleType
    // Averages of integers are sums of doubles as well.
    case a: Average => a.dataType == DoubleType
    case _: CentralMomentAgg | _: Covariance => true
    case r: RuntimeReplaceableAggregate => r.replacement.exists(addsFloats)
    case _ => false
  }

  private def picksFloat(e: Expression): Boolean = e match {
    case m: Min => isFloat(m.dataType)
    case m: Max => isFloat(m.dataType)
    case _ => false
  }

  /** Ordinals of float columns that are made from the result of an aggregate of the given kind. */
  private def columns(plan: LogicalPlan)(kind: Expression => Boolean): Set[Int] = {
    val ids = madeFrom(plan, kind)
    plan.output.zipWithIndex.collect { case (a, i) if ids(a.exprId) && isFloat(a.dataType) => i }.toSet
  }

  /** @param tables ordinals of columns of common table expressions that are made so */
  private def madeFrom(
      plan: LogicalPlan,
      kind: Expression => Boolean,
      tables: Map[Long, Set[Int]] = Map.empty
  ): Set[ExprId] = {
    val below = plan match {
      case _: WithCTE => Nil
      case other => other.children.map(madeFrom(_, kind, tables))
    }
    val all = below.flatten.toSet
    def isMade(e: Expression): Boolean = e.references.exists(a => all(a.exprId)) || e.exists {
      case s: ScalarSubquery => ordinals(s.plan, madeFrom(s.plan, kind, tables)).nonEmpty
      case other => kind(other)
    }
    plan match {
      case w: WithCTE =>
        val known = w.cteDefs.foldLeft(tables) { (seen, d) =>
          seen + (d.id -> ordinals(d.child, madeFrom(d.child, kind, seen)))
        }
        madeFrom(w.plan, kind, known)
      case r: CTERelationRef => tables.getOrElse(r.cteId, Set.empty).map(r.output(_).exprId)
      case u: Union =>
        u.output.indices.filter(i => u.children.zip(below).exists { case (c, ids) => ids(c.output(i).exprId) })
          .map(u.output(_).exprId).toSet
      case p: Project => p.projectList.filter(isMade).map(_.exprId).toSet
      case a: Aggregate => a.aggregateExpressions.filter(isMade).map(_.exprId).toSet
      case _ => all
    }
  }

  private def ordinals(plan: LogicalPlan, ids: Set[ExprId]): Set[Int] =
    plan.output.indices.filter(i => ids(plan.output(i).exprId)).toSet
}

/** Rows compared as multisets: bit by bit, but for inexact columns, which may differ in the last digits. */
object Rows {
  val Tolerance = 1e-9

  /** A description of the first differences; None when equal. */
  def difference(
      expected: Seq[Row],
      actual: Seq[Row],
      inexact: Set[Int],
      signless: Set[Int] = Set.empty
  ): Option[String] = {
    def exactPart(r: Row): Seq[String] =
      (0 until r.length).filterNot(inexact).map(i => text(if (signless(i)) unsigned(r.get(i)) else r.get(i)))
    val wanted = expected.groupBy(exactPart)
    val got = actual.groupBy(exactPart)
    val problems = mutable.ArrayBuffer.empty[String]
    def count(rows: Map[Seq[String], Seq[Row]], key: Seq[String]): Int = rows.get(key).fold(0)(_.size)
    val keys = (wanted.keySet ++ got.keySet).filter(k => inexact.nonEmpty || count(wanted, k) != count(got, k))
    for (key <- keys.toSeq.sortBy(_.mkString("|"))) {
      val missing = mutable.ArrayBuffer.from(wanted.getOrElse(key, Nil))
      val surplus = mutable.ArrayBuffer.empty[Row]
      got.getOrElse(key, Nil).foreach { r =>
        val found = missing.indexWhere(m => inexact.forall(i => near(m.get(i), r.get(i))))
        if (found >= 0) missing.remove(found) else surplus += r
      }
      problems ++= missing.map(r => s"  missing $r") ++= surplus.map(r => s"  surplus $r")
    }
    Option.when(problems.nonEmpty)(
      s"${expected.size} rows expected, ${actual.size} found; ${problems.size} differ:\n" +
        problems.take(12).mkString("\n")
    )
  }

  /** Like [[difference]] for rows whose order is said. */
  def orderedDifference(
      expected: Seq[Row],
      actual: Seq[Row],
      inexact: Set[Int],
      signless: Set[Int]
  ): Option[String] =
    difference(expected, actual, inexact, signless).orElse(
      expected.zip(actual).zipWithIndex.collectFirst {
        case ((e, a), i) if difference(Seq(e), Seq(a), inexact, signless).isDefined => s"row $i is $a, expected $e"
      }
    )

  private def unsigned(value: Any): Any = value match {
    case d: Double if d == 0.0 => 0.0
    case f: Float if f == 0.0f => 0.0f
    case other => other
  }

  private def near(a: Any, b: Any): Boolean = (a, b) match {
    case (x: Double, y: Double) => nearDoubles(x, y)
    case (x: Float, y: Float) => nearDoubles(x.toDouble, y.toDouble)
    case _ => text(a) == text(b)
  }

  private def nearDoubles(x: Double, y: Double): Boolean =
    java.lang.Double.compare(x, y) == 0 || x == y ||
      (!x.isInfinite && !y.isInfinite && math.abs(x - y) <= Tolerance * math.max(
        1.0,
        math.max(math.abs(x), math.abs(y))
      ))

  /** A value to the bit: -0.0 is not 0.0, one NaN is not another, decimals have scales. */
  def text(value: Any): String = value match {
    case null => "null"
    case d: Double => s"d${java.lang.Long.toHexString(java.lang.Double.doubleToRawLongBits(d))}($d)"
    case f: Float => s"f${java.lang.Integer.toHexString(java.lang.Float.floatToRawIntBits(f))}($f)"
    case b: Array[Byte] => "0x" + java.util.HexFormat.of.formatHex(b)
    case r: Row => r.toSeq.map(text).mkString("{", ",", "}")
    case s: scala.collection.Seq[_] => s.map(text).mkString("[", ",", "]")
    case m: scala.collection.Map[_, _] =>
      m.map { case (k, v) => text(k) + "->" + text(v) }.toSeq.sorted.mkString("<", ",", ">")
    case s: String => "'" + s + "'"
    case other => s"${other.getClass.getSimpleName}:$other"
  }
}
