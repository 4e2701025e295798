package io.phantoms.spark.run.kernel;

/**
 * Factor windows that need no alignment: every 2^k consecutive slices of a group, merged once for all windows that are
 * put together from them. The records of a relation, sorted by group and slice, are numbered; a block is of those whose
 * numbers agree but for the last k bits, and is there where all of them are of one group.
 */
public final class SliceBlocks {
  private final SortedGroups groups;
  private final int stride;

  /** By level: binary logarithm of the records in a block. */
  private final int[] shifts;

  /** By level: the blocks one after the other. */
  private final long[][] levels;

  /** Where the piece found last lies. */
  private long[] records;

  private int at;

  private SliceBlocks(SortedGroups groups, int[] shifts, long[][] levels) {
    this.groups = groups;
    this.stride = groups.stride;
    this.shifts = shifts;
    this.levels = levels;
  }

  /**
   * Merges the slices of a relation into blocks.
   *
   * @param groups of the relation, sorted
   * @param shifts by level, ascending: binary logarithm of the slices in a block
   * @return null where memory is short
   */
  public static SliceBlocks of(HftaKernel kernel, int relation, SortedGroups groups, int[] shifts) {
    int stride = groups.stride;
    long[][] levels = new long[shifts.length][];
    for (int level = 0; level < shifts.length; level++) {
      levels[level] = kernel.beside(relation, (long) (groups.count >> shifts[level]) * stride);
      if (levels[level] == null) {
        kernel.giveBeside(relation);
        return null;
      }
    }
    SliceBlocks blocks = new SliceBlocks(groups, shifts, levels);
    for (int level = 0; level < shifts.length; level++) {
      blocks.build(kernel, relation, level);
    }
    return blocks;
  }

  private void build(HftaKernel kernel, int relation, int level) {
    long[] from = level == 0 ? groups.table : levels[level - 1];
    int parts = 1 << (shifts[level] - (level == 0 ? 0 : shifts[level - 1]));
    long[] into = levels[level];
    int size = 1 << shifts[level];
    for (int block = 0; block < groups.count >> shifts[level]; block++) {
      if (groups.sameGroup(block * size, block * size + size - 1)) {
        System.arraycopy(from, block * parts * stride, into, block * stride, stride);
        for (int part = 1; part < parts; part++) {
          kernel.combine(relation, into, block * stride, from, (block * parts + part) * stride);
        }
        kernel.combined += parts - 1;
      }
    }
  }

  /**
   * Finds the largest piece that begins with record {@code i} and ends before record {@code until}, all of whose slices
   * begin less than {@code width} after {@code begin}. Answers how many slices it has.
   *
   * @param until of the same group
   */
  int piece(int i, int until, long begin, long width) {
    for (int level = shifts.length - 1; level >= 0; level--) {
      int size = 1 << shifts[level];
      if ((i & (size - 1)) == 0
          && i + size <= until
          && PairedSlices.isWithin(groups.slice(i + size - 1), begin, width)) {
        records = levels[level];
        at = (i >> shifts[level]) * stride;
        return size;
      }
    }
    records = groups.table;
    at = i * stride;
    return 1;
  }

  long[] records() {
    return records;
  }

  int at() {
    return at;
  }
}
