package io.phantoms.spark.run.kernel;

/**
 * The groups of a relation one after the other, and of each group the records of its parts: all fragments that have a bit
 * of a signature, merged into one, and last all of the group.
 */
public final class GroupParts {
  private final HftaKernel kernel;
  private final int relation;
  private final SortedGroups groups;
  private final int stride;

  /** Words with a bit that is asked for. */
  private final int[] words;

  /** By word of {@code words} and bit: the part; -1: nobody asks. */
  private final int[][] partOf;

  /** The bits of {@code words} that are asked for. */
  private final long[] asked;

  /** By part, merged where it is {@code seen}. */
  private final long[][] records;

  private final boolean[] seen;

  /** What a part without a fragment is. */
  private final long[] empty;

  /**
   * @param signatureWords by part, the word of a record that holds its bit
   * @param bits by part
   */
  public GroupParts(
      HftaKernel kernel, int relation, SortedGroups groups, int[] signatureWords, int[] bits) {
    this.kernel = kernel;
    this.relation = relation;
    this.groups = groups;
    this.stride = groups.stride;
    this.words = java.util.Arrays.stream(signatureWords).distinct().sorted().toArray();
    this.partOf = new int[words.length][64];
    this.asked = new long[words.length];
    for (int[] of : partOf) {
      java.util.Arrays.fill(of, -1);
    }
    for (int part = 0; part < bits.length; part++) {
      int w = java.util.Arrays.binarySearch(words, signatureWords[part]);
      partOf[w][bits[part]] = part;
      asked[w] |= 1L << bits[part];
    }
    this.records = new long[bits.length + 1][stride];
    this.seen = new boolean[bits.length + 1];
    this.empty = new long[stride];
    kernel.initialize(relation, empty);
  }

  /** Goes to the next group and merges its parts, and answers whether there is one. */
  public boolean advance() {
    if (!groups.advance()) {
      return false;
    }
    clear();
    kernel.fragments += groups.until() - groups.from();
    long[] table = groups.records();
    for (int i = groups.from(); i < groups.until(); i++) {
      int at = i * stride;
      add(records.length - 1, table, at);
      for (int w = 0; w < words.length; w++) {
        for (long left = table[at + words[w]] & asked[w]; left != 0; left &= left - 1) {
          add(partOf[w][Long.numberOfTrailingZeros(left)], table, at);
        }
      }
    }
    return true;
  }

  private void add(int part, long[] table, int at) {
    if (seen[part]) {
      kernel.combine(relation, records[part], 0, table, at);
      kernel.combined++;
    } else {
      System.arraycopy(table, at, records[part], 0, stride);
      seen[part] = true;
    }
  }

  /** As if there were no row. */
  public void clear() {
    java.util.Arrays.fill(seen, false);
  }

  /** A record of the group at hand, with its keys. */
  public long[] group() {
    return groups.records();
  }

  /** Where {@link #group()} has it. */
  public int groupAt() {
    return groups.from() * stride;
  }

  public long[] record(int part) {
    return seen[part] ? records[part] : empty;
  }
}
