package io.phantoms.spark.spec

import scala.collection.mutable

import io.phantoms.spark.functions.{ExpressionCost, JsonPaths, Remembered, RowValue, StaysIf}

import org.apache.spark.sql.catalyst.expressions._

/**
 * What is done with an input row before it meets a table: values computed and conditions asked, one after the other, then
 * the inputs (keys and what the functions read). An error comes of the row and the step that plain Spark's comes of: what
 * stands before a condition is evaluated for rows that the condition drops, what stands after it is not.
 *
 * @param steps [[StaysIf]], or an expression whose value later steps and inputs know as a [[RowValue]]
 */
final case class RowSteps(steps: IndexedSeq[Expression], inputs: IndexedSeq[Expression]) {
  import RowSteps._

  /** Values computed. */
  def values: IndexedSeq[Expression] = RowSteps.values(steps)

  /** With attributes as ordinals of `columns`, and the computed values' ordinals following these. */
  def bound(columns: Seq[Attribute]): RowSteps = {
    def bind(e: Expression): Expression = BindReferences.bindReference(e, columns).transform {
      case v: RowValue => BoundReference(columns.size + v.ordinal, v.dataType, v.nullable)
    }
    RowSteps(steps.map(bind), inputs.map(bind))
  }

  /** Reads fields of one JSON text in one pass. */
  def readingJsonOnce: RowSteps = {
    val together = JsonPaths.together((steps ++ inputs).map(valueOf))
    RowSteps(steps.map(together), inputs.map(together))
  }

  /** Looks results of expensive expressions up where their column's values come again. */
  def remembering: RowSteps = RowSteps(steps.map(Remembered.in), inputs.map(Remembered.in))

  /**
   * Computes once what is evaluated for every row in several places, found as Spark's own code generation finds it: parts
   * that are only evaluated under a condition do not count, and are replaced where they have been computed before.
   *
   * @param times how often an input is evaluated a row
   */
  def sharingCommon(times: Int => Int): RowSteps = {
    val items = steps ++ inputs
    val all = new EquivalentExpressions
    items.zipWithIndex.foreach { case (e, i) =>
      (0 until (if (i < steps.size) 1 else math.min(2, times(i - steps.size)))).foreach(_ =>
        all.addExprTree(valueOf(e))
      )
    }
    val common = all.getCommonSubexpressions.filterNot(ExpressionCost.isCheap)
    if (common.isEmpty) this
    else {
      // Ordinals of the steps as they are stay in use until all are placed; those that are added count down from -1.
      val made = mutable.ArrayBuffer.empty[(Option[Int], Expression)]
      val defined = mutable.LinkedHashMap.empty[ExpressionEquals, RowValue]
      def rewritten(e: Expression): Expression = e.transformDown {
        case part if defined.contains(ExpressionEquals(part)) => defined(ExpressionEquals(part))
      }
      var old = 0
      def place(e: Expression, isStep: Boolean): Expression = {
        val own = new EquivalentExpressions
        own.addExprTree(valueOf(e))
        common.foreach { c =>
          if (own.getExprState(c).isDefined && !defined.contains(ExpressionEquals(c))) {
            made += (Some(-1 - defined.size) -> rewritten(c))
            defined += ExpressionEquals(c) -> RowValue(-1 - defined.size, c.dataType, c.nullable)
          }
        }
        val result = rewritten(e)
        if (isStep) {
          val name = if (e.isInstanceOf[StaysIf]) None else { old += 1; Some(old - 1) }
          made += (name -> result)
        }
        result
      }
      steps.foreach(place(_, isStep = true))
      val newInputs = inputs.map(place(_, isStep = false))
      val ordinals = made.collect { case (Some(name), _) => name }.zipWithIndex.toMap
      RowSteps(made.map(m => renumbered(m._2, ordinals)).toIndexedSeq, newInputs.map(renumbered(_, ordinals)))
    }
  }

  /**
   * Leaves a value to the one input that reads it, where it costs next to nothing or is a key, so that it need not be kept.
   *
   * @param keys how many of the inputs are keys
   * @param isRead whether an input is evaluated at all
   */
  def inlined(keys: Int, isRead: Int => Boolean): RowSteps = {
    val lastCondition = steps.lastIndexWhere(_.isInstanceOf[StaysIf])
    val uses = (steps ++ inputs).flatMap(_.collect { case v: RowValue => v.ordinal }).groupBy(identity)
    val ofInputs = inputs.zipWithIndex.flatMap { case (e, i) => e.collect { case v: RowValue => v.ordinal -> i } }.toMap
    var ordinal = -1
    val kept = steps.zipWithIndex.map { case (e, at) =>
      if (e.isInstanceOf[StaysIf]) (e, None, true)
      else {
        ordinal += 1
        val once = uses.get(ordinal).exists(_.size == 1) && at > lastCondition
        val gone = ofInputs.get(ordinal).exists(i => once && isRead(i) && (ExpressionCost.isCheap(e) || i < keys))
        (e, Some(ordinal), !gone)
      }
    }
    val replaced = kept.collect { case (e, Some(o), false) => o -> e }.toMap
    def put(e: Expression): Expression = e.transformUp { case v: RowValue =>
      replaced.get(v.ordinal).map(put).getOrElse(v)
    }
    val ordinals = kept.collect { case (_, Some(o), true) => o }.zipWithIndex.toMap
    RowSteps(
      kept.collect { case (e, _, true) => renumbered(put(e), ordinals) },
      inputs.map(e => renumbered(put(e), ordinals))
    )
  }
}

object RowSteps {
  def values(steps: IndexedSeq[Expression]): IndexedSeq[Expression] =
    steps.filterNot(_.isInstanceOf[StaysIf])

  private def valueOf(step: Expression): Expression = step match {
    case StaysIf(condition) => condition
    case other => other
  }

  private def renumbered(e: Expression, ordinals: Int => Int): Expression =
    e.transformUp { case v: RowValue => v.copy(ordinal = ordinals(v.ordinal)) }

  /** The same expression where so many values are computed before those it knew. */
  def shifted(e: Expression, by: Int): Expression = if (by == 0) e else renumbered(e, _ + by)
}
