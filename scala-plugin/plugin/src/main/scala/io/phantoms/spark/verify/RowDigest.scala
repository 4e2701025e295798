package io.phantoms.spark.verify

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.types.FloatType

/** Adds rows to a fingerprint, each column as it is compared. */
final class RowDigest(columns: IndexedSeq[ComparedColumn]) extends Serializable {
  import RowDigest._

  private val hashed: Array[(Int, ValueHash)] = columns.zipWithIndex.collect {
    case (ComparedColumn(_, dataType, form @ (ColumnForm.Exact | ColumnForm.Signless)), i) =>
      val hash = ValueHash.of(dataType, form == ColumnForm.Signless)
      (i, hash.getOrElse(throw new IllegalStateException(s"values of ${dataType.sql} are not compared")))
  }.toArray

  private val floats: Array[Int] = columns.indices.filter(columns(_).form == ColumnForm.Rounded).toArray
  private val isFloat: Array[Boolean] = floats.map(columns(_).dataType == FloatType)

  /** Of each column of rounded floats, see [[Fingerprint.differingFloats]]. */
  val tolerances: Array[Double] = isFloat.map(if (_) FloatTolerance else DoubleTolerance)

  /** Columns of rounded floats. */
  def rounded: Int = floats.length

  /** @param ordinals among the columns of rounded floats */
  def names(ordinals: Seq[Int]): Seq[String] = ordinals.map(i => columns(floats(i)).name)

  def empty: Fingerprint = new Fingerprint(floats.length)

  def add(row: InternalRow, to: Fingerprint): Unit = {
    var hash = Seed
    var i = 0
    while (i < hashed.length) {
      val (ordinal, of) = hashed(i)
      hash = of(row, ordinal, hash)
      i += 1
    }
    i = 0
    while (i < floats.length) {
      val ordinal = floats(i)
      if (row.isNullAt(ordinal)) hash = XXH64.hashInt(IsNull, hash)
      else {
        val value = if (isFloat(i)) row.getFloat(ordinal).toDouble else row.getDouble(ordinal)
        hash = XXH64.hashInt(kind(value), hash)
        if (kind(value) == IsFinite) to.add(i, hash, value)
      }
      i += 1
    }
    to.add(hash)
  }
}

object RowDigest {

  /** What the tests of the plugin allow sums of floats to differ by. */
  val DoubleTolerance = 1e-9

  /** A sum that is rounded to a float may be rounded to the next one. */
  private val FloatTolerance = 1e-6

  private val Seed = 7919L

  // Which of these a value is may not differ.
  private val IsNull = 0
  private val IsFinite = 1

  private def kind(value: Double): Int =
    if (value.isNaN) 2 else if (!value.isInfinite) IsFinite else if (value > 0) 3 else 4
}
