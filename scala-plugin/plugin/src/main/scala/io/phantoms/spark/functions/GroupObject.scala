package io.phantoms.spark.functions

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate

/**
 * The state of a program for one group: an object of the program's own class while rows or other groups are added to it, the
 * bytes that the program makes of it once the group has left its table.
 *
 * Bytes never change and may be those of several groups. What is added to them is added as Spark does after a shuffle: to an
 * empty state, into which what was read of the bytes is merged; programs need not be able to go on with what they have read.
 * No object is ever in two groups, nor part of another one, whatever a program keeps of what it merges.
 */
final class GroupObject private[functions] (
    objects: GroupObjects,
    private[functions] val program: ObjectProgram,
    private var written: Array[Byte]
) {
  private def plain: TypedImperativeAggregate[Any] = program.plain

  private var state: Any = if (written == null) plain.createAggregationBuffer() else null

  /** Whether [[state]] is the group's; otherwise [[written]] is. */
  private var isLive = written == null

  /** What it is taken to take up, in bytes. */
  private[functions] var weight: Long =
    if (isLive) program.emptyWeight else GroupObject.ofBytes(written.length)

  private var updates = 0
  private var measuredNext = program.firstMeasured

  /** Weight from which on merges have it measured again: they may add less than what they bring. */
  private var doubtful = GroupObject.LeastDoubtful

  /** Adds a row of the program's inputs. */
  def update(row: InternalRow): Unit = {
    revive()
    state = plain.update(state, row)
    updates += 1
    // Growth between two looks at it is part of what a live object is taken for.
    if (updates >= measuredNext) {
      measuredNext = math.max(measuredNext, measuredNext * 2)
      measure()
    }
  }

  /** Merges another group's state, which stays as it is. */
  def merge(other: GroupObject): Unit = {
    val read = plain.deserialize(other.bytes)
    revive()
    state = plain.merge(state, read)
    become(weight + GroupObject.ofLive(other.written.length))
    if (weight > doubtful) {
      measure()
      doubtful = math.max(GroupObject.LeastDoubtful, 4 * weight)
    }
  }

  /** The function's result. Users' programs may change a state while they make a result of it: theirs is of a copy. */
  def result(): Any = {
    if (isLive && program.mayChangeOnResult) bytes
    plain.eval(if (isLive) state else read())
  }

  /** The state as bytes, not to be changed. From here on it is kept as these. */
  def bytes: Array[Byte] = {
    if (isLive) {
      // Programs may answer a buffer that they use again.
      written = plain.serialize(state).clone()
      state = null
      isLive = false
      become(GroupObject.ofBytes(written.length))
    }
    written
  }

  private def revive(): Unit = if (!isLive) {
    state = read()
    isLive = true
    become(GroupObject.ofLive(written.length))
    written = null
  }

  private def read(): Any = plain.merge(plain.createAggregationBuffer(), plain.deserialize(written))

  private def measure(): Unit = program.weightOf(state).foreach(become)

  private def become(bytes: Long): Unit = {
    objects.weigh(bytes - weight)
    weight = bytes
  }
}

private[functions] object GroupObject {

  /** Bytes of the objects around a state. */
  private val Around = 96L

  /**
   * An object takes about twice the bytes that it is written as: boxes, hash tables half empty. And it is looked at again
   * only when twice as many rows are in it.
   */
  private val LiveFactor = 4L

  private val LeastDoubtful = 64L << 10

  def ofBytes(written: Int): Long = Around + written

  def ofLive(written: Int): Long = Around + LiveFactor * written
}

/**
 * A program as a task runs it.
 *
 * @param plain over a row of its inputs; a copy of the task's own, since programs keep what they convert with
 */
private[functions] final class ObjectProgram(val plain: TypedImperativeAggregate[Any]) {

  /** Whether making a result of a state may change it. */
  val mayChangeOnResult: Boolean = ObjectAggregate.isUsers(plain)

  /** Rows after which a state is looked at first: one value may be large unless its type has a width. */
  val firstMeasured: Int = if (plain.children.forall(c => ObjectAggregate.isNarrow(c.dataType))) 16 else 1

  /** Of a state that is still empty. */
  lazy val emptyWeight: Long = weightOf(plain.createAggregationBuffer()).getOrElse(GroupObject.ofLive(Unknown))

  /** Of a state; None where it cannot be written yet, as one that is null until a row has come: plain Spark does not ask. */
  def weightOf(state: Any): Option[Long] =
    try Some(GroupObject.ofLive(plain.serialize(state).length))
    catch { case NonFatal(_) => None }

  private val Unknown = 64
}
