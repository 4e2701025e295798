package io.phantoms.spark.run.generated

import io.phantoms.spark.functions.{ExpressionCost, PlainNulls, WideTotal}
import io.phantoms.spark.spec.{AggregateSpec, SharedSpec}

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, BoundReference, EquivalentExpressions, Expression}
import org.apache.spark.sql.catalyst.expressions.codegen._

/**
 * Java text that runs aggregate functions on records, from each function's own expressions: initial values, update,
 * merge and evaluate are Spark's, so that overflow, NULLs and types are too; those of sums are [[WideTotal]]'s.
 */
final class AggregateCode(ctx: CodegenContext, spec: SharedSpec) {
  import AggregateCode.bind

  private def slotsOf(aggregate: Int): Seq[Int] = spec.firstSlot(aggregate) until spec.firstSlot(aggregate + 1)

  /** Evaluates with the given variables in place of ordinals; ordinals without one must not occur. */
  private def evaluate(e: Expression, vars: Seq[ExprCode]): ExprCode = {
    ctx.INPUT_ROW = null
    ctx.currentVars = vars
    e.genCode(ctx)
  }

  private def loaded(v: ExprCode): ExprCode = ExprCode(v.isNull, v.value)

  private def assign(
      record: RecordCode,
      aggregate: Int,
      table: String,
      at: String,
      expressions: Seq[Expression],
      vars: Seq[ExprCode],
      old: Seq[ExprCode]
  ): String = {
    // All new values first: expressions see the old ones.
    val (common, values) = evaluateAll(expressions.map(PlainNulls(_)), vars)
    val stores = slotsOf(aggregate).zipWithIndex.map { case (s, i) =>
      record.storeSlot(ctx, s, table, at, values(i), old.lift(i))
    }
    (common +: (values.map(_.code.toString) ++ stores)).mkString("\n")
  }

  /** Evaluates expressions, what several of them read once where that costs something: its code, and theirs. */
  private def evaluateAll(expressions: Seq[Expression], vars: Seq[ExprCode]): (String, Seq[ExprCode]) = {
    val all = new EquivalentExpressions
    expressions.foreach(all.addExprTree(_))
    if (all.getCommonSubexpressions.forall(ExpressionCost.isCheap)) ("", expressions.map(evaluate(_, vars)))
    else {
      ctx.INPUT_ROW = null
      ctx.currentVars = vars
      val common = ctx.subexpressionEliminationForWholeStageCodegen(expressions)
      val code = ctx.evaluateSubExprEliminationState(common.states.values)
      (code, ctx.withSubExprEliminationExprs(common.states)(expressions.map(_.genCode(ctx))))
    }
  }

  /** Sets the buffers of a record to the initial values. */
  def initialize(record: RecordCode, table: String, at: String): String = record.layout.aggregates.map { a =>
    assign(record, a, table, at, spec.aggregates(a).function.initialValues, Nil, Nil)
  }.mkString("\n")

  /**
   * Updates buffers of a record from one input row.
   *
   * @param functions ordinals of the functions
   * @param inputs variables of the inputs, already evaluated
   */
  def update(functions: Seq[Int], record: RecordCode, table: String, at: String, inputs: Seq[ExprCode]): String =
    functions.map { a =>
      val AggregateSpec(function, filter) = spec.aggregates(a)
      val slots = slotsOf(a)
      val old = slots.map(record.loadSlot(ctx, _, table, at))
      val attributes = spec.aggregates(a).buffers.zipWithIndex.map { case (b, i) => b -> (inputs.size + i) }
      val code = old.map(_.code.toString).mkString("\n") + "\n" + assign(
        record,
        a,
        table,
        at,
        function.updateExpressions.map(bind(_, attributes)),
        inputs ++ old.map(loaded),
        old.map(loaded)
      )
      filter match {
        case None => s"{\n$code\n}"
        case Some(f) =>
          val condition = evaluate(f, inputs)
          s"""{
             |${condition.code}
             |if (!${condition.isNull} && ${condition.value}) {
             |$code
             |}
             |}""".stripMargin
      }
    }.mkString("\n")

  /**
   * Merges the buffers of a record of `from` (the same or a finer relation) into a record.
   *
   * @param functions ordinals of those that are merged
   * @return the code in parts, each as much as a method should have
   */
  def merge(
      record: RecordCode,
      table: String,
      at: String,
      from: RecordCode,
      source: String,
      sourceAt: String,
      functions: Seq[Int]
  ): Seq[String] =
    SplitCode.grouped(functions)(a =>
      spec.aggregates(a).function.mergeExpressions.map(SplitCode.length).sum
    ).map(_.map(mergeOne(_, record, table, at, from, source, sourceAt)).mkString("\n"))

  private def mergeOne(
      a: Int,
      record: RecordCode,
      table: String,
      at: String,
      from: RecordCode,
      source: String,
      sourceAt: String
  ): String = {
    val function = spec.aggregates(a).function
    val slots = slotsOf(a)
    val left = slots.map(record.loadSlot(ctx, _, table, at))
    val right = slots.map(from.loadSlot(ctx, _, source, sourceAt))
    val attributes = spec.aggregates(a).buffers.zipWithIndex ++
      function.inputAggBufferAttributes.zipWithIndex.map { case (b, i) => b -> (slots.size + i) }
    val loads = (left ++ right).map(_.code.toString).mkString("\n")
    val body = assign(
      record,
      a,
      table,
      at,
      function.mergeExpressions.map(bind(_, attributes)),
      (left ++ right).map(loaded),
      left.map(loaded)
    )
    s"{\n$loads\n$body\n}"
  }

  /**
   * Loads keys and buffers of a record that expressions read and answers (declarations, variables): keys first, then all
   * slots.
   */
  def load(read: Seq[Expression], record: RecordCode, table: String, at: String): (String, IndexedSeq[ExprCode]) = {
    val ordinals = read.flatMap(_.collect { case b: BoundReference => b.ordinal }).toSet
    val keys = record.layout.keys.filter(ordinals).map(k => k -> record.loadKey(ctx, k, table, at)).toMap
    val slots = record.layout.slots.filter(s => ordinals(spec.keys.size + s))
      .map(s => s -> record.loadSlot(ctx, s, table, at)).toMap
    val declarations = (keys.toSeq.sortBy(_._1) ++ slots.toSeq.sortBy(_._1)).map(_._2.code.toString).mkString("\n")
    val vars = spec.keys.indices.map(k => keys.get(k).map(loaded).orNull) ++
      spec.slots.indices.map(s => slots.get(s).map(loaded).orNull)
    (declarations, vars)
  }

}

object AggregateCode {

  /** Replaces a function's buffer attributes by ordinals. */
  private[spark] def bind(e: Expression, attributes: Seq[(AttributeReference, Int)]): Expression = e.transform {
    case a: AttributeReference =>
      val ordinal = attributes.collectFirst { case (b, i) if b.exprId == a.exprId => i }
        .getOrElse(throw new IllegalStateException(s"$a is no buffer of this aggregate function"))
      BoundReference(ordinal, a.dataType, a.nullable)
  }

  /**
   * A query's expression over keys and aggregate results, as one over keys and slots: see [[AggregateCode.load]].
   *
   * @param overVariables see [[QuerySpec]]
   */
  private[generated] def overSlots(spec: SharedSpec, e: Expression, overVariables: Boolean): Expression =
    e.transformUp {
      case b: BoundReference if b.ordinal >= spec.keys.size =>
        val a = b.ordinal - spec.keys.size
        val attributes = spec.aggregates(a).buffers.zipWithIndex.map { case (buffer, i) =>
          buffer -> (spec.keys.size + spec.firstSlot(a) + i)
        }
        val result = spec.aggregates(a).function match {
          case t: WideTotal if overVariables => t.resultOfVariables
          case other => other.evaluateExpression
        }
        bind(result, attributes)
    }
}
