package io.phantoms.spark.run.interpreted

import io.phantoms.spark.block.Hashing
import io.phantoms.spark.functions.{FieldType, StaysIf}
import io.phantoms.spark.run.generated.LftaCode
import io.phantoms.spark.run.kernel.LftaKernel
import io.phantoms.spark.spec.{RowSteps, SharedSpec}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * A map-side kernel without generated code, for configurations whose class cannot be compiled. It makes the blocks that
 * the class of [[LftaCode]] makes, byte for byte, so that tasks of one job may run either.
 *
 * @param steps what is done with a row first, bound to the child's columns; its inputs are keys first, then what the
 *   aggregate functions read
 * @param columns how many columns the child has
 * @param secondChance whether a group has a second bucket
 */
final class InterpretedLfta(
    spec: SharedSpec,
    steps: RowSteps,
    columns: Int,
    secondChance: Boolean
) extends LftaKernel {

  private final class Relation(val ordinal: Int) {
    private val relation = spec.relations(ordinal)
    val record = new RecordAccess(spec, spec.layouts(ordinal), objects)
    val stride: Int = spec.layouts(ordinal).stride
    val hasTable: Boolean = relation.buckets > 0
    val isRoot: Boolean = relation.parent < 0

    /** Ordinals of the inputs that its functions read; of relations fed by input rows. */
    val read: Array[Int] = spec.inputsOf(spec.layouts(ordinal).aggregates).toArray

    /** First slot (relation, shard), see [[LftaKernel.open]]. */
    val firstSlot: Int = spec.relations.take(ordinal).map(_.ship.fold(0)(_.partitions.size)).sum
    val shards: Int = relation.ship.fold(0)(_.partitions.size)
    val shardKey: Array[Int] = relation.ship.fold(Seq.empty[Int])(_.shardKey).toArray

    var children: Array[Relation] = Array.empty
    var table: Array[Long] = Array.empty
    var shift: Int = 0

    /** Entries until the table is looked at, and whether it is passed by: see [[LftaKernel.adapt]]. */
    var left: Int = 0
    var pass: Boolean = false

    /** The record of an entry that got no bucket. */
    val spare: Array[Long] = new Array[Long](stride)

    /** Where the record that was probed for lies: in the table, or the spare record. */
    var target: Array[Long] = Array.empty
    var at: Int = 0
  }

  private val byOrdinal = spec.relations.indices.map(r => if (spec.relations(r).derived) null else new Relation(r))
  private val relations = byOrdinal.filter(_ != null).toArray
  relations.foreach(r => r.children = spec.children(r.ordinal).map(byOrdinal).filter(_ != null).toArray)
  private val roots = relations.filter(_.isRoot)

  private val keyOrdinals = roots.flatMap(r => spec.relations(r.ordinal).keys).distinct.sorted
  private val inputs = steps.inputs
  private val expressions = InterpretedAggregates.prepare(inputs)
  private val stepOrder = InterpretedAggregates.prepare(steps.steps)
  private val values = new GenericInternalRow(steps.values.size)
  private val withValues = new JoinedRow()
  private val keyFields = spec.keys.map(k => FieldAccess(k.field)).toArray
  private val keyRows = spec.keys.zipWithIndex.map {
    case (k, i) if k.field.isInstanceOf[FieldType.RowField] =>
      InterpretedAggregates.projection(Seq(inputs(i)))
    case _ => null
  }.toArray
  private val keyBits = new Array[Long](spec.keys.size)
  private val keyIsNull = new Array[Boolean](spec.keys.size)
  private val aggregates = new InterpretedAggregates(spec, inputs.size)
  private val refersBeside = spec.refersBeside
  private val batches = LftaCode.batches(spec, steps, columns)

  override protected def allocate(): Unit = relations.foreach { r =>
    if (r.hasTable) {
      r.table = new Array[Long](r.stride << log2Buckets(r.ordinal))
      r.shift = 63 - log2Buckets(r.ordinal)
      r.left = window(r.ordinal)
    } else r.table = new Array[Long](r.stride)
  }

  override def process(batch: ColumnarBatch): Unit = {
    val n = batch.numRows()
    var i = resumed()
    while (i < n) {
      if (!batches && pauses(i)) return
      if (batches && i % LftaKernel.BATCH == 0) roots.foreach(look(_, LftaKernel.BATCH))
      process(batch.getRow(i), looks = !batches)
      i += 1
    }
  }

  override def process(row: InternalRow): Unit = process(row, looks = true)

  /** Lets a relation see what its table is worth once so many more entries have come. */
  private def look(r: Relation, entries: Int): Unit = if (r.hasTable) {
    r.left -= entries
    if (r.left < 0) {
      r.left = adapt(r.ordinal)
      r.pass = bypassed(r.ordinal)
    }
  }

  private def process(input: InternalRow, looks: Boolean): Unit = {
    if (refersBeside) relieve()
    val row = if (values.numFields == 0) input else withValues(input, values)
    // Keys after the steps: a key's expression must not fail on a row that a filter removes.
    if (!stays(row)) dropped += 1
    else {
      rows += 1
      evaluateKeys(row)
      var i = 0
      while (i < roots.length) {
        roots(i).record.packKeys(keyBits, keyIsNull)
        if (looks) look(roots(i), 1)
        update(roots(i), row)
        i += 1
      }
    }
  }

  private def stays(row: InternalRow): Boolean = {
    var (i, value) = (0, 0)
    while (i < stepOrder.length) {
      val result = stepOrder(i).eval(row)
      if (stepOrder(i).isInstanceOf[StaysIf]) { if (result != true) return false }
      else {
        values.update(value, result)
        value += 1
      }
      i += 1
    }
    true
  }

  private def evaluateKeys(row: InternalRow): Unit = {
    var i = 0
    while (i < keyOrdinals.length) {
      val k = keyOrdinals(i)
      val value =
        if (keyRows(k) == null) expressions(k).eval(row)
        else {
          val one = keyRows(k)(row)
          if (one.isNullAt(0)) null else one
        }
      keyIsNull(k) = value == null
      keyBits(k) = if (value == null) 0L else keyFields(k).bits(value, dictionary)
      i += 1
    }
  }

  /**
   * Probes for the group at hand. Answers whether its record is there; if not, its keys are stored and its buffers are the
   * caller's to set.
   */
  private def probe(r: Relation): Boolean = {
    val spared = r.hasTable && r.pass
    r.target = if (spared) r.spare else r.table
    r.at = if (r.hasTable && !spared) (r.record.hash >>> 1 >>> r.shift).toInt * r.stride else 0
    if (spared) passed(r.ordinal) += 1
    if (r.hasTable && (r.record.matches(r.target, r.at) || (!spared && secondMatches(r)))) true
    else {
      if (!spared) {
        misses(r.ordinal) += 1
        if (r.hasTable && r.table(r.at) < 0L) evict(r, r.table, r.at)
      }
      r.record.storeKeys(r.target, r.at)
      false
    }
  }

  /** Looks into the second bucket where another group is in the first, and stays there if it is free. */
  private def secondMatches(r: Relation): Boolean =
    secondChance && r.table(r.at) < 0L && {
      val second = (Hashing.second(r.record.hash) >>> 1 >>> r.shift).toInt * r.stride
      val found = r.record.matches(r.table, second)
      if (found || r.table(second) >= 0L) r.at = second
      found
    }

  /** Hands on what did not get a bucket. */
  private def pass(r: Relation): Unit =
    if (!r.hasTable) evict(r, r.table, 0)
    else if (r.target eq r.spare) {
      evict(r, r.spare, 0)
      r.spare(0) = 0L
    }

  /** Updates the group at hand from an input row. */
  private def update(r: Relation, row: InternalRow): Unit = {
    if (!probe(r)) aggregates.initialize(r.record, r.target, r.at, dictionary)
    var i = 0
    while (i < r.read.length) {
      aggregates.values(r.read(i)) = expressions(r.read(i)).eval(row)
      i += 1
    }
    aggregates.update(r.record, r.target, r.at, dictionary)
    pass(r)
  }

  /** Merges a record of the feeding relation. */
  private def feed(r: Relation, parent: RecordAccess, s: Array[Long], a: Int): Unit = {
    r.record.packKeysFrom(parent, s, a)
    look(r, 1)
    if (probe(r)) aggregates.merge(r.record, r.target, r.at, parent, s, a, dictionary)
    else r.record.copyBuffers(r.target, r.at, parent, s, a)
    pass(r)
  }

  private def evict(r: Relation, t: Array[Long], o: Int): Unit = {
    evictions(r.ordinal) += 1
    if (r.shards > 0) ship(r, t, o)
    var i = 0
    while (i < r.children.length) {
      feed(r.children(i), r.record, t, o)
      i += 1
    }
    r.record.freeObjects(t, o)
  }

  private def ship(r: Relation, t: Array[Long], o: Int): Unit = {
    val shard =
      if (r.shards == 1) 0
      else Hashing.shard(r.record.shardHash(r.shardKey, t, o, dictionary), r.shards)
    val slot = r.firstSlot + shard
    val full = r.record.append(builder(slot), t, o, dictionary)
    shipped += 1
    if (full) finish(slot)
  }

  override protected val tables: Array[Int] = relations.filter(_.hasTable).map(_.ordinal)

  override protected def evictFrom(relation: Int, from: Int): Int = {
    val r = byOrdinal(relation)
    var o = from
    while (o < r.table.length) {
      if (r.table(o) < 0L) {
        evictedAtEnd(r.ordinal) += 1
        evict(r, r.table, o)
        r.table(o) = 0L
        if (crowded()) return o + r.stride
      }
      o += r.stride
    }
    -1
  }
}
