package io.phantoms.spark.functions

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateSafeProjection
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** A program of Spark's on the words of records, beside itself on a row of its own. */
class WordsAggregateSuite extends AnyFunSuite {

  private def plain(of: DataType, deviation: Double): HyperLogLogPlusPlus =
    HyperLogLogPlusPlus(BoundReference(0, of, nullable = true), deviation)

  private def records(f: ImperativeAggregate, count: Int): (Array[Long], IndexedSeq[RecordWords]) = {
    val words = f.aggBufferAttributes.size
    // Two words more around each, which are not the function's.
    val array = Array.fill((words + 2) * count)(-1L)
    val views = (0 until count).map(i => new RecordWords(words).of(array, i * (words + 2) + 1))
    views.foreach(v => (0 until words).foreach(v.setLong(_, 0)))
    (array, views)
  }

  test("registers in a record are those of Spark's own buffers, and so is the result") {
    val random = new Random(5)
    for (deviation <- Seq(0.39, 0.05, 0.01)) {
      val f = plain(LongType, deviation)
      val executed = WordsAggregate(f)
      val size = f.aggBufferAttributes.size
      val update = executed.updateExpressions.map(bound(executed, _, 1)).head
      val merge = executed.mergeExpressions.map(bound(executed, _, 0)).head
      val result = bound(executed, executed.evaluateExpression, 0)
      val (array, views) = records(f, 2)
      val own = IndexedSeq.fill(2)(new SpecificInternalRow(Seq.fill(size)(LongType)))
      own.foreach(f.initialize(_))
      for (_ <- 1 to 5000) {
        val value: Any = if (random.nextInt(9) == 0) null else random.nextLong(3000)
        val to = random.nextInt(2)
        f.update(own(to), InternalRow(value))
        assert(update.eval(InternalRow(value, views(to))).asInstanceOf[AnyRef] eq views(to))
      }
      def same(): Unit = for (i <- 0 until 2) {
        assert((0 until size).map(views(i).getLong) == (0 until size).map(own(i).getLong))
        assert(result.eval(InternalRow(views(i))) == f.eval(own(i)))
      }
      same()
      f.withNewInputAggBufferOffset(0).merge(own(0), own(1))
      assert(merge.eval(InternalRow(views(0), views(1))).asInstanceOf[AnyRef] eq views(0))
      same()
      for (i <- 0 until 2) assert(array(i * (size + 2)) == -1L && array((i + 1) * (size + 2) - 1) == -1L)
    }
  }

  test("compiled, values of every kind are handed over as they are, and NULL") {
    val values: Seq[(DataType, Any)] = Seq(
      BooleanType -> true,
      ByteType -> 3.toByte,
      ShortType -> 4.toShort,
      IntegerType -> 5,
      LongType -> 6L,
      FloatType -> -0.0f,
      DoubleType -> Double.NaN,
      DecimalType(38, 2) -> Decimal("12345678901234567890.12"),
      StringType -> org.apache.spark.unsafe.types.UTF8String.fromString("text"),
      BinaryType -> Array[Byte](1, 2),
      DateType -> 7
    )
    for ((t, value) <- values; v <- Seq(value, null)) withClue(s"$t, $v: ") {
      val f = plain(t, 0.2)
      val executed = WordsAggregate(f)
      val (_, views) = records(f, 2)
      val update = bound(executed, executed.updateExpressions.head, 1)
      val compiled = GenerateSafeProjection.generate(Seq(WordsResult(executedProgram(update), update)))
      val found = compiled(InternalRow(v, views(0))).getLong(0)
      update.eval(InternalRow(v, views(1)))
      assert((0 until f.aggBufferAttributes.size).map(views(0).getLong) ==
        (0 until f.aggBufferAttributes.size).map(views(1).getLong))
      assert(found == (if (v == null) 0 else 1))
    }
  }

  test("equal calls are equal, though their buffers have ids of their own") {
    def made = WordsAggregate(plain(LongType, 0.1))
    assert(made == made && made.aggBufferAttributes.head.exprId != made.aggBufferAttributes.head.exprId)
    assert(made != WordsAggregate(plain(LongType, 0.2)) && made != WordsAggregate(plain(IntegerType, 0.1)))
    val moved = made.withNewChildren(Seq(BoundReference(3, LongType, nullable = false))).asInstanceOf[WordsAggregate]
    assert(moved.plain.children == moved.children && moved.children != made.children)
    assert(FieldType.ofBuffer(made.aggBufferAttributes.head) == FieldType.Words(made.plain.aggBufferAttributes.size))
  }

  private def executedProgram(e: Expression): ImperativeAggregate = e.collectFirst { case u: WordsUpdate =>
    u.program
  }.get

  /** Over a row of so many inputs, then the words of one or two groups. */
  private def bound(f: WordsAggregate, e: Expression, inputs: Int): Expression = {
    val fields = f.aggBufferAttributes ++ f.inputAggBufferAttributes
    e.transform { case a: AttributeReference =>
      BoundReference(inputs + fields.indexWhere(_.exprId == a.exprId), a.dataType, nullable = false)
    }
  }
}
