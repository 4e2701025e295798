package io.phantoms.spark.functions

import io.phantoms.spark.model.Sketches

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction

/** How many words the parts of a record take: asked by whoever lays records out and by whoever chooses the tables' sizes. */
object RecordWidth {

  /** First bit of a carry in the flags: it ends below the bit that says whether a bucket is taken. */
  val FlaggedCarry: Int = 30

  /** @param flags null bits of nullable keys and buffer fields, beside the two bits of a bucket */
  def flagWords(flags: Int): Int = math.max(1, (1 + flags + 62) / 63)

  def isCarry(field: AttributeReference): Boolean = FieldType.ofBuffer(field) == FieldType.CarryField

  /** Words of a buffer field other than a carry. */
  def words(field: AttributeReference): Int = (FieldType.ofBuffer(field).bits + 63) / 64

  /** The states that functions keep which are programs: in the record, or beside it and with it wherever it goes. */
  def sketches(functions: Seq[AggregateFunction]): Sketches = {
    val (arrays, objects) = (functions.count(WordsAggregate.is), functions.count(ObjectAggregate.is))
    Sketches(
      WordsAggregate.sum(functions),
      ObjectAggregate.sum(functions),
      objects,
      arrays * WordsUpdateNanos + objects * ObjectUpdateNanos
    )
  }

  // To hash a value and to look at its register; to find its place in a map of boxed values.
  private val WordsUpdateNanos = 40.0
  private val ObjectUpdateNanos = 350.0

  /** Whether the first carry lies among the flags. */
  def carryFitsFlags(flags: Int): Boolean = flags <= FlaggedCarry

  /**
   * Bits of the words behind the keys, and of flag words beyond the first.
   *
   * @param fields the buffer fields of all functions
   * @param nullableKeys grouping keys that may be NULL
   */
  def bufferBits(fields: Seq[AttributeReference], nullableKeys: Int): Int = {
    val flags = nullableKeys + fields.count(_.nullable)
    val (carries, others) = fields.partition(isCarry)
    val apart = if (carryFitsFlags(flags)) carries.drop(1) else carries
    64 * (others.map(words).sum + (apart.size + 1) / 2 + flagWords(flags) - 1)
  }
}
