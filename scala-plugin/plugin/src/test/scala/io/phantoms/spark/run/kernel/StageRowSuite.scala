package io.phantoms.spark.run.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** What a stage has written is what interpreted expressions read, and what is kept of it does not change with the stage. */
final class StageRowSuite extends AnyFunSuite {
  private val struct = new StructType().add("x", IntegerType).add("y", StringType)

  /** By type: how a stage writes a value, and the value. */
  private val primitives = Seq[(DataType, Long, Any)](
    (BooleanType, 1L, true),
    (ByteType, -3L, (-3).toByte),
    (ShortType, -300L, (-300).toShort),
    (IntegerType, Int.MinValue.toLong, Int.MinValue),
    (DateType, 12L, 12),
    (LongType, Long.MinValue, Long.MinValue),
    (TimestampType, 1L << 40, 1L << 40),
    (FloatType, java.lang.Float.floatToRawIntBits(-0.0f).toLong, -0.0f),
    (DoubleType, java.lang.Double.doubleToRawLongBits(Double.NaN), Double.NaN),
    (YearMonthIntervalType(), 7L, 7),
    (DayTimeIntervalType(), 9L, 9L)
  )

  private def text(bytes: Array[Byte]): UTF8String = UTF8String.fromBytes(bytes)

  test("values of every kind, and NULL") {
    val bytes = "text".getBytes
    val objects = Seq[(DataType, AnyRef)](
      StringType -> text(bytes),
      BinaryType -> bytes,
      DecimalType(25, 3) -> Decimal("1234567890123456789012.345"),
      struct -> new GenericInternalRow(Array[Any](1, text(bytes)))
    )
    val types = (primitives.map(_._1) ++ objects.map(_._1)).toArray
    val row = new StageRow(types)
    primitives.zipWithIndex.foreach { case ((_, word, _), i) => row.words(i) = word }
    objects.zipWithIndex.foreach { case ((_, value), i) => row.objects(primitives.size + i) = value }
    val expected = InternalRow.fromSeq(primitives.map(_._3) ++ objects.map(_._2))
    val unsafe = UnsafeProjection.create(types)
    val read = types.zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true).eval(row) }
    assert(unsafe(new GenericInternalRow(read)).copy() == unsafe(expected).copy())
    assert(unsafe(row).copy() == unsafe(expected).copy())
    assert(unsafe(row.kept).copy() == unsafe(expected).copy())
    assert(unsafe(row.copy()).copy() == unsafe(expected).copy())

    types.indices.foreach(row.nulls(_) = true)
    assert(types.indices.forall(i => row.isNullAt(i) && row.kept.isNullAt(i) && row.get(i, types(i)) == null))
  }

  test("a row that is kept stays when the stage goes on") {
    val (bytes, binary) = ("before".getBytes, Array[Byte](1, 2))
    val unsafe = UnsafeProjection.create(struct)
    val row = new StageRow(Array(StringType, BinaryType, struct, IntegerType))
    row.objects(0) = text(bytes)
    row.objects(1) = binary
    row.objects(2) = unsafe(new GenericInternalRow(Array[Any](1, text(bytes))))
    row.words(3) = 5
    val kept = row.kept
    System.arraycopy("behind".getBytes, 0, bytes, 0, bytes.length)
    binary(0) = 9
    val _ = unsafe(new GenericInternalRow(Array[Any](2, text(bytes))))
    row.words(3) = 6
    row.nulls(3) = true
    assert(kept.getUTF8String(0).toString == "before" && row.getUTF8String(0).toString == "behind")
    assert(kept.getBinary(1).toSeq == Seq[Byte](1, 2))
    assert(kept.getStruct(2, 2).getInt(0) == 1 && kept.getStruct(2, 2).getUTF8String(1).toString == "before")
    assert(kept.getInt(3) == 5 && !kept.isNullAt(3))
  }
}
