package io.phantoms.spark.fragments

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.model.Mask

/**
 * One fragment: the rows that satisfy the predicates of just these queries.
 *
 * @param signature b, the queries whose predicates hold
 * @param frequency f, rows with this signature
 */
final case class Fragment(signature: BitSet, frequency: Long) {

  /** |b|: queries the fragment is merged into. */
  def cardinality: Int = signature.size
}

/**
 * A set of rows parted by the predicates of n queries (On-the-fly sharing, section 4): B of the paper with one fragment
 * for each signature that occurs, the most frequent first. The rows that satisfy no predicate are F_0, signature empty:
 * counted in |T|, and neither aggregated nor counted in k.
 *
 * The paper's k counts F_0 where it occurs; its |b| = 0 adds nothing to a cost, only beta is the smaller for it.
 *
 * @param queries n
 */
final case class Fragments private (queries: Int, all: Vector[Fragment]) {

  /** |T|: rows. */
  val rows: Long = all.iterator.map(_.frequency).sum

  /** Rows of F_0, which no query wants. */
  val unwanted: Long = all.iterator.filter(_.signature.isEmpty).map(_.frequency).sum

  /** F_1, ..., F_k. */
  val wanted: Vector[Fragment] = all.filter(_.signature.nonEmpty)

  /** k: fragments to aggregate. */
  def k: Int = wanted.size

  /** alpha: queries a row satisfies, on average. 0 without rows. */
  def alpha: Double = if (rows == 0) 0.0 else all.iterator.map(f => f.cardinality.toDouble * f.frequency).sum / rows

  /** beta: queries a fragment is merged into, on average. 0 without fragments. */
  def beta: Double = if (k == 0) 0.0 else wanted.iterator.map(_.cardinality.toDouble).sum / k

  /** The fragments whose union is the input of a query (eq 2). */
  def of(query: Int): Vector[Fragment] = wanted.filter(_.signature(query))

  /** Rows that satisfy the predicate of a query. */
  def rowsOf(query: Int): Long = of(query).iterator.map(_.frequency).sum

  /** The fragments once some queries have left: those that only these told apart become one. */
  def without(gone: BitSet): Fragments = Fragments(queries, all.map(f => (f.signature &~ gone, f.frequency)))

  /** Fragments of these rows and of others, over the same queries. */
  def ++(others: Fragments): Fragments = {
    require(queries == others.queries, s"$queries queries and ${others.queries}")
    Fragments(queries, (all ++ others.all).map(f => (f.signature, f.frequency)))
  }
}

object Fragments {

  /** Fragments of signatures with their frequencies; equal signatures add up. */
  def apply(queries: Int, signatures: IterableOnce[(BitSet, Long)]): Fragments = {
    val counts = mutable.HashMap.empty[Mask, Fragment]
    signatures.iterator.foreach { case (b, f) =>
      require(f >= 0, s"frequency $f")
      require(b.lastOption.forall(_ < queries), s"a signature names query ${b.last} of $queries")
      if (f > 0) counts.updateWith(Mask(b, queries)) {
        case Some(seen) => Some(Fragment(seen.signature, seen.frequency + f))
        case None => Some(Fragment(b, f))
      }
    }
    new Fragments(queries, counts.valuesIterator.toVector.sortBy(f => (-f.frequency, f.signature.toBitMask.toVector)))
  }

  /** Parts rows by predicates. */
  def of[T](rows: IterableOnce[T], predicates: IndexedSeq[T => Boolean]): Fragments =
    apply(predicates.size, rows.iterator.map(t => (signature(t, predicates), 1L)))

  /** Which of the predicates hold. */
  def signature[T](row: T, predicates: IndexedSeq[T => Boolean]): BitSet =
    BitSet.fromSpecific(predicates.indices.iterator.filter(predicates(_)(row)))

  /**
   * Algorithm 2: every query's aggregate from those of the fragments, each merged into the queries of its signature.
   *
   * @param partials G_i with its signature
   * @param initial what a query without fragments has
   * @param merge H
   */
  def finalAggregation[G](queries: Int, partials: IterableOnce[(BitSet, G)], initial: => G)(
      merge: (G, G) => G
  ): Vector[G] = {
    val results = mutable.ArrayBuffer.fill(queries)(initial)
    partials.iterator.foreach { case (b, g) => b.foreach(q => results(q) = merge(results(q), g)) }
    results.toVector
  }

  implicit private val byWords: Ordering[Vector[Long]] = Ordering.Implicits.seqOrdering[Vector, Long]
}
