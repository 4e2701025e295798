package io.phantoms.spark.model

import java.util.Arrays

import scala.collection.immutable.BitSet

/** A set of attributes as machine words: what the search unites and compares millions of times. */
private[spark] final class Mask(private val words: Array[Long]) {

  def |(that: Mask): Mask = {
    val united = new Array[Long](words.length)
    var i = 0
    while (i < united.length) { united(i) = words(i) | that.words(i); i += 1 }
    new Mask(united)
  }

  def subsetOf(that: Mask): Boolean = {
    var i = 0
    while (i < words.length && (words(i) & ~that.words(i)) == 0) i += 1
    i == words.length
  }

  def size: Int = unionSize(this)

  /** Attributes of the union, without making it. */
  def unionSize(that: Mask): Int = {
    var size = 0
    var i = 0
    while (i < words.length) { size += java.lang.Long.bitCount(words(i) | that.words(i)); i += 1 }
    size
  }

  def toBitSet: BitSet = BitSet.fromBitMask(words)

  override def equals(that: Any): Boolean = that match {
    case m: Mask => Arrays.equals(words, m.words)
    case _ => false
  }

  override def hashCode: Int = Arrays.hashCode(words)
}

private[spark] object Mask {

  /** All masks of one problem have the same width. */
  def apply(keys: BitSet, attributes: Int): Mask = {
    val words = new Array[Long](math.max(1, (attributes + 63) / 64))
    keys.foreach(a => words(a >> 6) |= 1L << (a & 63))
    new Mask(words)
  }
}
