package io.phantoms.spark.block;

import java.util.ArrayList;
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
  private final boolean packing;
  private final SpareArrays spares;
  private long[] data;
  private int records;
  private boolean filled;

  // The block's own dictionary: the task's ids in order of first use here, and an open-addressing index over them.
  private int[] taskIds = new int[16];
  private int values;
  private int[] index;
  private int valueWords;

  /** Values of the block that are in no dictionary: one with the task's id {@code -1 - i} is the i-th of these. */
  private final ArrayList<byte[]> bodies = new ArrayList<>();

  private long[] layout;
  private int finishedWords;
  private long saved;

  /**
   * @param relation ordinal written into the header
   * @param stride words a record
   * @param prefix words to leave free before the block
   * @param bytes about how large a block may grow, before packing
   * @param packing whether records are packed where that makes the block smaller
   */
  public BlockBuilder(int relation, int stride, int prefix, int bytes, boolean packing) {
    this(relation, stride, prefix, bytes, packing, null);
  }

  /**
   * @param spares where arrays of full blocks are taken from, see {@link #words(int, int)}; null: they are new ones
   */
  public BlockBuilder(int relation, int stride, int prefix, int bytes, boolean packing, SpareArrays spares) {
    this.relation = relation;
    this.stride = stride;
    this.prefix = prefix;
    this.capacity = Math.max(1, bytes / (8 * stride));
    this.packing = packing;
    this.spares = spares;
  }

  /** Words of the array of a full block of at most so many bytes, dictionary values left out. */
  public static int words(int prefix, int bytes) {
    return prefix + BlockFormat.HEADER_WORDS + bytes / 8;
  }

  public int records() {
    return records;
  }

  /** Adds the record at {@code from} of {@code table}; says whether the block is full now. */
  public boolean add(long[] table, int from) {
    int at = next();
    System.arraycopy(table, from, data, at, stride);
    return added();
  }

  /**
   * Makes room for a record and answers its offset in {@link #words}: for callers that know how long it is and copy it word by
   * word. {@link #added} has to follow.
   */
  public int next() {
    int at = prefix + BlockFormat.HEADER_WORDS + stride * records;
    if (data == null || at + stride > data.length) {
      grow(at + stride);
    }
    return at;
  }

  public long[] words() {
    return data;
  }

  /** Counts the record written after {@link #next}; says whether the block is full now. */
  public boolean added() {
    records++;
    return records >= capacity || valueWords >= stride * capacity;
  }

  /** Sets a word of the record added last. */
  public void patch(int word, long value) {
    data[prefix + BlockFormat.HEADER_WORDS + stride * (records - 1) + word] = value;
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
    addValue(id, dictionary.length(id));
    index[p] = values;
    if (2 * values > index.length) {
      rehash(dictionary);
    }
    return values - 1;
  }

  /**
   * The ordinal of a value that one record alone has: it is not looked for among others, and whoever reads the block gets it
   * as it is. The array is the block's from here on.
   */
  public int body(byte[] value) {
    bodies.add(value);
    addValue(-bodies.size(), value.length);
    return values - 1;
  }

  private void addValue(int id, int length) {
    if (values == taskIds.length) {
      taskIds = Arrays.copyOf(taskIds, 2 * values);
    }
    taskIds[values++] = id;
    valueWords += BlockFormat.valueWords(length);
  }

  private void rehash(ByteDictionary dictionary) {
    int[] wider = new int[2 * index.length];
    int mask = wider.length - 1;
    for (int v = 0; v < values; v++) {
      if (taskIds[v] < 0) {
        continue;
      }
      int p = (int) (dictionary.hash(taskIds[v]) >>> 20) & mask;
      while (wider[p] != 0) {
        p = (p + 1) & mask;
      }
      wider[p] = v + 1;
    }
    index = wider;
  }

  private void grow(int atLeast) {
    int most = prefix + BlockFormat.HEADER_WORDS + stride * capacity;
    int wanted = data == null ? Math.max(128, atLeast) : 2 * data.length;
    // After one full block there is likely to be another.
    if (data == null && filled) {
      data = fullArray(Math.max(most, atLeast));
    } else {
      int size = Math.max(filled ? most : Math.min(wanted, most), atLeast);
      data = data == null ? new long[size] : Arrays.copyOf(data, size);
    }
  }

  private long[] fullArray(int atLeast) {
    return spares == null ? new long[atLeast] : spares.take(atLeast);
  }

  /** Length in words of the block finished last, prefix left out. */
  public int finishedWords() {
    return finishedWords;
  }

  /** Closes the block and starts a new one. The array is the caller's; the block starts at the prefix. */
  public long[] finish(ByteDictionary dictionary) {
    int plain = stride * records;
    int packed = packing && records > 0 ? measure() : plain;
    // Unpacking costs more than copying: not for a few words.
    boolean pack = packed < plain - plain / 8;
    int recordWords = pack ? packed : plain;
    finishedWords = BlockFormat.HEADER_WORDS + recordWords + valueWords;
    int end = prefix + finishedWords;
    int at = prefix + BlockFormat.HEADER_WORDS;
    long[] done;
    if (pack) {
      // A block that is closed before it is full is likely the last.
      done = records >= capacity ? fullArray(end) : new long[end];
      PackedRecords.pack(data, at, stride, records, layout, done, at);
    } else {
      done = data == null ? new long[end] : data.length >= end ? data : Arrays.copyOf(data, end);
      data = null;
    }
    filled |= records >= capacity;
    BlockFormat.header(done, prefix, relation, records, values, pack ? packed : 0);
    at += recordWords;
    for (int v = 0; v < values; v++) {
      int id = taskIds[v];
      if (id < 0) {
        byte[] body = bodies.get(-1 - id);
        BlockFormat.writeBody(done, at, body);
        at += BlockFormat.valueWords(body.length);
      } else {
        int length = dictionary.length(id);
        BlockFormat.writeValue(done, at, dictionary.chunk(id), dictionary.offset(id), length);
        at += BlockFormat.valueWords(length);
      }
    }
    bodies.clear();
    saved += plain - recordWords;
    records = 0;
    values = 0;
    valueWords = 0;
    index = null;
    return done;
  }

  private int measure() {
    if (layout == null) {
      layout = new long[PackedRecords.layoutWords(stride)];
    }
    return PackedRecords.measure(data, prefix + BlockFormat.HEADER_WORDS, stride, records, layout);
  }

  /** Words that packing saved in all blocks so far. */
  public long saved() {
    return saved;
  }
}
