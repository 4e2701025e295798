package io.phantoms.spark.run.kernel;

import io.phantoms.spark.table.RecordSort;

/**
 * The groups of a relation one after the other, each with its slices in the order of time: the relation's records, sorted
 * where they lie.
 */
public final class SortedGroups {
  final long[] table;
  final int count;
  public final int stride;
  private final int[] groupWords;
  private final long[] groupMasks;

  /** Word that holds where a slice begins; -1: no windows are asked for. */
  public final int sliceWord;

  private int from;
  private int until;

  /** Words of some records that were looked at last, by their place in a record, and the records. */
  private final long[][] columns;

  private final int[] columnsFrom;
  private final int[] columnsUntil;
  private int[] marked = new int[0];
  private int markedCount;

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
      boolean sort) {
    this.table = kernel.table(relation).records;
    this.count = kernel.table(relation).size;
    this.stride = stride;
    this.groupWords = groupWords;
    this.groupMasks = groupMasks;
    this.sliceWord = sliceWord;
    this.columns = new long[stride][];
    this.columnsFrom = new int[stride];
    this.columnsUntil = new int[stride];
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

  /** Goes to the next group, and answers whether there is one. */
  public boolean advance() {
    if (until >= count) {
      return false;
    }
    from = until;
    until++;
    while (until < count && sameGroup(from, until)) {
      until++;
    }
    return true;
  }

  /** All records. */
  public long[] records() {
    return table;
  }

  public int count() {
    return count;
  }

  /** The ordinal of the first record of the group at hand. */
  public int from() {
    return from;
  }

  public int until() {
    return until;
  }

  long slice(int record) {
    return table[record * stride + sliceWord];
  }

  /**
   * Ordinals of the records {@code [first, last)} with this bit of a word, {@link #markedCount} of them; good until the next
   * call. Hundreds of queries ask for a bit each of the same records, and the answers are as good as random: nothing here
   * depends on them but where the next one is written.
   */
  int[] marked(int word, int bit, int first, int last) {
    long[] signatures = column(word, first, last);
    int count = last - first;
    if (marked.length < count) {
      marked = new int[count];
    }
    int[] ordinals = marked;
    int n = 0;
    for (int i = 0; i < count; i++) {
      ordinals[n] = first + i;
      n += (int) (signatures[i] >>> bit) & 1;
    }
    markedCount = n;
    return ordinals;
  }

  int markedCount() {
    return markedCount;
  }

  /** A word of each of some records, side by side. */
  private long[] column(int word, int first, int last) {
    long[] column = columns[word];
    if (column == null || columnsFrom[word] != first || columnsUntil[word] != last) {
      if (column == null || column.length < last - first) {
        column = new long[last - first];
        columns[word] = column;
      }
      for (int i = first, at = first * stride + word; i < last; i++, at += stride) {
        column[i - first] = table[at];
      }
      columnsFrom[word] = first;
      columnsUntil[word] = last;
    }
    return column;
  }

  /** How many of the records {@code [start, start + n)} are in a slice of {@code of}, on average. */
  public double run(PairedSlices of, int start, int n) {
    int runs = 0;
    long begin = 0;
    long width = 0;
    for (int i = start; i < start + n; i++) {
      if (i == start || !sameGroup(i - 1, i) || !PairedSlices.isWithin(slice(i), begin, width)) {
        begin = of.begin(slice(i));
        width = of.width();
        runs++;
      }
    }
    return (double) n / Math.max(1, runs);
  }

  boolean sameGroup(int a, int b) {
    for (int w = 0; w < groupWords.length; w++) {
      int word = groupWords[w];
      if (((table[a * stride + word] ^ table[b * stride + word]) & groupMasks[w]) != 0) {
        return false;
      }
    }
    return true;
  }
}
