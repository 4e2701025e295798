package io.phantoms.spark.lfta;

import java.util.Arrays;

/**
 * A complete table of groups: records lie densely in order of first appearance, an open-addressing index of tagged
 * ordinals finds them. Grows without limit other than what {@link MemoryReserve} grants. Probing is done by generated
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
  private final MemoryReserve memory;
  private final int[] found = new int[BATCH];
  private long reserved;

  /**
   * @param stride words a record
   * @param expected groups to make room for at once; no promise: where that much is refused, the table starts small
   */
  public GroupTable(int stride, MemoryReserve memory, long expected) {
    this.stride = stride;
    this.memory = memory;
    int groups = (int) Math.max(SMALLEST, Math.min(expected, LARGEST_START / stride));
    try {
      allocate(groups);
    } catch (MemoryRefused refused) {
      allocate(SMALLEST);
    }
  }

  private void allocate(int groups) {
    int entries = Integer.highestOneBit(2 * groups - 1) << 1;
    reserve(8L * (entries + (long) groups * stride));
    this.index = new long[entries];
    this.shift = 32 - Integer.numberOfTrailingZeros(entries);
    this.records = new long[groups * stride];
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
      seen += records[found[i] * stride];
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
    reserve(8L * wanted);
    int before = records.length;
    records = Arrays.copyOf(records, (int) wanted);
    release(8L * before);
  }

  private MemoryRefused outgrown() {
    return new MemoryRefused(0, "one table cannot hold more than " + size + " groups");
  }

  private void growIndex() {
    if (index.length == 1 << 30) {
      throw outgrown();
    }
    reserve(16L * index.length);
    long[] wider = new long[2 * index.length];
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
    release(8L * index.length);
    index = wider;
  }

  private void reserve(long bytes) {
    memory.reserve(bytes);
    reserved += bytes;
  }

  private void release(long bytes) {
    memory.release(bytes);
    reserved -= bytes;
  }

  /** Frees everything; the table must not be used again. */
  public void free() {
    release(reserved);
    index = null;
    records = null;
  }
}
