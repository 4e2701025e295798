package io.phantoms.spark.run.kernel;

import io.phantoms.spark.block.BlockBuilder;
import io.phantoms.spark.block.ByteDictionary;
import io.phantoms.spark.block.SpareArrays;
import io.phantoms.spark.functions.GroupObjects;
import java.util.ArrayDeque;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The map side of one configuration: what generated kernels inherit. A kernel owns the tables; evictions that leave the
 * task are collected in blocks, finished ones queue up in {@link #ready} until the operator hands them on.
 */
public abstract class LftaKernel {
  /** Words before a block: null bits, partition id, offset and size of the two-column row it travels in. */
  public static final int ROW_PREFIX = 3;

  /** Rows looked at together by kernels that do. */
  public static final int BATCH = 128;

  /** Words of a table up to which all of it is taken to be in the cache of a core. */
  public static final int CACHED = 64 << 10;

  /** Fewest entries after which a table is looked at. */
  public static final int WINDOW = 8 << 10;

  /** A table is worth its probes if one of this many entries hits: shipping one costs about as much as so many probes. */
  private static final int LEAST_HITS = 16;

  /** Windows for which a table is passed by. */
  private static final int SHORTEST_PAUSE = 8;

  private static final int LONGEST_PAUSE = 64;

  /** Blocks that may wait to be handed on before a kernel that pauses does so. */
  private static final int MOST_READY = 16;

  /** What {@link #touch} answered, so that its reads are not left out. */
  protected long touched;

  /** A finished block, its length in words without the prefix, and the reduce partition it is bound for. */
  public record Finished(int partition, long[] data, int words) {}

  public final ArrayDeque<Finished> ready = new ArrayDeque<>();
  protected ByteDictionary dictionary;
  private long dictionaryLimit;

  /** The objects of the groups in the tables; null where no function has any. */
  protected GroupObjects objects;

  private BlockBuilder[] builders;
  private int[] relationOf;
  private int[] partitionOf;
  private boolean[] announced;
  private int[] strideOf;

  /** Table sizes by relation, as powers of two. */
  protected int[] log2Buckets;

  private int blockBytes;
  private boolean packed;
  private SpareArrays spares;

  /** Whether its operator hands on blocks in between: {@link #pauses}. */
  private boolean pausing;

  /** The row of the batch at work to go on with, -1: there is none. */
  private int pausedAt = -1;

  /** How far an epoch's end has come. */
  private enum Emptying {
    NOT,
    TABLES,
    BLOCKS
  }

  private Emptying emptying = Emptying.NOT;
  private boolean closing;
  private int emptied;
  private int emptiedTo;

  /** Evictions of each relation so far: entries pushed out by a collision or at the end of the epoch. */
  public long[] evictions;

  /** Of these, evictions of entries that were still there at the end of the epoch. */
  public long[] evictedAtEnd;

  /** Probes of each relation that did not find their group. */
  public long[] misses;

  /** Entries of each relation with a table that were passed by it. */
  public long[] passed;

  /** Whether a relation's table is being passed by. */
  protected boolean[] bypassed;

  private int leastWindow;
  private boolean[] judged;
  private long[] missesBefore;
  private int[] pause;

  /** Entries that went to the exchange. */
  public long shipped;

  /** Input rows that were aggregated. */
  public long rows;

  /** Input rows that a condition dropped before. */
  public long dropped;

  /** How often all tables were emptied before the end. */
  public long flushes;

  /** For configurations with functions whose states are objects: where these are kept. */
  public final void hold(GroupObjects objects) {
    this.objects = objects;
  }

  /**
   * @param dictionaryLimit bytes of variable-length values, and of objects, after which all tables are flushed
   * @param relationOf for every slot (relation, shard): its relation
   * @param partitionOf for every slot: its reduce partition
   * @param announced slots whose consumer must hear of this task even when no record is bound for it: relations of one
   *     global group
   * @param strideOf words a record, by relation
   * @param log2Buckets table sizes by relation, as powers of two
   * @param blockBytes about how large a block may grow
   * @param packed whether blocks are packed
   * @param leastWindow fewest entries after which a table may be found not to reduce, and be passed by; 0: never
   */
  public final void open(
      ByteDictionary dictionary,
      long dictionaryLimit,
      int[] relationOf,
      int[] partitionOf,
      boolean[] announced,
      int[] strideOf,
      int[] log2Buckets,
      int blockBytes,
      boolean packed,
      int leastWindow) {
    this.dictionary = dictionary;
    this.dictionaryLimit = dictionaryLimit;
    this.relationOf = relationOf;
    this.partitionOf = partitionOf;
    this.announced = announced;
    this.strideOf = strideOf;
    this.log2Buckets = log2Buckets;
    this.blockBytes = blockBytes;
    this.packed = packed;
    this.spares = new SpareArrays(BlockBuilder.words(ROW_PREFIX, blockBytes));
    this.builders = new BlockBuilder[relationOf.length];
    this.evictions = new long[strideOf.length];
    this.evictedAtEnd = new long[strideOf.length];
    this.misses = new long[strideOf.length];
    this.passed = new long[strideOf.length];
    this.bypassed = new boolean[strideOf.length];
    this.leastWindow = leastWindow;
    this.judged = new boolean[strideOf.length];
    this.missesBefore = new long[strideOf.length];
    this.pause = new int[strideOf.length];
    allocate();
  }

  /** Entries between two looks at what a table is worth: enough to fill it. */
  protected final int window(int relation) {
    return leastWindow > 0 ? Math.max(leastWindow, 1 << log2Buckets[relation]) : Integer.MAX_VALUE;
  }

  /**
   * Called once a window's entries of a relation have come: sets {@link #bypassed} for those to come, and answers how
   * many. A table fills in the first window and is judged by the hits of the next. If they are too few it is passed by
   * for some windows, each time for twice as many as before, and then tried again. Counts entries only, so that a task
   * that runs again decides alike.
   */
  protected final int adapt(int relation) {
    int window = window(relation);
    if (leastWindow == 0) {
      return window;
    }
    if (bypassed[relation]) {
      bypassed[relation] = false;
      judged[relation] = false;
      return window;
    }
    long missed = misses[relation] - missesBefore[relation];
    missesBefore[relation] = misses[relation];
    if (!judged[relation]) {
      judged[relation] = true;
      return window;
    }
    if (missed <= window - window / LEAST_HITS) {
      pause[relation] = 0;
      return window;
    }
    bypassed[relation] = true;
    pause[relation] = Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, 2 * pause[relation]));
    return (int) Math.min(Integer.MAX_VALUE, (long) window * pause[relation]);
  }

  /** Allocates the tables. */
  protected abstract void allocate();

  /** Feeds a batch; of kernels for columnar input. */
  public void process(ColumnarBatch batch) {
    throw new UnsupportedOperationException("this kernel reads rows");
  }

  /** Feeds a row; of kernels for row input. */
  public void process(InternalRow row) {
    throw new UnsupportedOperationException("this kernel reads batches");
  }

  /** Relations with a table, parents before children. */
  protected abstract int[] tables();

  /**
   * Evicts the entries of a relation's table from word {@code from} on, one at least, until the end or until {@link
   * #crowded}. Answers the word to go on with; -1: the table is empty.
   */
  protected abstract int evictFrom(int relation, int from);

  /** Whether enough blocks wait to be handed on. Never of a kernel that does not pause. */
  protected final boolean crowded() {
    return pausing && ready.size() >= MOST_READY;
  }

  /**
   * From now on a batch is left in the middle, and an epoch's end as well, once blocks wait: a table of short records can
   * stand for gigabytes of long strings when all of it is written at once. The operator calls {@link #resume} until there
   * is nothing to go on with. It changes nothing in what the blocks hold.
   */
  public final void pauseWhenCrowded() {
    pausing = true;
  }

  /** For kernels of batches: whether to leave the batch before this row. */
  protected final boolean pauses(int row) {
    if (pausing && (ready.size() >= MOST_READY || isFull())) {
      pausedAt = row;
      return true;
    }
    return false;
  }

  /** The row to go on with, which is the first one unless the batch was left in the middle. */
  protected final int resumed() {
    int row = Math.max(0, pausedAt);
    pausedAt = -1;
    return row;
  }

  /** Whether the batch fed last has to be fed again, to go on with it. */
  public final boolean isInBatch() {
    return pausedAt >= 0;
  }

  /** Whether variable-length values or objects take so much that the epoch has to end before the next row. */
  public final boolean isFull() {
    return dictionary.bytes() > dictionaryLimit || (objects != null && objects.bytes() > dictionaryLimit);
  }

  /** Whether the end of an epoch has begun and {@link #resume} has to be called. */
  public final boolean isEmptying() {
    return emptying != Emptying.NOT;
  }

  /** Starts the end of an epoch: in the middle, so that ids start afresh, or after the last row. */
  public final void startEmptying(boolean last) {
    if (!last) {
      flushes++;
    }
    emptying = Emptying.TABLES;
    closing = last;
    emptied = 0;
    emptiedTo = 0;
  }

  /** Goes on with the end of an epoch until enough blocks wait or it is over. */
  public final void resume() {
    int[] tables = tables();
    while (emptying == Emptying.TABLES && !crowded()) {
      if (emptied == tables.length) {
        emptying = Emptying.BLOCKS;
        emptied = 0;
      } else {
        emptiedTo = evictFrom(tables[emptied], emptiedTo);
        if (emptiedTo < 0) {
          emptied++;
          emptiedTo = 0;
        }
      }
    }
    while (emptying == Emptying.BLOCKS && !crowded()) {
      if (emptied == builders.length) {
        emptying = Emptying.NOT;
        if (!closing) {
          dictionary.clear();
        }
      } else {
        finishBlock(emptied++);
      }
    }
  }

  protected final BlockBuilder builder(int slot) {
    BlockBuilder builder = builders[slot];
    return builder == null ? start(slot) : builder;
  }

  protected final void finish(int slot) {
    BlockBuilder builder = builders[slot];
    long[] block = builder.finish(dictionary);
    ready.add(new Finished(partitionOf[slot], block, builder.finishedWords()));
  }

  /** Takes a block's array back that has been written out. */
  public final void reuse(Finished block) {
    spares.give(block.data());
  }

  /** Reads the buckets that the hashes will be probed in, so that the memory behind them is on its way together. */
  public static long touch(long[] table, long[] hashes, int count, int shift, int stride) {
    long seen = 0;
    for (int i = 0; i < count; i++) {
      int o = (int) (hashes[i] >>> 1 >>> shift) * stride;
      seen += table[o] + table[o + stride - 1];
    }
    return seen;
  }

  private BlockBuilder start(int slot) {
    int relation = relationOf[slot];
    builders[slot] = new BlockBuilder(relation, strideOf[relation], ROW_PREFIX, blockBytes, packed, spares);
    return builders[slot];
  }

  /** Called between rows by kernels with variable-length values or objects: starts afresh once these take too much memory. */
  protected final void relieve() {
    if (isFull()) {
      empty(false);
    }
  }

  private void empty(boolean last) {
    startEmptying(last);
    boolean before = pausing;
    pausing = false;
    resume();
    pausing = before;
  }

  private void finishBlock(int slot) {
    boolean some = builders[slot] != null && builders[slot].records() > 0;
    if (!some && closing && announced[slot]) {
      start(slot);
      some = true;
    }
    if (some) {
      finish(slot);
    }
  }

  /** Words that packing took off the blocks. */
  public final long savedWords() {
    long saved = 0;
    for (BlockBuilder builder : builders) {
      saved += builder == null ? 0 : builder.saved();
    }
    return saved;
  }

  /** Evicts all tables and closes all blocks, however many then wait. */
  public final void close() {
    empty(true);
  }
}
