package io.phantoms.spark.verify

import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, XXH64}
import org.apache.spark.sql.catalyst.types._
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types.{DataType, Decimal, UserDefinedType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * A 64-bit hash of a value: equal for values that are equal, whatever bytes they lie in. NaN is one value, collated strings
 * that are equal are one, and the entries of a map have no order.
 */
abstract class ValueHash extends Serializable {

  /** Of the value at a place that is not NULL. */
  protected def notNull(from: SpecializedGetters, ordinal: Int, seed: Long): Long

  final def apply(from: SpecializedGetters, ordinal: Int, seed: Long): Long =
    if (from.isNullAt(ordinal)) XXH64.hashLong(seed, ValueHash.Null) else notNull(from, ordinal, seed)
}

object ValueHash {
  private val Null = 0x4e554c4cL
  private val EntrySeed = 42L

  private type Of = (SpecializedGetters, Int, Long) => Long

  /** @param signless whether 0.0 and -0.0 are the same; None: values of this type are not known to be comparable */
  def of(dataType: DataType, signless: Boolean): Option[ValueHash] = dataType match {
    case u: UserDefinedType[_] => of(u.sqlType, signless)
    case _ => PhysicalDataType(dataType) match {
        case _: PhysicalNullType => hash((_, _, seed) => seed)
        case _: PhysicalBooleanType => hash((r, i, seed) => XXH64.hashInt(if (r.getBoolean(i)) 1 else 0, seed))
        case _: PhysicalByteType => hash((r, i, seed) => XXH64.hashInt(r.getByte(i).toInt, seed))
        case _: PhysicalShortType => hash((r, i, seed) => XXH64.hashInt(r.getShort(i).toInt, seed))
        case _: PhysicalIntegerType => hash((r, i, seed) => XXH64.hashInt(r.getInt(i), seed))
        case _: PhysicalLongType => hash((r, i, seed) => XXH64.hashLong(r.getLong(i), seed))
        case _: PhysicalFloatType => hash { (r, i, seed) =>
            val value = r.getFloat(i)
            XXH64.hashInt(java.lang.Float.floatToIntBits(if (signless && value == 0.0f) 0.0f else value), seed)
          }
        case _: PhysicalDoubleType => hash { (r, i, seed) =>
            val value = r.getDouble(i)
            XXH64.hashLong(java.lang.Double.doubleToLongBits(if (signless && value == 0.0) 0.0 else value), seed)
          }
        case d: PhysicalDecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
          val (precision, scale) = (d.precision, d.scale)
          hash((r, i, seed) => XXH64.hashLong(r.getDecimal(i, precision, scale).toUnscaledLong, seed))
        case d: PhysicalDecimalType =>
          val (precision, scale) = (d.precision, d.scale)
          hash((r, i, seed) =>
            bytes(r.getDecimal(i, precision, scale).toJavaBigDecimal.unscaledValue.toByteArray, seed)
          )
        case s: PhysicalStringType if isBinary(s.collationId) =>
          hash((r, i, seed) => string(r.getUTF8String(i), seed))
        case s: PhysicalStringType =>
          val collation = s.collationId
          hash { (r, i, seed) =>
            val key = CollationFactory.fetchCollation(collation).sortKeyFunction.apply(r.getUTF8String(i))
            bytes(key.asInstanceOf[Array[Byte]], seed)
          }
        case _: PhysicalBinaryType => hash((r, i, seed) => bytes(r.getBinary(i), seed))
        case _: PhysicalCalendarIntervalType => hash { (r, i, seed) =>
            val interval = r.getInterval(i)
            XXH64.hashLong(interval.microseconds, XXH64.hashInt(interval.days, XXH64.hashInt(interval.months, seed)))
          }
        case _: PhysicalVariantType => hash { (r, i, seed) =>
            val variant = r.getVariant(i)
            bytes(variant.getMetadata, bytes(variant.getValue, seed))
          }
        case s: PhysicalStructType => ofStruct(s, signless)
        case a: PhysicalArrayType => of(a.elementType, signless).flatMap { element =>
            hash { (r, i, seed) =>
              val array = r.getArray(i)
              val start = XXH64.hashInt(array.numElements(), seed)
              (0 until array.numElements()).foldLeft(start)((h, e) => element(array, e, h))
            }
          }
        case m: PhysicalMapType => ofMap(m, signless)
        case _ => None
      }
  }

  private def ofStruct(struct: PhysicalStructType, signless: Boolean): Option[ValueHash] = {
    val fields = struct.fields.toIndexedSeq.map(f => of(f.dataType, signless))
    if (fields.exists(_.isEmpty)) None
    else {
      val of = fields.flatten
      hash { (r, i, seed) =>
        val row = r.getStruct(i, of.size)
        of.indices.foldLeft(seed)((h, f) => of(f)(row, f, h))
      }
    }
  }

  private def ofMap(map: PhysicalMapType, signless: Boolean): Option[ValueHash] =
    for (
      key <- of(map.keyType, signless); value <- of(map.valueType, signless);
      made <- hash { (r, i, seed) =>
        val entries = r.getMap(i)
        val (keys, values) = (entries.keyArray(), entries.valueArray())
        val sum = (0 until entries.numElements()).foldLeft(0L)((sum, e) =>
          sum + value(values, e, key(keys, e, EntrySeed))
        )
        XXH64.hashLong(sum, XXH64.hashInt(entries.numElements(), seed))
      }
    )
      yield made

  private def hash(of: Of): Option[ValueHash] = Some(
    new ValueHash {
      override protected def notNull(from: SpecializedGetters, ordinal: Int, seed: Long): Long = of(from, ordinal, seed)
    }
  )

  private def isBinary(collation: Int): Boolean = collation == CollationFactory.UTF8_BINARY_COLLATION_ID

  private def string(value: UTF8String, seed: Long): Long =
    XXH64.hashUnsafeBytes(value.getBaseObject, value.getBaseOffset, value.numBytes, seed)

  private def bytes(value: Array[Byte], seed: Long): Long =
    XXH64.hashUnsafeBytes(value, Platform.BYTE_ARRAY_OFFSET.toLong, value.length, seed)
}
