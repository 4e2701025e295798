package io.phantoms.spark.block;

import java.util.ArrayDeque;

/**
 * Arrays of blocks that have been written out, for blocks to come: a new array is cleared first and lies in no cache, which
 * costs as much as copying the records does. All arrays kept have one length; the one given back last is taken first.
 */
public final class SpareArrays {
  private static final int MOST = 64;

  private final int length;
  private final ArrayDeque<long[]> arrays = new ArrayDeque<>();

  /**
   * @param length words of the arrays kept
   */
  public SpareArrays(int length) {
    this.length = length;
  }

  /** An array of at least so many words: the caller's until it is given back. What it holds is anything. */
  long[] take(int atLeast) {
    long[] spare = atLeast <= length ? arrays.poll() : null;
    return spare == null ? new long[Math.max(atLeast, length)] : spare;
  }

  /** Takes an array back that nobody reads any more; one of another length is left to the garbage collector. */
  public void give(long[] array) {
    if (array.length == length && arrays.size() < MOST) {
      arrays.push(array);
    }
  }

  /** Arrays that lie ready. */
  public int size() {
    return arrays.size();
  }
}
