package io.phantoms.spark.functions

import scala.collection.mutable
import scala.util.Random

import io.phantoms.spark.memory.{MemoryRefused, MemoryReserve}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateSafeProjection
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** States of programs as objects of groups, beside the program itself on a buffer of its own. */
class GroupObjectsSuite extends AnyFunSuite {

  /** Grants so much. */
  private final class Memory(most: Long) extends MemoryReserve {
    var held = 0L
    override def reserve(bytes: Long): Unit =
      if (held + bytes > most) throw new MemoryRefused(bytes, "enough") else held += bytes
    override def release(bytes: Long): Unit = {
      held -= bytes
      if (held < 0) throw new IllegalStateException("more is given back than was taken")
    }
  }

  private def input(t: DataType): Expression = BoundReference(0, t, nullable = true)
  private def percentile: Percentile = new Percentile(input(LongType), Literal(0.3))
  private def objects(p: TypedImperativeAggregate[_], memory: Memory = new Memory(Long.MaxValue)): GroupObjects =
    new GroupObjects(Array(null, p), memory)

  private def programs: Seq[TypedImperativeAggregate[Any]] = Seq(
    percentile,
    CollectSet(input(LongType)),
    new CountMinSketchAgg(input(LongType), Literal(0.2), Literal(0.9), Literal(3)),
    new ApproximatePercentile(input(LongType), Literal(0.3)),
    new ThetaSketchAgg(input(LongType), 12),
    new HllSketchAgg(input(LongType), 10)
  ).map(_.asInstanceOf[TypedImperativeAggregate[Any]])

  private def show(result: Any): Any = result match {
    case bytes: Array[Byte] => bytes.toSeq
    case set: org.apache.spark.sql.catalyst.util.ArrayData => set.toLongArray().toSet
    case other => other
  }

  test("updated, copied, written, read and merged in any order they are what Spark's own buffers are") {
    val random = new Random(7)
    for (p <- programs) withClue(s"${p.prettyName}: ") {
      val all = objects(p)
      var live = Vector.fill(3)(all.create(1))
      // What each of them has seen.
      var seen = Vector.fill(3)(Vector.empty[Any])
      for (step <- 1 to 300) {
        val i = random.nextInt(live.size)
        random.nextInt(12) match {
          case 0 => live.foreach(all.written)
          case 1 if live.size < 6 =>
            live :+= all.copy(live(i))
            seen :+= seen(i)
          case 2 if live.size > 2 =>
            val j = (i + 1) % live.size
            all.get(live(i)).merge(all.get(live(j)))
            seen = seen.updated(i, seen(i) ++ seen(j)).patch(j, Nil, 1)
            all.free(live(j))
            live = live.patch(j, Nil, 1)
          case 3 => live = live.updated(
              i, {
                val read = all.read(1, all.written(live(i)).clone())
                all.free(live(i))
                read
              }
            )
          // Sketches cannot go on with rows once they are merged or read; in tables that is never asked for.
          case _ if p.isInstanceOf[Percentile] || p.isInstanceOf[CollectSet] || step < 3 =>
            val value: Any = if (random.nextInt(9) == 0) null else random.nextLong(20)
            all.get(live(i)).update(InternalRow(value))
            seen = seen.updated(i, seen(i) :+ value)
          case _ =>
            val value: Any = random.nextLong(20)
            val one = all.create(1)
            all.get(one).update(InternalRow(value))
            all.get(live(i)).merge(all.get(one))
            all.free(one)
            seen = seen.updated(i, seen(i) :+ value)
        }
      }
      for ((id, values) <- live.zip(seen)) {
        val own = values.foldLeft(p.createAggregationBuffer())((b, v) => p.update(b, InternalRow(v)))
        val result = show(all.get(id).result())
        // The order of hashes, and how a sketch came about, are part of its bytes.
        def estimate(made: Any): Option[Any] = p.prettyName match {
          case "hll_sketch_agg" => Some(HllSketchEstimate(Literal(made, BinaryType)).eval())
          case "theta_sketch_agg" => Some(ThetaSketchEstimate(Literal(made, BinaryType)).eval())
          case _ => None
        }
        estimate(all.get(id).result()) match {
          case Some(found) => assert(found == values.filter(_ != null).distinct.size)
          case None => assert(result == show(p.eval(own)))
        }
        assert(show(all.get(id).result()) == result, "a result changes nothing")
      }
      live.foreach(all.free)
      assert(all.bytes == 0)
    }
  }

  test("a copy and what it is of change each for itself") {
    val all = objects(percentile)
    val first = all.create(1)
    all.get(first).update(InternalRow(1L))
    val second = all.copy(first)
    val third = all.copy(second)
    all.get(second).merge(all.get(first))
    all.get(first).update(InternalRow(100L))
    assert(Seq(first, second, third).map(all.get(_).result()) == Seq(30.7, 1.0, 1.0))
  }

  test("what is held is asked for, given back, and refused only where somebody asks") {
    val memory = new Memory(3 << 20)
    val all = objects(percentile, memory)
    val ids = (0 until 40).map(_ => all.create(1))
    for (i <- 0 until 400; id <- ids) all.get(id).update(InternalRow(i.toLong))
    val written = ids.map(id => all.written(id).length).sum
    assert(all.bytes >= written && memory.held > 0)
    all.settle()
    val more = (0 until 4000).map { _ =>
      val id = all.create(1)
      (0 until 64).foreach(i => all.get(id).update(InternalRow(i.toLong)))
      id
    }
    assert(all.bytes > (3 << 20) && memory.held <= (3 << 20))
    assertThrows[MemoryRefused](all.settle())
    more.foreach(all.free)
    all.settle()
    assert(all.get(ids.head).result() == 0.3 * 399)
    all.clear()
    assert(all.bytes == 0 && memory.held == 0)
    assert(all.get(all.create(1)).result() == null)
  }

  test("large values are seen as they come") {
    val all = objects(CollectSet(input(StringType)))
    val id = all.create(1)
    val text = "x" * 100000
    all.get(id).update(InternalRow(UTF8String.fromString(text)))
    assert(all.bytes > 100000)
    all.get(id).update(InternalRow(UTF8String.fromString(text + "y")))
    assert(all.bytes > 200000)
  }

  test("ids are used again, and of many none is lost") {
    val all = objects(percentile)
    val values = mutable.Map.empty[Long, Long]
    val random = new Random(3)
    for (_ <- 0 until 5000) {
      if (values.size > 300 || (values.nonEmpty && random.nextInt(3) == 0)) {
        val id = values.keys.toSeq(random.nextInt(values.size))
        assert(all.get(id).result() == values(id).toDouble)
        all.free(id)
        values -= id
      } else {
        val (id, value) = (all.create(1), random.nextLong(1000))
        assert(!values.contains(id))
        all.get(id).update(InternalRow(value))
        values(id) = value
      }
    }
    assert(values.keys.max < 310)
    values.foreach { case (id, value) => assert(all.get(id).result() == value.toDouble) }
  }

  test("compiled, values of every kind are handed over as they are, and NULL") {
    val values: Seq[(DataType, Any)] = Seq(
      BooleanType -> true,
      ByteType -> 3.toByte,
      ShortType -> 4.toShort,
      IntegerType -> 5,
      LongType -> 6L,
      FloatType -> 1.5f,
      DoubleType -> Double.NaN,
      DecimalType(38, 2) -> Decimal("12345678901234567890.12"),
      StringType -> UTF8String.fromString("text"),
      DateType -> 7
    )
    for ((t, value) <- values; v <- Seq(value, null)) withClue(s"$t, $v: ") {
      val f = ObjectAggregate(CollectSet(input(t)))
      val all = objects(f.program)
      val compiled = GenerateSafeProjection.generate(
        Seq(ObjectResult(bound(f.updateExpressions.head), f.dataType, nullable = false))
      )
      val found = compiled(InternalRow(v, all.get(all.create(1)))).getArray(0)
      if (v == null) assert(found.numElements() == 0)
      else assert(found.numElements() == 1 && found.get(0, t).equals(value))
    }
  }

  test("constants stay with the program, inputs are those of a row, and equal calls are equal") {
    def made(p: Double) = ObjectAggregate(new Percentile(
      Add(input(LongType), Literal(1L)),
      Literal(p),
      BoundReference(1, IntegerType, nullable = false)
    ))
    assert(
      made(0.2) == made(0.2) && made(0.2).aggBufferAttributes.head.exprId != made(0.2).aggBufferAttributes.head.exprId
    )
    assert(made(0.2) != made(0.3))
    assert(made(0.2).program.children == Seq(
      BoundReference(0, LongType, nullable = true),
      Literal(0.2),
      BoundReference(1, IntegerType, nullable = true)
    ))
    assert(FieldType.ofBuffer(made(0.2).aggBufferAttributes.head) == FieldType.ObjectField)
  }

  /** Over a row of an input, then the object of a group. */
  private def bound(e: Expression): Expression = e.transform { case a: AttributeReference =>
    BoundReference(1, a.dataType, nullable = false)
  }
}
