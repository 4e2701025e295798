package io.phantoms.spark.spec

import io.phantoms.spark.functions.{FieldType, ObjectAggregate, RecordWidth}
import io.phantoms.spark.model.KeyKind
import io.phantoms.spark.stats.observed.ObservedInput

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, BoundReference, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.{DeclarativeAggregate, TypedImperativeAggregate}
import org.apache.spark.sql.types.DataType

/** A grouping key: value `ordinal` of the inputs. */
final case class KeySpec(dataType: DataType, nullable: Boolean, kind: KeyKind = KeyKind.Grouping) {
  lazy val field: FieldType = FieldType.ofKey(dataType)
}

/**
 * An aggregate function; what it reads are `BoundReference`s to the inputs.
 *
 * @param filter its FILTER clause, likewise bound
 */
final case class AggregateSpec(function: DeclarativeAggregate, filter: Option[Expression]) {

  /** Buffer fields. Taken from the very instance whose expressions are compiled: their ids are its own. */
  @transient lazy val buffers: IndexedSeq[AttributeReference] = function.aggBufferAttributes.toIndexedSeq
}

/**
 * How a relation crosses the exchange.
 *
 * @param shardKey keys whose hash picks the shard
 * @param partitions reduce partition of each shard
 */
final case class ShipSpec(shardKey: Seq[Int], partitions: Seq[Int])

/**
 * One relation of the configuration, as executed.
 *
 * @param keys its grouping, ascending ordinals into [[SharedSpec.keys]]
 * @param aggregates functions its descendants need, ascending ordinals into [[SharedSpec.aggregates]]
 * @param parent ordinal of the feeding relation, -1: the input
 * @param buckets LFTA table size, a power of two; 0: no table
 * @param ship None: stays in the map task (a phantom) or is derived
 * @param derived merged from its parent in the reduce task; where it is also shipped, from there
 * @param expectedGroups groups a reduce task is expected to hold of it
 */
final case class RelationSpec(
    keys: Seq[Int],
    aggregates: Seq[Int],
    parent: Int,
    buckets: Int,
    ship: Option[ShipSpec],
    derived: Boolean,
    expectedGroups: Long
)

/**
 * Windows `[start + k slide, start + k slide + range)` that a query's groups are put together for, from slices.
 *
 * @param slice the key that holds where a slice begins, and in the records of results where the window does
 * @param composed whether slices are those of several windows, of which this one's own are made up
 */
final case class WindowSpec(slice: Int, range: Long, slide: Long, start: Long, composed: Boolean = false)

/**
 * The bit by which a query knows the groups that it takes.
 *
 * @param signature the key that holds the word with the bit
 */
final case class FragmentSpec(signature: Int, bit: Int)

/**
 * Result rows of which each column may be of a part of the group.
 *
 * @param values what is made of a record of the relation: the keys in the first one's columns; each other one has one
 *   column, the result of a function
 * @param slots what of which fragments: an ordinal into `values`, and whose bit they have; None: all of the group
 * @param results one per output column over `BoundReference`s: keys first, then `slots`
 */
final case class MaskedSpec(
    values: IndexedSeq[QuerySpec],
    slots: IndexedSeq[(Int, Option[FragmentSpec])],
    results: Seq[Expression]
) {

  /** What parts of a group are told apart, in the order in which they are numbered. */
  @transient lazy val parts: IndexedSeq[FragmentSpec] = slots.flatMap(_._2).distinct
}

/**
 * One query's result rows.
 *
 * @param relation the relation that answers it
 * @param results one expression per output column over `BoundReference`s: keys first, then aggregate results
 * @param having rows that stay
 * @param rowOnEmptyInput one row even when no input row was seen (a plain global aggregate)
 * @param overVariables whether Spark's own plan holds the totals of this query in variables, not in a row
 * @param window windows for which its results are asked
 * @param fragment groups of which its results are put together; None: all
 * @param masked what its results are put together from, instead of `results`
 */
final case class QuerySpec(
    relation: Int,
    results: Seq[Expression],
    having: Option[Expression],
    rowOnEmptyInput: Boolean,
    overVariables: Boolean = false,
    window: Option[WindowSpec] = None,
    fragment: Option[FragmentSpec] = None,
    masked: Option[MaskedSpec] = None
) {

  /** Whether its results are put together from several groups each. */
  def combines: Boolean = window.nonEmpty || fragment.nonEmpty || masked.nonEmpty
}

/**
 * Everything both sides of the exchange need to know. Holds no attribute of the plan: inputs are bound by ordinal, so
 * that copies of one workload compare equal and can share one exchange.
 *
 * @param numPartitions reduce partitions
 * @param notation the configuration for people
 * @param observed the input, where what is counted is kept for later plans
 */
final case class SharedSpec(
    keys: IndexedSeq[KeySpec],
    aggregates: IndexedSeq[AggregateSpec],
    relations: IndexedSeq[RelationSpec],
    queries: IndexedSeq[QuerySpec],
    numPartitions: Int,
    notation: String,
    observed: Option[ObservedInput] = None
) {

  /** First slot (buffer field) of each aggregate, in one numbering over all of them. */
  @transient lazy val firstSlot: IndexedSeq[Int] = aggregates.map(_.buffers.size).scanLeft(0)(_ + _)

  @transient lazy val slots: IndexedSeq[AttributeReference] = aggregates.flatMap(_.buffers)

  @transient lazy val layouts: IndexedSeq[RecordLayout] = relations.map(new RecordLayout(this, _))

  /** All that is made of records: rows of queries first, then the values that rows of some are put together from. */
  @transient lazy val emitted: IndexedSeq[QuerySpec] = queries ++ queries.flatMap(_.masked).flatMap(_.values)

  /** The first of a query's values in [[emitted]]. */
  def valuesOf(query: Int): Int =
    queries.size + queries.take(query).flatMap(_.masked).map(_.values.size).sum

  /** Ordinals of the inputs that these functions read, ascending. */
  def inputsOf(functions: Seq[Int]): Seq[Int] = functions.map(aggregates)
    .flatMap(a => a.function.updateExpressions ++ a.filter)
    .flatMap(_.collect { case b: BoundReference => b.ordinal }).distinct.sorted

  def children(relation: Int): Seq[Int] = relations.indices.filter(relations(_).parent == relation)

  /** Keys of a relation by whose hash its groups may be parted: those of one window stay together. */
  def dealing(relation: Int): Seq[Int] = relations(relation).keys.filter(keys(_).kind == KeyKind.Grouping)

  /** Whether blocks of a relation are merged. */
  def isReceived(relation: Int): Boolean = relations(relation).ship.isDefined && !relations(relation).derived

  /** Whether all groups of a relation are in the tables of the tasks that merge, each in one of them. */
  def isComplete(relation: Int): Boolean = isReceived(relation) ||
    (relations(relation).derived && relations(relation).ship.isEmpty && relations(relation).parent >= 0 &&
      isComplete(relations(relation).parent))

  /** Relations kept in the map task. */
  def mapSide: Seq[Int] = relations.indices.filterNot(relations(_).derived)

  /** Whether a row must come out of this relation even when nothing went in. */
  def isAnnounced(relation: Int): Boolean = queries.exists(q => q.rowOnEmptyInput && q.relation == relation) ||
    children(relation).exists(c => relations(c).derived && isAnnounced(c))

  /** Bytes of all LFTA tables of one task. */
  def tableBytes: Long = mapSide.map(r => math.max(1L, relations(r).buckets) * layouts(r).stride * 8L).sum

  def hasDictionary: Boolean =
    keys.exists(_.field.isDictionary) || slots.exists(FieldType.ofBuffer(_).isDictionary)

  /** By slot: the program whose state an object is; None where the slot is none. */
  @transient lazy val programs: IndexedSeq[Option[TypedImperativeAggregate[_]]] = aggregates.flatMap { a =>
    a.function match {
      case o: ObjectAggregate => Seq(Some(o.program))
      case _ => a.buffers.map(_ => None)
    }
  }

  def isObject(aggregate: Int): Boolean = aggregates(aggregate).function.isInstanceOf[ObjectAggregate]

  def hasObjects: Boolean = programs.exists(_.isDefined)

  /** Whether records hold ids of what lies beside the tables and grows. */
  def refersBeside: Boolean = hasDictionary || hasObjects
}

/** Word (of the flag words) and mask of a null bit. */
final case class Flag(word: Int, mask: Long)

/**
 * Where the fields of a relation's records lie.
 *
 * Words: flags, keys, buffers. Flag bit 63 of the first word marks an occupied bucket, bit 62 one that was hit (only in
 * tables with second chances, never in a block); the others are the null bits of nullable keys and buffers, at positions that are the same in every relation, so that feeding a child only masks.
 * Where these leave room, a carry lies in the first word too: one sum takes no more than a word then. Other carries
 * follow the buffers, two a word.
 */
final class RecordLayout(spec: SharedSpec, relation: RelationSpec) {
  private def keyFlag(key: Int): Option[Int] =
    Option.when(spec.keys(key).nullable)(spec.keys.take(key).count(_.nullable))
  private def slotFlag(slot: Int): Option[Int] = Option.when(spec.slots(slot).nullable)(
    spec.keys.count(_.nullable) + spec.slots.take(slot).count(_.nullable)
  )

  val keys: Seq[Int] = relation.keys
  val aggregates: Seq[Int] = relation.aggregates

  /** Buffer fields present, ascending. */
  val slots: Seq[Int] = relation.aggregates.flatMap(a => spec.firstSlot(a) until spec.firstSlot(a + 1))

  private val flags = spec.keys.count(_.nullable) + spec.slots.count(_.nullable)
  val flagWords: Int = RecordWidth.flagWords(flags)

  private def flag(bit: Int) = {
    val at = if (bit < 62) bit else bit + 1
    Flag(at / 63, 1L << (at % 63))
  }
  val keyNull: Map[Int, Flag] = keys.flatMap(k => keyFlag(k).map(b => k -> flag(b))).toMap
  val slotNull: Map[Int, Flag] = slots.flatMap(s => slotFlag(s).map(b => s -> flag(b))).toMap

  def keyMask(word: Int): Long = keyNull.values.filter(_.word == word).map(_.mask).foldLeft(0L)(_ | _)
  def slotMask(word: Int): Long = slotNull.values.filter(_.word == word).map(_.mask).foldLeft(0L)(_ | _) |
    (if (word == 0 && slots.exists(isFlagged)) RecordLayout.HalfWord << RecordWidth.FlaggedCarry else 0L)

  /** Word (from the record's start) and shift of a key: widest first, so that no field crosses a word. */
  val (keyPlace: Map[Int, (Int, Int)], keyWords: Int) = {
    val sorted = keys.sortBy(k => (-spec.keys(k).field.bits, k))
    var bit = 0
    val places = sorted.map { k =>
      val at = bit
      bit += spec.keys(k).field.bits
      k -> ((flagWords + at / 64, at % 64))
    }
    (places.toMap, (bit + 63) / 64)
  }

  def slotField(slot: Int): FieldType = FieldType.ofBuffer(spec.slots(slot))
  def slotWords(slot: Int): Int = RecordWidth.words(spec.slots(slot))

  /** Fields that hold ids of objects, and their words. */
  def objectPlaces: Seq[(Int, Int)] =
    slots.filter(slotField(_) == FieldType.ObjectField).map(s => s -> slotPlace(s))

  /** Whether it is the carry that lies in the flags: the same one in every relation. */
  private def isFlagged(slot: Int): Boolean =
    RecordWidth.carryFitsFlags(flags) && isCarry(slot) && !(0 until slot).exists(isCarry)

  private def isCarry(slot: Int): Boolean = RecordWidth.isCarry(spec.slots(slot))

  private val (carries, others) = slots.partition(isCarry)
  private val slotStarts = others.map(slotWords).scanLeft(flagWords + keyWords)(_ + _)

  /** Carries by the word that they lie in, lower half first. */
  val sharedWords: Seq[(Int, Seq[Int])] = carries.filterNot(isFlagged).grouped(2).toSeq.zipWithIndex
    .map { case (both, i) => (slotStarts.last + i, both) }

  /** First word of a buffer field. */
  val slotPlace: Map[Int, Int] = others.zip(slotStarts).toMap ++
    carries.filter(isFlagged).map(_ -> 0) ++ sharedWords.flatMap { case (w, both) => both.map(_ -> w) }

  /** Where in its word a carry begins. */
  val carryShift: Map[Int, Int] = carries.filter(isFlagged).map(_ -> RecordWidth.FlaggedCarry).toMap ++
    sharedWords.flatMap { case (_, both) => both.zip(Seq(0, 32)) }

  /** Words a record. */
  val stride: Int = slotStarts.last + sharedWords.size
}

object RecordLayout {

  val HalfWord: Long = 0xffffffffL
}
