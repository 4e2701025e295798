package io.phantoms.spark.verify

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnsafeProjection}
import org.apache.spark.sql.catalyst.expressions.aggregate.{ImperativeAggregate, TypedImperativeAggregate}
import org.apache.spark.sql.types.{BinaryType, DataType}

/**
 * The fingerprint of all rows that an aggregation gets, as bytes.
 *
 * @param children the values of a row, as many as `columns`
 */
final case class FingerprintOf(
    children: Seq[Expression],
    columns: IndexedSeq[ComparedColumn],
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0
) extends TypedImperativeAggregate[Fingerprint] {
  override def prettyName: String = "fingerprint"
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false

  @transient private lazy val digest = new RowDigest(columns)
  @transient private lazy val values: InternalRow => InternalRow =
    if (children.zipWithIndex.forall { case (c, i) => isColumn(c, i) }) identity
    else UnsafeProjection.create(children)

  private def isColumn(value: Expression, i: Int): Boolean = value match {
    case b: BoundReference => b.ordinal == i
    case _ => false
  }

  override def createAggregationBuffer(): Fingerprint = digest.empty

  override def update(buffer: Fingerprint, row: InternalRow): Fingerprint = {
    digest.add(values(row), buffer)
    buffer
  }

  override def merge(buffer: Fingerprint, other: Fingerprint): Fingerprint = {
    buffer.add(other)
    buffer
  }

  override def eval(buffer: Fingerprint): Any = buffer.toBytes
  override def serialize(buffer: Fingerprint): Array[Byte] = buffer.toBytes
  override def deserialize(bytes: Array[Byte]): Fingerprint = Fingerprint.of(bytes)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): FingerprintOf = copy(children = c)
}
