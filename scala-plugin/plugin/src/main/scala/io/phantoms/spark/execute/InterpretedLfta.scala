package io.phantoms.spark.execute

import io.phantoms.spark.lfta.Hashing

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * A map-side kernel without generated code, for configurations whose class cannot be compiled. It makes the blocks that
 * the class of [[LftaCode]] makes, byte for byte, so that tasks of one job may run either.
 *
 * @param inputs keys first, then what the aggregate functions read, bound to the child's columns
 * @param filters rows that stay, bound to the child's columns
 */
final class InterpretedLfta(spec: SharedSpec, inputs: IndexedSeq[Expression], filters: Seq[Expression])
    extends LftaKernel {

  private final class Relation(val ordinal: Int) {
    private val relation = spec.relations(ordinal)
    val record = new RecordAccess(spec, spec.layouts(ordinal))
    val stride: Int = spec.layouts(ordinal).stride
    val hasTable: Boolean = relation.buckets > 0
    val isRoot: Boolean = relation.parent < 0

    /** Ordinals of the inputs that its functions read; of relations fed by input rows. */
    val read: Array[Int] = spec.layouts(ordinal).aggregates.map(spec.aggregates)
      .flatMap(a => a.function.updateExpressions ++ a.filter)
      .flatMap(_.collect { case b: BoundReference => b.ordinal }).distinct.sorted.toArray

    /** First slot (relation, shard), see [[LftaKernel.open]]. */
    val firstSlot: Int = spec.relations.take(ordinal).map(_.ship.fold(0)(_.partitions.size)).sum
    val shards: Int = relation.ship.fold(0)(_.partitions.size)
    val shardKey: Array[Int] = relation.ship.fold(Seq.empty[Int])(_.shardKey).toArray

    var children: Array[Relation] = Array.empty
    var table: Array[Long] = Array.empty
    var shift: Int = 0

    /** Where the record that was probed for lies. */
    var at: Int = 0
  }

  private val byOrdinal = spec.relations.indices.map(r => if (spec.relations(r).derived) null else new Relation(r))
  private val relations = byOrdinal.filter(_ != null).toArray
  relations.foreach(r => r.children = spec.children(r.ordinal).map(byOrdinal).filter(_ != null).toArray)
  private val roots = relations.filter(_.isRoot)

  private val keyOrdinals = roots.flatMap(r => spec.relations(r.ordinal).keys).distinct.sorted
  private val expressions = InterpretedAggregates.prepare(inputs)
  private val conditions = InterpretedAggregates.prepare(filters)
  private val keyFields = spec.keys.map(k => FieldAccess(k.field)).toArray
  private val keyRows = spec.keys.zipWithIndex.map {
    case (k, i) if k.field.isInstanceOf[FieldType.RowField] =>
      InterpretedAggregates.projection(Seq(inputs(i)))
    case _ => null
  }.toArray
  private val keyBits = new Array[Long](spec.keys.size)
  private val keyIsNull = new Array[Boolean](spec.keys.size)
  private val aggregates = new InterpretedAggregates(spec, inputs.size)
  private val hasDictionary = spec.hasDictionary

  override protected def allocate(): Unit = relations.foreach { r =>
    if (r.hasTable) {
      r.table = new Array[Long](r.stride << log2Buckets(r.ordinal))
      r.shift = 63 - log2Buckets(r.ordinal)
    } else r.table = new Array[Long](r.stride)
  }

  override def process(batch: ColumnarBatch): Unit = {
    val n = batch.numRows()
    var i = 0
    while (i < n) {
      process(batch.getRow(i))
      i += 1
    }
  }

  override def process(row: InternalRow): Unit = {
    if (hasDictionary) relieve()
    // Keys after filters: a key's expression must not fail on a row that a filter removes.
    if (stays(row)) {
      rows += 1
      evaluateKeys(row)
      var i = 0
      while (i < roots.length) {
        roots(i).record.packKeys(keyBits, keyIsNull)
        update(roots(i), row)
        i += 1
      }
    }
  }

  private def stays(row: InternalRow): Boolean = {
    var i = 0
    while (i < conditions.length) {
      if (conditions(i).eval(row) != true) return false
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
    r.at = if (r.hasTable) (r.record.hash >>> 1 >>> r.shift).toInt * r.stride else 0
    if (r.hasTable && r.record.matches(r.table, r.at)) true
    else {
      misses(r.ordinal) += 1
      if (r.hasTable && r.table(r.at) < 0L) evict(r, r.at)
      r.record.storeKeys(r.table, r.at)
      false
    }
  }

  /** Updates the group at hand from an input row. */
  private def update(r: Relation, row: InternalRow): Unit = {
    if (!probe(r)) aggregates.initialize(r.record, r.table, r.at, dictionary)
    var i = 0
    while (i < r.read.length) {
      aggregates.values(r.read(i)) = expressions(r.read(i)).eval(row)
      i += 1
    }
    aggregates.update(r.record, r.table, r.at, dictionary)
    if (!r.hasTable) evict(r, 0)
  }

  /** Merges a record of the feeding relation. */
  private def feed(r: Relation, parent: RecordAccess, s: Array[Long], a: Int): Unit = {
    r.record.packKeysFrom(parent, s, a)
    if (probe(r)) aggregates.merge(r.record, r.table, r.at, parent, s, a, dictionary)
    else r.record.copyBuffers(r.table, r.at, parent, s, a)
    if (!r.hasTable) evict(r, 0)
  }

  private def evict(r: Relation, o: Int): Unit = {
    evictions(r.ordinal) += 1
    if (r.shards > 0) ship(r, o)
    var i = 0
    while (i < r.children.length) {
      feed(r.children(i), r.record, r.table, o)
      i += 1
    }
  }

  private def ship(r: Relation, o: Int): Unit = {
    val shard =
      if (r.shards == 1) 0
      else Hashing.shard(r.record.shardHash(r.shardKey, r.table, o, dictionary), r.shards)
    val slot = r.firstSlot + shard
    val full = r.record.append(builder(slot), r.table, o, dictionary)
    shipped += 1
    if (full) finish(slot)
  }

  override protected def evictAll(): Unit = relations.foreach { r =>
    if (r.hasTable) {
      var o = 0
      while (o < r.table.length) {
        if (r.table(o) < 0L) {
          evictedAtEnd(r.ordinal) += 1
          evict(r, o)
          r.table(o) = 0L
        }
        o += r.stride
      }
    }
  }
}
