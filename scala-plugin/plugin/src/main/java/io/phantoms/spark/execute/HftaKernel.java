package io.phantoms.spark.execute;

import io.phantoms.spark.lfta.BlockFormat;
import io.phantoms.spark.lfta.ByteDictionary;
import io.phantoms.spark.lfta.GroupTable;
import io.phantoms.spark.lfta.MemoryReserve;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** The reduce side of one configuration: what generated kernels inherit. Tables are indexed by relation. */
public abstract class HftaKernel {
  public GroupTable[] tables;
  protected ByteDictionary dictionary;
  private MemoryReserve memory;
  private int[] strideOf;
  private long[] buffer = new long[0];

  /** Records received. */
  public long received;

  /** Records merged from a parent relation instead of being received. */
  public long derived;

  /** Result rows written. */
  public long emitted;

  /** Whether the counts were added to the operator's metrics. */
  public boolean reported;

  public final void open(MemoryReserve memory, int[] strideOf) {
    this.memory = memory;
    this.strideOf = strideOf;
    this.dictionary = new ByteDictionary(memory);
    this.tables = new GroupTable[strideOf.length];
  }

  /** The table of a relation, made when first asked for. */
  public final GroupTable table(int relation) {
    if (tables[relation] == null) {
      tables[relation] = new GroupTable(strideOf[relation], memory);
    }
    return tables[relation];
  }

  public final void free(int relation) {
    if (tables[relation] != null) {
      tables[relation].free();
      tables[relation] = null;
    }
  }

  /** Merges one block that starts at {@code at} of {@code data}. */
  public final void addBlock(byte[] data, int at) {
    int relation = BlockFormat.relation(data, at);
    int records = BlockFormat.records(data, at);
    GroupTable table = table(relation);
    int words = records * strideOf[relation];
    if (buffer.length < words) {
      buffer = new long[words];
    }
    Platform.copyMemory(
        data,
        Platform.BYTE_ARRAY_OFFSET + BlockFormat.recordsAt(at),
        buffer,
        Platform.LONG_ARRAY_OFFSET,
        8L * words);
    if (BlockFormat.values(data, at) > 0) {
      int[] ids = BlockFormat.readValues(data, at, words, dictionary);
      for (int i = 0, o = 0; i < records; i++, o += strideOf[relation]) {
        remap(relation, buffer, o, ids);
      }
    }
    received += records;
    mergeAll(relation, table, buffer, records);
  }

  /** Replaces a record's ordinals into its block's dictionary by ids of this task's. */
  protected abstract void remap(int relation, long[] record, int from, int[] ids);

  /** Merges records laid out as {@code relation}'s own. */
  protected abstract void mergeAll(int relation, GroupTable table, long[] records, int count);

  /** Merges every group of the (complete) parent into the table of a derived relation. */
  public final void derive(int parent, int child) {
    GroupTable from = table(parent);
    derived += from.size;
    deriveAll(child, table(child), from.records, from.size);
  }

  protected abstract void deriveAll(int child, GroupTable table, long[] parentRecords, int count);

  /** The row of one query for one group, or null when its condition does not hold. The row is reused. */
  public abstract UnsafeRow emit(int query, long[] records, int from);

  /** Writes a group of initial buffers: the global group of an empty input. */
  public abstract void initialize(int relation, long[] record);
}
