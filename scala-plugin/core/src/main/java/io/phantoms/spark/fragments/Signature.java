package io.phantoms.spark.fragments;

/**
 * Which of n predicates a row satisfies (On-the-fly sharing, section 4.1), while that is found out: every predicate may
 * still hold at first, and each part that is evaluated leaves some of them.
 *
 * <p>Not for several threads.
 */
public final class Signature {
  private final int predicates;

  /** Bit j mod 64 of word j / 64: all parts of predicate j that were evaluated are TRUE. */
  public final long[] holds;

  public Signature(int predicates) {
    this.predicates = predicates;
    this.holds = new long[words(predicates)];
  }

  /** Words that so many predicates need. */
  public static int words(int predicates) {
    return (predicates + 63) >>> 6;
  }

  /** A new row. */
  public void start() {
    for (int w = 0; w < holds.length; w++) {
      int left = predicates - (w << 6);
      holds[w] = left >= 64 ? -1L : (1L << left) - 1;
    }
  }

  /** An expression's value is at this position among the constants that it is compared with. */
  public void at(PredicateIndex index, int position) {
    long[] said = index.holds(position);
    for (int w = 0; w < holds.length; w++) {
      holds[w] &= said[w];
    }
  }

  /** Whether any of these predicates may still hold. */
  public boolean mayHoldAny(long[] of) {
    long any = 0;
    for (int w = 0; w < holds.length; w++) {
      any |= holds[w] & of[w];
    }
    return any != 0;
  }

  public boolean mayHold(int predicate) {
    return (holds[predicate >>> 6] >>> predicate & 1L) != 0;
  }

  /** A part of a predicate is not TRUE. */
  public void drop(int predicate) {
    holds[predicate >>> 6] &= ~(1L << predicate);
  }

  /** Whether any predicate holds. */
  public boolean any() {
    long any = 0;
    for (long w : holds) {
      any |= w;
    }
    return any != 0;
  }
}
