package io.phantoms.spark.run.interpreted

import io.phantoms.spark.block.{BlockBuilder, ByteDictionary, Hashing}
import io.phantoms.spark.functions.{FieldType, GroupObjects, KernelSupport, RecordWords}
import io.phantoms.spark.spec.{Flag, RecordLayout, SharedSpec}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Reads and writes records of one relation. What [[RecordCode]] writes as Java text, done: records come out the same to
 * the bit, and values enter the dictionary in the same order.
 *
 * @param objects of the kernel, which has them once it is open
 */
private[interpreted] final class RecordAccess(spec: SharedSpec, val layout: RecordLayout, objects: => GroupObjects) {
  import layout.{flagWords, keyWords, stride}

  private val keys = layout.keys.toArray
  private val slots = layout.slots.toArray
  private val keyLength = flagWords + keyWords

  // By ordinal into the keys or slots of the configuration; what the relation does not have is never asked for.
  private val keyWord = Array.tabulate(spec.keys.size)(k => layout.keyPlace.get(k).fold(0)(_._1))
  private val keyShift = Array.tabulate(spec.keys.size)(k => layout.keyPlace.get(k).fold(0)(_._2))
  private val keyBitsMask = spec.keys.map(k => if (k.field.bits == 64) -1L else (1L << k.field.bits) - 1).toArray
  private val keyFields = spec.keys.map(k => FieldAccess(k.field)).toArray
  private val keyNull = Array.tabulate(spec.keys.size)(k => layout.keyNull.get(k).orNull)
  private val slotTypes = spec.slots.indices.map(layout.slotField).toArray
  private val slotFields = slotTypes.map {
    case _: FieldType.WideDecimal | _: FieldType.Total | _: FieldType.Words => null
    case FieldType.CarryField | FieldType.ObjectField => null
    case other => FieldAccess.ofBuffer(other)
  }
  private val slotWord = Array.tabulate(spec.slots.size)(s => layout.slotPlace.getOrElse(s, 0))
  private val slotWords = spec.slots.indices.map(layout.slotWords).toArray
  private val slotNull = Array.tabulate(spec.slots.size)(s => layout.slotNull.get(s).orNull)
  private val carryShift = Array.tabulate(spec.slots.size)(s => layout.carryShift.getOrElse(s, 0))
  private val plainSlots = slots.filterNot(layout.carryShift.contains)
  private val sharedWords = layout.sharedWords.toArray
  private val objectWords = layout.objectPlaces.map(_._2).toArray

  private val keyMask = Array.tabulate(flagWords)(layout.keyMask)
  private val slotMask = Array.tabulate(flagWords)(layout.slotMask)
  private val matchMask = Array.tabulate(flagWords)(w => keyMask(w) | (if (w == 0) Long.MinValue else 0L))

  /** Flag and key words of the group at hand: what generated code has in locals. */
  private val group = new Array[Long](keyLength)

  private def isSet(flag: Flag, t: Array[Long], o: Int): Boolean =
    flag != null && (t(o + flag.word) & flag.mask) != 0L

  /** Makes the group at hand that of these keys, given by ordinal. */
  def packKeys(bits: Array[Long], isNull: Array[Boolean]): Unit = {
    clearGroup()
    var i = 0
    while (i < keys.length) {
      val k = keys(i)
      if (keyNull(k) != null && isNull(k)) group(keyNull(k).word) |= keyNull(k).mask
      group(keyWord(k)) |= bits(k) << keyShift(k)
      i += 1
    }
  }

  /** Makes the group at hand that of a record of the same or a finer relation. */
  def packKeysFrom(parent: RecordAccess, t: Array[Long], o: Int): Unit = {
    clearGroup()
    var w = 0
    while (w < flagWords) {
      group(w) |= t(o + w) & keyMask(w)
      w += 1
    }
    var i = 0
    while (i < keys.length) {
      val k = keys(i)
      group(keyWord(k)) |= parent.keyBits(k, t, o) << keyShift(k)
      i += 1
    }
  }

  private def clearGroup(): Unit = {
    java.util.Arrays.fill(group, 0L)
    group(0) = Long.MinValue
  }

  private def keyBits(key: Int, t: Array[Long], o: Int): Long =
    (t(o + keyWord(key)) >>> keyShift(key)) & keyBitsMask(key)

  /** The table hash of the group at hand. */
  def hash: Long = {
    var h = Hashing.TABLE_SEED
    var w = 0
    while (w < flagWords) {
      if (keyMask(w) != 0L) h = if (w == 0) h ^ group(0) else Hashing.mix(h, group(w))
      w += 1
    }
    while (w < keyLength) {
      h = Hashing.mix(h, group(w))
      w += 1
    }
    Hashing.finish(h)
  }

  /** Whether the record holds the group at hand; a free bucket does not. */
  def matches(t: Array[Long], o: Int): Boolean = {
    var w = 0
    while (w < flagWords) {
      if ((t(o + w) & matchMask(w)) != (group(w) & matchMask(w))) return false
      w += 1
    }
    while (w < keyLength) {
      if (t(o + w) != group(w)) return false
      w += 1
    }
    true
  }

  /** Writes the group at hand (and clears all buffer flags). */
  def storeKeys(t: Array[Long], o: Int): Unit = System.arraycopy(group, 0, t, o, keyLength)

  /** Copies the buffers of a finer relation's record to a record whose keys were just stored. */
  def copyBuffers(t: Array[Long], o: Int, parent: RecordAccess, s: Array[Long], a: Int): Unit = {
    var w = 0
    while (w < flagWords) {
      t(o + w) |= s(a + w) & slotMask(w)
      w += 1
    }
    var i = 0
    while (i < plainSlots.length) {
      val slot = plainSlots(i)
      System.arraycopy(s, a + parent.slotWord(slot), t, o + slotWord(slot), slotWords(slot))
      i += 1
    }
    sharedWords.foreach { case (word, both) =>
      t(o + word) = both.map(slot => parent.carryBits(slot, s, a) << carryShift(slot)).reduce(_ | _)
    }
    // No object is of two records.
    objectWords.foreach(w => t(o + w) = objects.copy(t(o + w)))
  }

  /** Frees the objects of a record that is dropped. */
  def freeObjects(t: Array[Long], o: Int): Unit = objectWords.foreach(w => objects.free(t(o + w)))

  private def carryBits(slot: Int, t: Array[Long], o: Int): Long =
    (t(o + slotWord(slot)) >>> carryShift(slot)) & RecordLayout.HalfWord

  /** A key of a record, null for NULL. */
  def key(key: Int, t: Array[Long], o: Int, dictionary: ByteDictionary): Any =
    if (isSet(keyNull(key), t, o)) null else keyFields(key).value(keyBits(key, t, o), dictionary)

  /** A buffer field of a record, null for NULL. */
  def slot(slot: Int, t: Array[Long], o: Int, dictionary: ByteDictionary): Any =
    if (isSet(slotNull(slot), t, o)) null
    else slotTypes(slot) match {
      case FieldType.WideDecimal(d) =>
        KernelSupport.decimal(t(o + slotWord(slot)), t(o + slotWord(slot) + 1), d.precision, d.scale)
      case FieldType.Total(d) =>
        val w = o + slotWord(slot)
        KernelSupport.total(t(w), t(w + 1), t(w + 2), d.scale)
      case FieldType.CarryField => carryBits(slot, t, o).toInt
      case FieldType.Words(count) => new RecordWords(count).of(t, o + slotWord(slot))
      case FieldType.ObjectField => objects.get(t(o + slotWord(slot)))
      case _ => slotFields(slot).value(t(o + slotWord(slot)), dictionary)
    }

  /**
   * Stores a buffer field.
   *
   * @param old what was loaded before, to leave a dictionary value alone that did not change
   */
  def storeSlot(slot: Int, t: Array[Long], o: Int, value: Any, old: Any, dictionary: ByteDictionary): Unit = {
    val flag = slotNull(slot)
    val at = o + slotWord(slot)
    if (value == null && flag != null) storeNull(slot, t, o)
    else {
      if (flag != null) t(o + flag.word) &= ~flag.mask
      slotTypes(slot) match {
        case FieldType.WideDecimal(d) =>
          val unscaled = KernelSupport.wide(value.asInstanceOf[Decimal], d.precision, d.scale)
          if (unscaled == null && flag != null) storeNull(slot, t, o)
          else {
            t(at) = KernelSupport.high(unscaled)
            t(at + 1) = unscaled.longValue
          }
        case FieldType.Total(d) =>
          val unscaled = KernelSupport.total(value.asInstanceOf[Decimal], d.scale)
          (0 until 3).foreach(i => t(at + i) = KernelSupport.word(unscaled, 2 - i))
        case FieldType.CarryField =>
          t(at) = (t(at) & ~(RecordLayout.HalfWord << carryShift(slot))) |
            ((value.asInstanceOf[Int] & RecordLayout.HalfWord) << carryShift(slot))
        // Changed in place, from zero on.
        case FieldType.Words(count) => if (value == null) java.util.Arrays.fill(t, at, at + count, 0L)
        case FieldType.ObjectField => if (value == null) t(at) = objects.create(slot)
        case f if f.isDictionary && (value.asInstanceOf[AnyRef] eq old.asInstanceOf[AnyRef]) =>
        case _ => t(at) = slotFields(slot).bits(value, dictionary)
      }
    }
  }

  private def storeNull(slot: Int, t: Array[Long], o: Int): Unit = {
    t(o + slotNull(slot).word) |= slotNull(slot).mask
    java.util.Arrays.fill(t, o + slotWord(slot), o + slotWord(slot) + slotWords(slot), 0L)
  }

  // Dictionary fields, keys before buffers: word, shift, null flag.
  private val ids: Array[(Int, Int, Flag)] =
    (keys.filter(spec.keys(_).field.isDictionary).map(k => (keyWord(k), keyShift(k), keyNull(k))) ++
      slots.filter(slotTypes(_).isDictionary).map(s => (slotWord(s), 0, slotNull(s))))
  private val idWords = ids.map(_._1).distinct
  private val copy = new Array[Long](if (ids.isEmpty) 0 else stride)

  /** Replaces every dictionary id of a record in place. */
  def rewriteIds(t: Array[Long], o: Int, translate: Int => Int): Unit = {
    var i = 0
    while (i < ids.length) {
      val (word, shift, flag) = ids(i)
      if (!isSet(flag, t, o)) {
        val id = translate((t(o + word) >>> shift).toInt)
        t(o + word) = (t(o + word) & ~(0xffffffffL << shift)) | ((id & 0xffffffffL) << shift)
      }
      i += 1
    }
  }

  /** Adds a record to a block, ids as ordinals into the block's own dictionary. Answers whether the block is full. */
  def append(block: BlockBuilder, t: Array[Long], o: Int, dictionary: ByteDictionary): Boolean = {
    val full = block.add(t, o)
    if (ids.length > 0) {
      System.arraycopy(t, o, copy, 0, stride)
      rewriteIds(copy, 0, block.localId(_, dictionary))
      idWords.foreach(w => block.patch(w, copy(w)))
    }
    objectWords.foreach(w => block.patch(w, block.body(objects.written(t(o + w))).toLong))
    full
  }

  /** The shard hash of a record: equal for equal shard keys in every task. */
  def shardHash(shardKey: Array[Int], t: Array[Long], o: Int, dictionary: ByteDictionary): Long = {
    var h = Hashing.SHARD_SEED
    var i = 0
    while (i < shardKey.length) {
      val k = shardKey(i)
      val bits = keyBits(k, t, o)
      val value =
        if (isSet(keyNull(k), t, o)) keyNull(k).mask
        else if (spec.keys(k).field.isDictionary) dictionary.hash(bits.toInt)
        else bits
      h = Hashing.mix(h, value)
      i += 1
    }
    h
  }
}

/** Moves non-null values of one [[FieldType]] between Spark's objects and the bits of a record. */
private[interpreted] abstract class FieldAccess {
  def bits(value: Any, dictionary: ByteDictionary): Long
  def value(bits: Long, dictionary: ByteDictionary): Any
}

private[interpreted] object FieldAccess {
  private def apply[T](
      to: (T, ByteDictionary) => Long,
      from: (Long, ByteDictionary) => Any
  ): FieldAccess = new FieldAccess {
    override def bits(value: Any, dictionary: ByteDictionary): Long = to(value.asInstanceOf[T], dictionary)
    override def value(bits: Long, dictionary: ByteDictionary): Any = from(bits, dictionary)
  }

  /** Of a buffer field, whose values are Spark's whatever their type. */
  def ofBuffer(field: FieldType): FieldAccess = field match {
    case FieldType.RowField(t) =>
      val toRow = InterpretedAggregates.projection(Seq(BoundReference(0, t, nullable = false)))
      val holder = new GenericInternalRow(1)
      val ofRow = apply(field)
      apply[Any](
        (v, d) => {
          holder.update(0, v)
          ofRow.bits(toRow(holder), d)
        },
        ofRow.value
      )
    case other => apply(other)
  }

  /** Of a key. */
  def apply(field: FieldType): FieldAccess = field match {
    case FieldType.Fixed(t, _, _, _) => fixed(t)
    case FieldType.ShortDecimal(t) =>
      apply[Decimal](
        (v, _) => KernelSupport.unscaled(v, t.precision, t.scale),
        (b, _) => Decimal(b, t.precision, t.scale)
      )
    case FieldType.WideDecimalField(t) =>
      apply[Decimal](
        (v, d) => KernelSupport.internDecimal(d, v, t.precision, t.scale).toLong,
        (b, d) => KernelSupport.decimal(d, b, t.precision, t.scale)
      )
    case _: FieldType.StringField =>
      apply[UTF8String]((v, d) => KernelSupport.intern(d, v).toLong, (b, d) => KernelSupport.string(d, b))
    case _: FieldType.BinaryField =>
      apply[Array[Byte]]((v, d) => KernelSupport.intern(d, v).toLong, (b, d) => KernelSupport.binary(d, b))
    case FieldType.RowField(t) =>
      // The value of such a key is the row that holds it.
      val accessor = InternalRow.getAccessor(t, nullable = false)
      apply[UnsafeRow]((v, d) => KernelSupport.intern(d, v).toLong, (b, d) => accessor(KernelSupport.row(d, b), 0))
    case other => throw new IllegalStateException(s"$other takes two words")
  }

  private def fixed(t: DataType): FieldAccess = t match {
    case NullType => apply[Any]((_, _) => 0L, (_, _) => null)
    case BooleanType => apply[Boolean]((v, _) => if (v) 1L else 0L, (b, _) => b != 0L)
    case ByteType => apply[Byte]((v, _) => v & 0xffL, (b, _) => b.toByte)
    case ShortType => apply[Short]((v, _) => v & 0xffffL, (b, _) => b.toShort)
    case IntegerType | DateType | _: YearMonthIntervalType => apply[Int]((v, _) => v & 0xffffffffL, (b, _) => b.toInt)
    case FloatType =>
      apply[Float](
        (v, _) => java.lang.Float.floatToRawIntBits(v) & 0xffffffffL,
        (b, _) => java.lang.Float.intBitsToFloat(b.toInt)
      )
    case DoubleType =>
      apply[Double]((v, _) => java.lang.Double.doubleToRawLongBits(v), (b, _) => java.lang.Double.longBitsToDouble(b))
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType | _: TimeType =>
      apply[Long]((v, _) => v, (b, _) => b)
    case other => throw new IllegalStateException(s"${other.sql} is of no fixed width")
  }
}
