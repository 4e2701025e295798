package io.phantoms.spark.lfta;

import java.util.Arrays;

/**
 * Collects records of one relation bound for one reduce partition. Leaves {@code prefix} bytes free at the start of the
 * array, so that the finished block can be handed on inside a row without another copy.
 */
public final class BlockBuilder {
  private final int relation;
  private final int stride;
  private final int prefix;
  private final int capacity;
  private byte[] data;
  private int records;

  // The block's own dictionary: the task's ids in order of first use here, and an open-addressing index over them.
  private int[] taskIds = new int[16];
  private int values;
  private int[] index;
  private int valueBytes;

  /**
   * @param relation ordinal written into the header
   * @param stride words a record
   * @param prefix bytes to leave free before the block
   * @param bytes about how large a block may grow
   */
  public BlockBuilder(int relation, int stride, int prefix, int bytes) {
    this.relation = relation;
    this.stride = stride;
    this.prefix = prefix;
    this.capacity = Math.max(1, bytes / (8 * stride));
  }

  public int records() {
    return records;
  }

  /** Adds the record at {@code from} of {@code table}; says whether the block is full now. */
  public boolean add(long[] table, int from) {
    int at = prefix + BlockFormat.HEADER + 8 * stride * records;
    if (data == null || at + 8 * stride > data.length) {
      grow(at + 8 * stride);
    }
    for (int i = 0; i < stride; i++, at += 8) {
      BlockFormat.LONG.set(data, at, table[from + i]);
    }
    records++;
    return records >= capacity || valueBytes >= 8 * stride * capacity;
  }

  /** Sets a word of the record added last. */
  public void patch(int word, long value) {
    BlockFormat.LONG.set(
        data, prefix + BlockFormat.HEADER + 8 * (stride * (records - 1) + word), value);
  }

  /** The ordinal in this block's dictionary of a value of the task's dictionary. */
  public int localId(int id, ByteDictionary dictionary) {
    if (index == null) {
      index = new int[64];
    }
    int mask = index.length - 1;
    int p = (int) (dictionary.hash(id) >>> 20) & mask;
    while (index[p] != 0) {
      if (taskIds[index[p] - 1] == id) {
        return index[p] - 1;
      }
      p = (p + 1) & mask;
    }
    if (values == taskIds.length) {
      taskIds = Arrays.copyOf(taskIds, 2 * values);
    }
    taskIds[values++] = id;
    valueBytes += 4 + dictionary.length(id);
    index[p] = values;
    if (2 * values > index.length) {
      rehash(dictionary);
    }
    return values - 1;
  }

  private void rehash(ByteDictionary dictionary) {
    int[] wider = new int[2 * index.length];
    int mask = wider.length - 1;
    for (int v = 0; v < values; v++) {
      int p = (int) (dictionary.hash(taskIds[v]) >>> 20) & mask;
      while (wider[p] != 0) {
        p = (p + 1) & mask;
      }
      wider[p] = v + 1;
    }
    index = wider;
  }

  private void grow(int atLeast) {
    int most = prefix + BlockFormat.HEADER + 8 * stride * capacity;
    int wanted = data == null ? Math.max(1024, atLeast) : Math.max(2 * data.length, atLeast);
    int size = Math.max(Math.min(wanted, most), atLeast);
    data = data == null ? new byte[size] : Arrays.copyOf(data, size);
  }

  /** Length of the finished block in bytes, prefix left out. */
  public int finishedBytes() {
    return (BlockFormat.HEADER + 8 * stride * records + valueBytes + 7) / 8 * 8;
  }

  /** Closes the block and starts a new one. The array is the caller's; the block starts at the prefix. */
  public byte[] finish(ByteDictionary dictionary) {
    int end = prefix + finishedBytes();
    byte[] done = data == null ? new byte[end] : data.length >= end ? data : Arrays.copyOf(data, end);
    int at = prefix + BlockFormat.HEADER + 8 * stride * records;
    Arrays.fill(done, at, end, (byte) 0);
    BlockFormat.header(done, prefix, relation, records, values);
    for (int v = 0; v < values; v++) {
      int id = taskIds[v];
      int length = dictionary.length(id);
      BlockFormat.INT.set(done, at, length);
      System.arraycopy(dictionary.chunk(id), dictionary.offset(id), done, at + 4, length);
      at += 4 + length;
    }
    data = null;
    records = 0;
    values = 0;
    valueBytes = 0;
    index = null;
    return done;
  }
}
