package io.phantoms.spark.run.kernel;

import io.phantoms.spark.block.BlockBuilder;
import io.phantoms.spark.block.BlockFormat;
import io.phantoms.spark.block.ByteDictionary;
import io.phantoms.spark.functions.GroupObjects;
import io.phantoms.spark.memory.MemoryRefused;
import io.phantoms.spark.memory.MemoryReserve;
import io.phantoms.spark.table.GroupTable;
import io.phantoms.spark.table.WordPool;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** The reduce side of one configuration: what generated kernels inherit. Tables are indexed by relation. */
public abstract class HftaKernel {
  public GroupTable[] tables;
  protected ByteDictionary dictionary;

  /** The objects of all groups; null where no function has any. */
  protected GroupObjects objects;

  /** By relation: words of its records that hold ids of objects, and the slots (buffer fields) that they are. */
  private int[][] objectWords;

  private int[][] objectSlots;

  private WordPool pool;
  private int[] strideOf;
  private long[] expectedGroups;
  private long[] buffer = new long[0];

  /** By relation: what was taken for it, see {@link #beside(int, long)}. */
  private java.util.List<java.util.List<long[]>> beside;

  /** Hashes of the batch at work. */
  protected final long[] hashes = new long[GroupTable.BATCH];

  /** See {@link GroupTable#touch}. */
  protected long touched;

  /** Records of the last batch that were merged when the merge ended, be it because memory was refused. */
  public int merged;

  /** Records received. */
  public long received;

  /** Records merged from a parent relation instead of being received. */
  public long derived;

  /** Records merged to put windows together. */
  public long combined;

  /** Slices that windows were put together from. */
  public long slices;

  /** Fragments that results were put together from. */
  public long fragments;

  /** Result rows written. */
  public long emitted;

  /**
   * @param strideOf words a record, by relation
   * @param expectedGroups groups expected in this task, by relation: tables start at that size
   */
  public final void open(MemoryReserve memory, int[] strideOf, long[] expectedGroups) {
    this.pool = new WordPool(memory);
    this.strideOf = strideOf;
    this.expectedGroups = expectedGroups;
    this.dictionary = new ByteDictionary(pool);
    this.tables = new GroupTable[strideOf.length];
    this.beside = new java.util.ArrayList<>();
    for (int relation = 0; relation < strideOf.length; relation++) {
      beside.add(new java.util.ArrayList<>());
    }
  }

  /**
   * For configurations with functions whose states are objects: where these are kept.
   *
   * @param words by relation, words of its records that hold ids of objects
   * @param slots by relation, the buffer fields that they are
   */
  public final void hold(GroupObjects objects, int[][] words, int[][] slots) {
    this.objects = objects;
    this.objectWords = words;
    this.objectSlots = slots;
  }

  /** Bytes of variable-length values and objects. */
  public final long bytesBeside() {
    return dictionary.bytes() + (objects == null ? 0 : objects.bytes());
  }

  /** Forgets variable-length values and objects: no record refers to any. */
  public final void forget() {
    dictionary.clear();
    if (objects != null) {
      objects.clear();
    }
  }

  /** Frees the objects of a record, which is not used any more. */
  public final void release(int relation, long[] record, int from) {
    if (objects != null) {
      for (int word : objectWords[relation]) {
        objects.free(record[from + word]);
      }
    }
  }

  /** The table of a relation, made when first asked for. */
  public final GroupTable table(int relation) {
    return table(relation, expectedGroups[relation]);
  }

  private GroupTable table(int relation, long expected) {
    if (tables[relation] == null) {
      tables[relation] = new GroupTable(strideOf[relation], pool, expected);
    }
    return tables[relation];
  }

  /** From here on tables start small: they hold parts of what was expected. */
  public final void forgetExpectations() {
    pool.drain();
    java.util.Arrays.fill(expectedGroups, 0L);
  }

  public final void free(int relation) {
    if (tables[relation] != null) {
      if (objects != null && objectWords[relation].length > 0) {
        for (int i = 0; i < tables[relation].size; i++) {
          release(relation, tables[relation].records, i * strideOf[relation]);
        }
      }
      tables[relation].free();
      tables[relation] = null;
    }
    giveBeside(relation);
  }

  /** Gives back what was taken with {@link #beside(int, long)}. */
  final void giveBeside(int relation) {
    for (long[] array : beside.get(relation)) {
      pool.give(array);
    }
    beside.get(relation).clear();
  }

  /** Room for so many words of what is made of a relation's records, as long as these are there; null: memory is short. */
  final long[] beside(int relation, long words) {
    try {
      long[] array = words > Integer.MAX_VALUE / 2 ? null : pool.take(words);
      if (array != null) {
        beside.get(relation).add(array);
      }
      return array;
    } catch (MemoryRefused refused) {
      return null;
    }
  }

  private long[] projected = new long[0];

  /** Room for this many words of projected records; reused. */
  protected final long[] projected(int words) {
    if (projected.length < words) {
      projected = new long[words];
    }
    return projected;
  }

  /**
   * Reads one block that starts at {@code at} of {@code data}: its records, with ids of this task's dictionary, are in
   * {@link #buffer()} then. Answers how many there are. Refused, before it reads any, where the objects there are outgrow
   * what was granted and are of several groups, which can be told apart on disk.
   */
  public final int readBlock(byte[] data, int at) {
    if (objects != null && groups() > 1) {
      objects.settle();
    }
    int relation = BlockFormat.relation(data, at);
    int records = BlockFormat.records(data, at);
    int words = records * strideOf[relation];
    if (buffer.length < words) {
      buffer = new long[words];
    }
    BlockFormat.readRecords(data, at, strideOf[relation], buffer);
    if (BlockFormat.values(data, at) > 0) {
      int[] ids = BlockFormat.readValues(data, at, strideOf[relation], dictionary);
      for (int i = 0, o = 0; i < records; i++, o += strideOf[relation]) {
        remap(relation, buffer, o, ids);
      }
      if (objects != null && objectWords[relation].length > 0) {
        readObjects(relation, data, ids, records);
      }
    }
    return records;
  }

  private void readObjects(int relation, byte[] data, int[] places, int records) {
    int[] words = objectWords[relation];
    for (int i = 0, o = 0; i < records; i++, o += strideOf[relation]) {
      for (int w = 0; w < words.length; w++) {
        byte[] written = BlockFormat.readBody(data, places[(int) buffer[o + words[w]]]);
        buffer[o + words[w]] = objects.read(objectSlots[relation][w], written);
      }
    }
  }

  private long groups() {
    long groups = 0;
    for (GroupTable table : tables) {
      groups += table == null ? 0 : table.size;
    }
    return groups;
  }

  /** The records read last. */
  public final long[] buffer() {
    return buffer;
  }

  /** Merges the first {@code records} of {@link #buffer()}, which are of this relation. */
  public final void mergeBuffer(int relation, int records) {
    merged = 0;
    mergeAll(relation, table(relation), buffer, records);
  }

  public final ByteDictionary dictionary() {
    return dictionary;
  }

  /** Replaces a record's ordinals into its block's dictionary by ids of this task's. */
  protected abstract void remap(int relation, long[] record, int from, int[] ids);

  /** Merges records laid out as {@code relation}'s own. */
  protected abstract void mergeAll(int relation, GroupTable table, long[] records, int count);

  /** Merges every group of the (complete) parent into the table of a derived relation. */
  public final void derive(int parent, int child) {
    GroupTable from = table(parent);
    // The ratio of the estimates holds better than they do: shards are of different sizes.
    double ratio = (double) expectedGroups[child] / Math.max(1L, expectedGroups[parent]);
    long expected = (long) (from.size * Math.min(1.0, ratio));
    deriveAll(child, table(child, expected), from.records, from.size);
    derived += from.size;
  }

  /** The record of a derived relation that the parent's record at {@code from} adds to; reused. */
  public abstract long[] project(int child, long[] parentRecords, int from);

  /** Adds a record, in its relation's layout, to a block. Answers whether the block is full. */
  public abstract boolean append(int relation, BlockBuilder block, long[] record, int from);

  /** Merges the buffers of a record into those of another one of this relation, whatever their keys. */
  public abstract void combine(int relation, long[] into, int at, long[] record, int from);

  /** A hash of those keys of a record that deal groups out; it depends on their content only. */
  public abstract long contentHash(int relation, long[] record, int from);

  /** The shard of a record of a relation that is shipped again. */
  public abstract int shard(int relation, long[] record, int from);

  protected abstract void deriveAll(int child, GroupTable table, long[] parentRecords, int count);

  /** The row of one query for one group, or null when its condition does not hold. The row is reused. */
  public abstract UnsafeRow emit(int query, long[] records, int from);

  /** Writes a group of initial buffers: the global group of an empty input. */
  public abstract void initialize(int relation, long[] record);
}
