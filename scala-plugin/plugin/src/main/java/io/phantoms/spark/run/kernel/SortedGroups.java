package io.phantoms.spark.run.kernel;

import io.phantoms.spark.table.RecordSort;

/**
 * The groups of a relation one after the other, each with its slices in the order of time: the relation's records, sorted
 * where they lie. A query with a bit of a signature gets the records that have it, one a slice, merged where several
 * signatures do.
 */
public final class SortedGroups {
  private final HftaKernel kernel;
  private final int relation;
  private final long[] table;
  private final int count;
  public final int stride;
  private final int[] groupWords;
  private final long[] groupMasks;

  /** Word that holds where a slice begins; -1: no windows are asked for. */
  public final int sliceWord;

  /** Word with the bit that a record must have; -1: all are taken. */
  private final int signatureWord;

  private final int bit;

  /** Records with the bit. */
  private long[] merged = new long[0];

  private int mergedSize;
  private int from;
  private int until;

  /**
   * @param groupWords words of a record that tell groups apart, neither slice nor signature, with the bits that count
   * @param sort whether the records are not in that order yet
   */
  public SortedGroups(
      HftaKernel kernel,
      int relation,
      int stride,
      int[] groupWords,
      long[] groupMasks,
      int sliceWord,
      int signatureWord,
      int bit,
      boolean sort) {
    this.kernel = kernel;
    this.relation = relation;
    this.table = kernel.table(relation).records;
    this.count = kernel.table(relation).size;
    this.stride = stride;
    this.groupWords = groupWords;
    this.groupMasks = groupMasks;
    this.sliceWord = sliceWord;
    this.signatureWord = signatureWord;
    this.bit = bit;
    if (sort) {
      int n = groupWords.length;
      int more = sliceWord < 0 ? 0 : 1;
      int[] words = java.util.Arrays.copyOf(groupWords, n + more);
      long[] masks = java.util.Arrays.copyOf(groupMasks, n + more);
      if (more > 0) {
        words[n] = sliceWord;
        masks[n] = -1L;
      }
      new RecordSort(table, stride, words, masks).sort(count);
    }
  }

  /** Goes to the next group with a record that is wanted, and answers whether there is one. */
  public boolean advance() {
    while (until < count) {
      from = until;
      until++;
      while (until < count && sameGroup(from, until)) {
        until++;
      }
      if (signatureWord < 0) {
        if (sliceWord >= 0) {
          kernel.slices += until - from;
        }
        return true;
      }
      merge();
      if (sliceWord >= 0) {
        kernel.slices += mergedSize;
      }
      if (mergedSize > 0) {
        return true;
      }
    }
    return false;
  }

  /** Where the records of the group at hand are. */
  public long[] records() {
    return signatureWord < 0 ? table : merged;
  }

  /** The first one's ordinal. */
  public int from() {
    return signatureWord < 0 ? from : 0;
  }

  public int until() {
    return signatureWord < 0 ? until : mergedSize;
  }

  private void merge() {
    mergedSize = 0;
    for (int i = from; i < until; i++) {
      int at = i * stride;
      if ((table[at + signatureWord] >>> bit & 1L) != 0) {
        kernel.fragments++;
        int last = (mergedSize - 1) * stride;
        if (mergedSize > 0 && (sliceWord < 0 || merged[last + sliceWord] == table[at + sliceWord])) {
          kernel.combine(relation, merged, last, table, at);
          kernel.combined++;
        } else {
          add(at);
        }
      }
    }
  }

  private void add(int at) {
    int size = (mergedSize + 1) * stride;
    if (merged.length < size) {
      merged = java.util.Arrays.copyOf(merged, Math.max(size, Math.min(2 * merged.length, Integer.MAX_VALUE / 2)));
    }
    System.arraycopy(table, at, merged, mergedSize * stride, stride);
    mergedSize++;
  }

  private boolean sameGroup(int a, int b) {
    for (int w = 0; w < groupWords.length; w++) {
      int word = groupWords[w];
      if (((table[a * stride + word] ^ table[b * stride + word]) & groupMasks[w]) != 0) {
        return false;
      }
    }
    return true;
  }
}
