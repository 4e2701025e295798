package io.phantoms.spark.lab.fragments

import scala.collection.immutable.{BitSet, SortedMap}

/**
 * Which bit of a signature stands for which query, while queries come and go. A bit that a query has left is given to
 * another only after the set of rows in which it left has been aggregated: until then fragments still carry it.
 *
 * @param bits query of each bit in use
 * @param retired bits left since the set of rows began
 */
final case class SignatureSlots private (bits: SortedMap[Int, Int], retired: BitSet) {

  /** Bits a signature has to have. */
  def width: Int = (bits.keysIterator ++ retired.iterator).maxOption.fold(0)(_ + 1)

  def bitOf(query: Int): Option[Int] = bits.collectFirst { case (b, q) if q == query => b }

  /** Gives the query the lowest bit that is free. */
  def join(query: Int): SignatureSlots = {
    require(bitOf(query).isEmpty, s"query $query has a bit already")
    val free = Iterator.from(0).find(b => !bits.contains(b) && !retired(b)).get
    SignatureSlots(bits + (free -> query), retired)
  }

  def leave(query: Int): SignatureSlots = {
    val bit = bitOf(query).getOrElse(throw new IllegalArgumentException(s"query $query has no bit"))
    SignatureSlots(bits - bit, retired + bit)
  }

  /** The next set of rows begins: fragments start anew. */
  def nextRows: SignatureSlots = SignatureSlots(bits, BitSet.empty)
}

object SignatureSlots {
  val empty: SignatureSlots = new SignatureSlots(SortedMap.empty, BitSet.empty)
}
