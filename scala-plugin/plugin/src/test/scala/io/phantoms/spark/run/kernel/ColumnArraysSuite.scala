package io.phantoms.spark.run.kernel

import io.phantoms.spark.shims.HeapVectors

import org.apache.spark.sql.execution.vectorized._
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class ColumnArraysSuite extends AnyFunSuite {
  private val n = 5

  /** Of every kind, what reads its column and its values. */
  private val kinds: Seq[(DataType, (ColumnArrays, ColumnVector) => Any, (WritableColumnVector, Int) => Unit)] = Seq(
    (ByteType, _.bytes(_, n), (v, i) => v.putByte(i, (3 * i).toByte)),
    (ShortType, _.shorts(_, n), (v, i) => v.putShort(i, (3 * i).toShort)),
    (IntegerType, _.ints(_, n), (v, i) => v.putInt(i, 3 * i)),
    (LongType, _.longs(_, n), (v, i) => v.putLong(i, 3L * i)),
    (FloatType, _.floats(_, n), (v, i) => v.putFloat(i, 3f * i)),
    (DoubleType, _.doubles(_, n), (v, i) => v.putDouble(i, 3.0 * i))
  )

  private def numbers(array: Any): Seq[Double] = (array match {
    case a: Array[Byte] => a.map(_.toDouble)
    case a: Array[Short] => a.map(_.toDouble)
    case a: Array[Int] => a.map(_.toDouble)
    case a: Array[Long] => a.map(_.toDouble)
    case a: Array[Float] => a.map(_.toDouble)
    case a: Array[Double] => a
    case other => fail(s"$other is no array of numbers")
  }).toSeq.take(n)

  private val expected = Seq(0.0, 3.0, 6.0, 9.0, 12.0)

  test("the vector's own array where it is on the heap") {
    kinds.foreach { case (t, read, put) =>
      val v = new OnHeapColumnVector(n, t)
      (0 until n).foreach(put(v, _))
      val (first, second) = (read(new ColumnArrays, v), read(new ColumnArrays, v))
      assert(numbers(first) == expected, t)
      assert(first.asInstanceOf[AnyRef] eq second.asInstanceOf[AnyRef], s"$t was copied")
    }
  }

  test("values off the heap") {
    kinds.foreach { case (t, read, put) =>
      val v = new OffHeapColumnVector(n, t)
      try {
        (0 until n).foreach(put(v, _))
        assert(numbers(read(new ColumnArrays, v)) == expected, t)
      } finally v.close()
    }
  }

  private object Tripled extends Dictionary {
    override def decodeToInt(id: Int): Int = 3 * id
    override def decodeToLong(id: Int): Long = 3L * id
    override def decodeToFloat(id: Int): Float = 3f * id
    override def decodeToDouble(id: Int): Double = 3.0 * id
    override def decodeToBinary(id: Int): Array[Byte] = throw new UnsupportedOperationException
  }

  private def encoded(t: DataType, nullAt: Option[Int]): OnHeapColumnVector = {
    val v = new OnHeapColumnVector(n, t)
    val ids = v.reserveDictionaryIds(n)
    (0 until n).foreach(i => ids.putInt(i, i))
    v.setDictionary(Tripled)
    nullAt.foreach { i =>
      v.putNull(i)
      // Nothing a dictionary could resolve.
      ids.putInt(i, Int.MaxValue)
    }
    v
  }

  test("dictionary values, with and without NULLs") {
    kinds.drop(2).foreach { case (t, read, _) =>
      assert(numbers(read(new ColumnArrays, encoded(t, None))) == expected, t)
      val some = numbers(read(new ColumnArrays, encoded(t, Some(2))))
      assert(some.patch(2, Nil, 1) == expected.patch(2, Nil, 1), t)
    }
  }

  test("a batch's values never land in the vector of the batch before") {
    val arrays = new ColumnArrays
    val own = new OnHeapColumnVector(n, IntegerType)
    (0 until n).foreach(own.putInt(_, 7))
    val first = arrays.ints(own, n)
    val second = arrays.ints(encoded(IntegerType, None), n)
    assert(first.take(n).forall(_ == 7))
    assert(numbers(second) == expected)
    assert(numbers(arrays.ints(new Foreign, n)).patch(2, Nil, 1) == expected.patch(2, Nil, 1))
    assert(first.take(n).forall(_ == 7))
  }

  test("this Spark's vectors keep their arrays where they are looked for") {
    val v = new OnHeapColumnVector(n, LongType)
    assert(HeapVectors.longs(v) != null)
    assert(HeapVectors.dictionary(encoded(LongType, None)) eq Tripled)
    assert(HeapVectors.dictionaryIds(encoded(LongType, None)) != null)
  }

  /** A source's own vector, which refuses to read NULL. */
  private final class Foreign extends ColumnVector(IntegerType) {
    override def close(): Unit = ()
    override def hasNull: Boolean = true
    override def numNulls: Int = 1
    override def isNullAt(i: Int): Boolean = i == 2
    override def getInt(i: Int): Int = if (i == 2) throw new IllegalStateException("NULL") else 3 * i
    private def no = throw new UnsupportedOperationException
    override def getBoolean(i: Int): Boolean = no
    override def getByte(i: Int): Byte = no
    override def getShort(i: Int): Short = no
    override def getLong(i: Int): Long = no
    override def getFloat(i: Int): Float = no
    override def getDouble(i: Int): Double = no
    override def getArray(i: Int): ColumnarArray = no
    override def getMap(i: Int): ColumnarMap = no
    override def getDecimal(i: Int, precision: Int, scale: Int): Decimal = no
    override def getUTF8String(i: Int): UTF8String = no
    override def getBinary(i: Int): Array[Byte] = no
    override def getChild(i: Int): ColumnVector = no
  }
}
