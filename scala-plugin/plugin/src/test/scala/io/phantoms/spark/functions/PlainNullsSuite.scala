package io.phantoms.spark.functions

import scala.util.Try

import io.phantoms.spark.run.generated.AggregateCode

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

class PlainNullsSuite extends AnyFunSuite {

  /** Update and merge expressions over (input, buffers, buffers to merge). */
  private def bound(f: DeclarativeAggregate): Seq[Expression] = {
    val attributes = (f.references.toSeq.collect { case a: AttributeReference => a } ++ f.aggBufferAttributes ++
      f.inputAggBufferAttributes.map(_.asInstanceOf[AttributeReference])).zipWithIndex
    (f.updateExpressions ++ f.mergeExpressions).map(AggregateCode.bind(_, attributes))
  }

  private def coalesces(e: Expression): Boolean = e.exists(_.isInstanceOf[Coalesce])

  private def sum(t: DataType, mode: EvalMode.Value = EvalMode.ANSI) =
    Sum(AttributeReference("x", t)(), NumericEvalContext(mode))

  for {
    (name, f, values) <- Seq(
      ("sum of bigint, ANSI", sum(LongType), Seq[Any](null, 0L, -7L, Long.MaxValue, Long.MinValue)),
      ("sum of bigint", sum(LongType, EvalMode.LEGACY), Seq[Any](null, 3L, Long.MaxValue, Long.MinValue)),
      ("sum of int", sum(IntegerType), Seq[Any](null, 5, Int.MinValue)),
      ("sum of double", sum(DoubleType), Seq[Any](null, -0.0, 0.0, Double.NaN, 1e308))
    )
  } test(s"$name: no coalesce is left, and results are the same") {
    val before = bound(f)
    assert(before.forall(coalesces))
    val after = before.map(PlainNulls(_))
    assert(!after.exists(coalesces))
    val buffers = values.map { case i: Int => i.toLong; case v => v }
    for (x <- values; a <- buffers; b <- buffers) {
      val row = InternalRow(x, a, b)
      before.zip(after).foreach { case (p, q) =>
        def outcome(e: Expression) = Try(e.eval(row)).fold(_.getClass.getName, String.valueOf(_))
        assert(outcome(q) === outcome(p), s"over $row: $p")
      }
    }
  }

  test("where an addition may be NULL without an operand that is, it stays below coalesce") {
    def added(t: DataType, mode: EvalMode.Value) = Coalesce(Seq(
      Add(Literal.default(t), BoundReference(0, t, nullable = true), NumericEvalContext(mode)),
      BoundReference(1, t, nullable = true)
    ))
    Seq(
      added(LongType, EvalMode.TRY),
      added(DecimalType(10, 2), EvalMode.LEGACY),
      added(DecimalType(10, 2), EvalMode.ANSI)
    ).foreach(e => assert(PlainNulls(e) === e))
    assert(PlainNulls(added(LongType, EvalMode.ANSI)).isInstanceOf[If])
  }

  test("an operand that is costly or may fail is not evaluated twice") {
    val failing = Coalesce(Seq(
      Add(Literal(0L), Divide(BoundReference(0, LongType, true), BoundReference(1, LongType, true))),
      BoundReference(1, LongType, true)
    ))
    assert(PlainNulls(failing) === failing)
  }
}
