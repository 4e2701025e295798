package io.phantoms.spark.functions

import io.phantoms.spark.memory.{MemoryRefused, MemoryReserve}

import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate

/**
 * The objects of a task's groups, by the ids that stand for them in records. Each is of one record, wherever that is: who
 * drops a record frees its objects, who copies one copies them.
 *
 * @param programs by slot (buffer field); null: the slot is no object
 * @param memory asked for what the objects are taken to take up. They exist already, granted or not: [[settle]] says so
 */
final class GroupObjects(programs: Array[TypedImperativeAggregate[_]], memory: MemoryReserve) {
  import GroupObjects._

  private val own = programs.map {
    case null => null
    case p => new ObjectProgram(p.withNewMutableAggBufferOffset(0).asInstanceOf[TypedImperativeAggregate[Any]])
  }
  private var held = new Array[GroupObject](64)
  private var size = 0
  private var free = new Array[Int](64)
  private var freed = 0
  private var weight, reserved = 0L

  /** Weight up to which memory is not asked again: it was refused. */
  private var refused = 0L

  /** Bytes that all of them are taken to take up. */
  def bytes: Long = weight

  /** An empty state of the function whose buffer is this slot. */
  def create(slot: Int): Long = add(new GroupObject(this, own(slot), null))

  /** A state that was written as these bytes, which are nobody else's to change. */
  def read(slot: Int, written: Array[Byte]): Long = add(new GroupObject(this, own(slot), written))

  def get(id: Long): GroupObject = held(id.toInt)

  /** The same state for another group. */
  def copy(id: Long): Long = {
    val from = get(id)
    add(new GroupObject(this, from.program, from.bytes))
  }

  /** What a state is written as. */
  def written(id: Long): Array[Byte] = get(id).bytes

  def free(id: Long): Unit = {
    val i = id.toInt
    weigh(-held(i).weight)
    held(i) = null
    if (freed == free.length) free = java.util.Arrays.copyOf(free, 2 * freed)
    free(freed) = i
    freed += 1
  }

  /** Forgets all of them. */
  def clear(): Unit = {
    held = new Array[GroupObject](64)
    free = new Array[Int](64)
    size = 0
    freed = 0
    memory.release(reserved)
    weight = 0L
    reserved = 0L
    refused = 0L
  }

  /** Throws [[MemoryRefused]] where what they take up is more than was granted. */
  def settle(): Unit = if (weight > reserved + Step) {
    memory.reserve(weight - reserved)
    reserved = weight
  }

  private def add(made: GroupObject): Long = {
    val id =
      if (freed > 0) {
        freed -= 1
        free(freed)
      } else {
        if (size == held.length) held = java.util.Arrays.copyOf(held, 2 * size)
        size += 1
        size - 1
      }
    held(id) = made
    weigh(made.weight)
    id.toLong
  }

  private[functions] def weigh(more: Long): Unit = {
    weight += more
    if (weight > reserved + Step && weight > refused) {
      try settle()
      catch { case _: MemoryRefused => refused = weight + Step }
    } else if (reserved > weight + 4 * Step) {
      memory.release(reserved - weight)
      reserved = weight
      refused = 0L
    }
  }
}

private object GroupObjects {

  /** Bytes between two questions for memory. */
  private val Step = 256L << 10
}
