package io.phantoms.spark.run.kernel;

/**
 * What one query takes of a group's records, which come in the order of time: those that have its bit of a signature, one
 * for each slice, and where slices are finer than its window's own, for each of these.
 */
public final class QuerySlices {
  /** Words that are kept for the next group. */
  static final int KEPT = 1 << 12;

  private final HftaKernel kernel;
  private final int relation;
  private final SortedGroups groups;
  private final long[] table;
  private final int stride;
  private final int sliceWord;

  /** Word with the bit that a record must have; -1: all are taken. */
  private final int signatureWord;

  private final int bit;

  /** The slices that are wanted; null: those of the records. */
  private final PairedSlices own;

  /** Finds pieces of slices; null: there are no blocks. */
  private final SliceBlocks blocks;

  private final boolean asItIs;

  /** What was taken of the group at hand, unless that is its records as they are. */
  private long[] merged = new long[0];

  private int from;
  private int until;
  private boolean isNew;

  /** The slice of the record taken last, and the wanted slice that it is in. */
  private long slice;

  private long begin;
  private long width;

  /**
   * @param own the slices that are wanted, of which those of the records are parts; null: those of the records
   * @param blocks used if no bit is asked for, and {@code own} is
   */
  public QuerySlices(
      HftaKernel kernel,
      int relation,
      SortedGroups groups,
      int signatureWord,
      int bit,
      PairedSlices own,
      SliceBlocks blocks) {
    this.kernel = kernel;
    this.relation = relation;
    this.groups = groups;
    this.table = groups.table;
    this.stride = groups.stride;
    this.sliceWord = groups.sliceWord;
    this.signatureWord = signatureWord;
    this.bit = bit;
    this.own = own;
    this.blocks = blocks;
    this.asItIs = signatureWord < 0 && own == null;
  }

  /** Gives up what a large group took. */
  public void release() {
    if (merged.length > KEPT) {
      merged = new long[0];
    }
  }

  /** A new group begins. */
  public void start() {
    from = 0;
    until = 0;
    isNew = true;
  }

  /** Takes records of the group at hand, which come after those taken before. */
  public void take(int first, int last) {
    if (asItIs) {
      from = until == 0 ? first : from;
      until = last;
    } else if (signatureWord >= 0) {
      takeMarked(first, last);
    } else {
      takeAll(first, last);
    }
    if (sliceWord >= 0 && signatureWord < 0) {
      kernel.slices += last - first;
    }
  }

  /** Whether there is a group that was not asked about yet, with anything in it. */
  public boolean advance() {
    boolean some = isNew && until > from;
    isNew = false;
    return some;
  }

  /** Where what was taken is. */
  public long[] records() {
    return asItIs ? table : merged;
  }

  /** The first one's ordinal. */
  public int from() {
    return from;
  }

  public int until() {
    return until;
  }

  int stride() {
    return stride;
  }

  int sliceWord() {
    return sliceWord;
  }

  private void takeMarked(int first, int last) {
    int[] marked = groups.marked(signatureWord, bit, first, last);
    int n = groups.markedCount();
    int before = until;
    int slices = 0;
    for (int k = 0; k < n; k++) {
      int at = marked[k] * stride;
      if (sliceWord >= 0 && (until == 0 || slice != table[at + sliceWord])) {
        slice = table[at + sliceWord];
        slices++;
      }
      if (until > 0 && (sliceWord < 0 || PairedSlices.isWithin(slice, begin, width))) {
        kernel.combine(relation, merged, (until - 1) * stride, table, at);
      } else {
        begin = own == null ? slice : own.begin(slice);
        width = own == null ? 1 : own.width();
        add(table, at);
      }
    }
    kernel.fragments += n;
    kernel.slices += slices;
    kernel.combined += n - (until - before);
  }

  private void takeAll(int first, int last) {
    int i = first;
    while (i < last) {
      boolean isInside = until > 0 && PairedSlices.isWithin(groups.slice(i), begin, width);
      if (!isInside) {
        begin = own.begin(groups.slice(i));
        width = own.width();
      }
      int size = 1;
      long[] records = table;
      int at = i * stride;
      if (blocks != null) {
        size = blocks.piece(i, last, begin, width);
        records = blocks.records();
        at = blocks.at();
      }
      if (isInside) {
        kernel.combine(relation, merged, (until - 1) * stride, records, at);
        kernel.combined++;
      } else {
        add(records, at);
      }
      i += size;
    }
  }

  private void add(long[] records, int at) {
    int size = (until + 1) * stride;
    if (merged.length < size) {
      merged = java.util.Arrays.copyOf(merged, Math.max(size, Math.min(2 * merged.length, Integer.MAX_VALUE / 2)));
    }
    System.arraycopy(records, at, merged, until * stride, stride);
    if (sliceWord >= 0) {
      merged[until * stride + sliceWord] = begin;
    }
    until++;
  }
}
