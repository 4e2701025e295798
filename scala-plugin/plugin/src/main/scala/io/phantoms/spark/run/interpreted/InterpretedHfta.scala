package io.phantoms.spark.run.interpreted

import io.phantoms.spark.block.{BlockBuilder, Hashing}
import io.phantoms.spark.run.generated.ResultExpressions
import io.phantoms.spark.run.kernel.HftaKernel
import io.phantoms.spark.spec.{QuerySpec, SharedSpec}
import io.phantoms.spark.table.GroupTable

import org.apache.spark.sql.catalyst.expressions._

/**
 * A reduce-side kernel without generated code, for configurations whose class cannot be compiled. Tables and rows come
 * out as those of the class of [[HftaCode]] do.
 */
final class InterpretedHfta(spec: SharedSpec) extends HftaKernel {
  private val records = spec.layouts.map(new RecordAccess(spec, _, objects)).toArray
  private val strides = spec.layouts.map(_.stride).toArray
  private val keys = spec.relations.indices.map(spec.dealing(_).toArray).toArray
  private val shardKeys = spec.relations.map(_.ship.fold(Seq.empty[Int])(_.shardKey).toArray).toArray
  private val shards = spec.relations.map(_.ship.fold(1)(_.partitions.size)).toArray
  private val aggregates = new InterpretedAggregates(spec, 0)
  private lazy val queries = spec.emitted.map(new Query(_)).toArray

  override protected def mergeAll(relation: Int, table: GroupTable, s: Array[Long], count: Int): Unit =
    counted(count)(k => merge(relation, table, s, k * strides(relation)))

  override protected def deriveAll(child: Int, table: GroupTable, s: Array[Long], count: Int): Unit = {
    val stride = strides(spec.relations(child).parent)
    val settles = spec.layouts(child).objectPlaces.nonEmpty
    counted(count) { k =>
      if (settles && k % GroupTable.BATCH == 0) objects.settle()
      merge(child, table, project(child, s, k * stride), 0)
    }
  }

  /** Runs `step` for each record; [[merged]] says how many it was done for, be it because memory was refused. */
  private def counted(count: Int)(step: Int => Unit): Unit = {
    var k = 0
    try {
      while (k < count) {
        step(k)
        k += 1
      }
    } finally merged = k
  }

  /** Merges a record of the same layout: [[GroupTable]]'s probe. */
  private def merge(r: Int, g: GroupTable, s: Array[Long], a: Int): Unit = {
    val record = records(r)
    record.packKeysFrom(record, s, a)
    val h = record.hash
    val index = g.index
    val mask = index.length - 1
    var p = h.toInt >>> g.shift
    while (true) {
      val e = index(p)
      if (e == 0L) {
        g.insert(h, p, s, a)
        return
      }
      if ((e >>> 32).toInt == h.toInt) {
        val o = (e.toInt - 1) * strides(r)
        if (record.matches(g.records, o)) {
          aggregates.merge(record, g.records, o, record, s, a, dictionary)
          record.freeObjects(s, a)
          return
        }
      }
      p = (p + 1) & mask
    }
  }

  override def project(child: Int, s: Array[Long], a: Int): Array[Long] = {
    val y = projected(strides(child))
    val parent = records(spec.relations(child).parent)
    records(child).packKeysFrom(parent, s, a)
    records(child).storeKeys(y, 0)
    records(child).copyBuffers(y, 0, parent, s, a)
    y
  }

  override def combine(relation: Int, t: Array[Long], o: Int, s: Array[Long], a: Int): Unit =
    aggregates.combine(records(relation), t, o, s, a, dictionary)

  override protected def remap(relation: Int, record: Array[Long], from: Int, ids: Array[Int]): Unit =
    records(relation).rewriteIds(record, from, ids(_))

  override def append(relation: Int, block: BlockBuilder, record: Array[Long], from: Int): Boolean =
    records(relation).append(block, record, from, dictionary)

  override def contentHash(relation: Int, record: Array[Long], from: Int): Long =
    Hashing.finish(records(relation).shardHash(keys(relation), record, from, dictionary))

  override def shard(relation: Int, record: Array[Long], from: Int): Int =
    Hashing.shard(records(relation).shardHash(shardKeys(relation), record, from, dictionary), shards(relation))

  override def initialize(relation: Int, record: Array[Long]): Unit = {
    record(0) = Long.MinValue
    aggregates.initialize(records(relation), record, 0, dictionary)
  }

  override def emit(query: Int, t: Array[Long], o: Int): UnsafeRow = queries(query).row(t, o)

  private final class Query(query: QuerySpec) {
    private val record = records(query.relation)
    private val expressions = ResultExpressions(spec, query)
    private val onKeys = InterpretedAggregates.prepare(expressions.onKeys.toSeq).headOption
    private val totals = InterpretedAggregates.prepare(expressions.totals)
    private val having = InterpretedAggregates.prepare(expressions.having.toSeq).headOption
    private val projection = InterpretedAggregates.projection(expressions.results)
    private val used = (expressions.results ++ onKeys ++ totals ++ having).flatMap(_.collect { case b: BoundReference =>
      b.ordinal
    }).distinct.sorted
    private val (usedKeys, usedSlots) = used.toArray.partition(_ < spec.keys.size)

    /** Keys first, then all slots. */
    private val values = new Array[Any](spec.keys.size + spec.slots.size)
    private val valuesRow = new GenericInternalRow(values)

    def row(t: Array[Long], o: Int): UnsafeRow = {
      var i = 0
      while (i < usedKeys.length) {
        values(usedKeys(i)) = record.key(usedKeys(i), t, o, dictionary)
        i += 1
      }
      i = 0
      while (i < usedSlots.length) {
        values(usedSlots(i)) = record.slot(usedSlots(i) - spec.keys.size, t, o, dictionary)
        i += 1
      }
      if (onKeys.exists(_.eval(valuesRow) != true)) null
      else {
        totals.foreach(_.eval(valuesRow))
        if (having.exists(_.eval(valuesRow) != true)) null else projection(valuesRow)
      }
    }
  }
}
