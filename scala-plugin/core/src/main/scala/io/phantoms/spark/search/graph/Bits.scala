package io.phantoms.spark.search.graph

import java.util.Arrays

/** A set of small ordinals as machine words: what the search intersects and walks in its inner loops. */
private[search] final class Bits private (private val words: Array[Long]) {

  /** The empty set, with room for the ordinals below `size`. */
  def this(size: Int) = this(new Array[Long]((size + 63) >> 6))

  def contains(i: Int): Boolean = (words(i >> 6) >>> i & 1L) != 0

  def +=(i: Int): Unit = words(i >> 6) |= 1L << i

  def -=(i: Int): Unit = words(i >> 6) &= ~(1L << i)

  def clear(): Unit = Arrays.fill(words, 0L)

  def copy: Bits = new Bits(words.clone())

  /** Common elements; sets of the same room, as in all that takes two. */
  def &(that: Bits): Bits = {
    val common = new Array[Long](words.length)
    var w = 0
    while (w < common.length) { common(w) = words(w) & that.words(w); w += 1 }
    new Bits(common)
  }

  def &~(that: Bits): Bits = {
    val left = new Array[Long](words.length)
    var w = 0
    while (w < left.length) { left(w) = words(w) & ~that.words(w); w += 1 }
    new Bits(left)
  }

  def isEmpty: Boolean = {
    var w = 0
    while (w < words.length && words(w) == 0) w += 1
    w == words.length
  }

  def size: Int = {
    var n = 0
    var w = 0
    while (w < words.length) { n += java.lang.Long.bitCount(words(w)); w += 1 }
    n
  }

  /** How many elements two sets have in common. */
  def commonSize(that: Bits): Int = {
    var n = 0
    var w = 0
    while (w < words.length) { n += java.lang.Long.bitCount(words(w) & that.words(w)); w += 1 }
    n
  }

  /** The least common element; -1: there is none. */
  def firstCommon(that: Bits): Int = {
    var w = 0
    while (w < words.length) {
      val common = words(w) & that.words(w)
      if (common != 0) return (w << 6) + java.lang.Long.numberOfTrailingZeros(common)
      w += 1
    }
    -1
  }

  /** The least element from `from` up; -1: there is none. */
  def next(from: Int): Int = {
    var w = from >> 6
    if (w >= words.length) -1
    else {
      var word = words(w) & (-1L << from)
      while (word == 0 && w + 1 < words.length) { w += 1; word = words(w) }
      if (word == 0) -1 else (w << 6) + java.lang.Long.numberOfTrailingZeros(word)
    }
  }

  /** In ascending order. */
  def toArray: Array[Int] = {
    val elements = new Array[Int](size)
    var i = next(0)
    var n = 0
    while (i >= 0) { elements(n) = i; n += 1; i = next(i + 1) }
    elements
  }

  override def equals(that: Any): Boolean = that match {
    case b: Bits => Arrays.equals(words, b.words)
    case _ => false
  }

  override def hashCode: Int = Arrays.hashCode(words)
}

private[search] object Bits {

  /** The ordinals below `size` that satisfy a predicate. */
  def where(size: Int)(holds: Int => Boolean): Bits = {
    val found = new Bits(size)
    var i = 0
    while (i < size) {
      if (holds(i)) found += i
      i += 1
    }
    found
  }
}
