package io.phantoms.spark.table;

import io.phantoms.spark.memory.MemoryRefused;

/**
 * A complete table of groups: records lie densely in order of first appearance, an open-addressing index of tagged
 * ordinals finds them. Grows without limit other than what memory the {@link WordPool} is granted. Probing is done by generated
 * code through the public fields; see {@link #insert}.
 */
public final class GroupTable {
  /** Most hashes {@link #touch} takes at once. */
  public static final int BATCH = 128;

  /** Groups a table has room for at least. */
  private static final int SMALLEST = 32;

  /** Words of records a table starts with at most: half a GiB, since estimates can be wrong. */
  private static final int LARGEST_START = 1 << 26;

  /** Bytes of index up to which everything is taken to be in the cache of a core. */
  private static final long CACHED = 256L << 10;

  /** Index entries: high 32 bits the tag (the hash's low 32 bits), low 32 bits record ordinal + 1; 0: free. */
  public long[] index;

  /** The first index position of tag t is {@code t >>> shift}; later ones follow it, around the end. */
  public int shift;

  /** All records, {@code stride} words each. */
  public long[] records;

  public int size;
  private final int stride;
  private final WordPool pool;
  private final int[] found = new int[BATCH];

  /**
   * @param stride words a record
   * @param expected groups to make room for at once; no promise: where that much is refused, the table starts small
   */
  public GroupTable(int stride, WordPool pool, long expected) {
    this.stride = stride;
    this.pool = pool;
    int groups = (int) Math.max(SMALLEST, Math.min(expected, LARGEST_START / stride));
    try {
      allocate(groups);
    } catch (MemoryRefused refused) {
      allocate(SMALLEST);
    }
  }

  private void allocate(int groups) {
    int entries = Integer.highestOneBit(2 * groups - 1) << 1;
    this.records = pool.take((long) groups * stride);
    try {
      this.index = pool.takeCleared(entries);
    } catch (MemoryRefused refused) {
      pool.give(records);
      throw refused;
    }
    this.shift = 32 - Integer.numberOfTrailingZeros(entries);
  }

  /**
   * Reads what probing for these hashes will read, so that the memory behind it is on its way to the cache: one after
   * the other, each probe would wait for its own. The answer means nothing; it keeps the reads from being left out.
   */
  public long touch(long[] hashes, int count) {
    long seen = 0;
    if (8L * index.length < CACHED) {
      return seen;
    }
    for (int i = 0; i < count; i++) {
      long entry = index[(int) hashes[i] >>> shift];
      found[i] = Math.max(0, (int) entry - 1);
    }
    for (int i = 0; i < count; i++) {
      int o = found[i] * stride;
      seen += records[o] + records[o + stride - 1];
    }
    return seen;
  }

  /**
   * Appends a copy of a record whose probe ended at free index position {@code p}. Room is made before anything is
   * written: when memory is refused the table is as it was.
   */
  public void insert(long hash, int p, long[] source, int from) {
    int at = size * stride;
    if (at + stride > records.length) {
      growRecords();
    }
    int free = p;
    if (2 * (size + 1) > index.length) {
      growIndex();
      free = (int) hash >>> shift;
      while (index[free] != 0) {
        free = (free + 1) & (index.length - 1);
      }
    }
    System.arraycopy(source, from, records, at, stride);
    index[free] = (hash << 32) | ++size;
  }

  private void growRecords() {
    long wanted = Math.min(2L * size, (Integer.MAX_VALUE - 8) / stride) * stride;
    if (wanted <= records.length) {
      throw outgrown();
    }
    long[] wider = pool.take(wanted);
    System.arraycopy(records, 0, wider, 0, size * stride);
    pool.give(records);
    records = wider;
  }

  private MemoryRefused outgrown() {
    return new MemoryRefused(0, "one table cannot hold more than " + size + " groups");
  }

  private void growIndex() {
    if (index.length == 1 << 30) {
      throw outgrown();
    }
    long[] wider = pool.takeCleared(2 * index.length);
    int mask = wider.length - 1;
    shift--;
    for (long entry : index) {
      if (entry != 0) {
        int p = (int) (entry >>> 32) >>> shift;
        while (wider[p] != 0) {
          p = (p + 1) & mask;
        }
        wider[p] = entry;
      }
    }
    pool.give(index);
    index = wider;
  }

  /** Gives everything back; the table must not be used again. */
  public void free() {
    pool.give(index);
    pool.give(records);
    index = null;
    records = null;
  }
}
