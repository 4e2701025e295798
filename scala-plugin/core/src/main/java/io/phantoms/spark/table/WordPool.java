package io.phantoms.spark.table;

import java.util.Arrays;

import io.phantoms.spark.memory.MemoryRefused;
import io.phantoms.spark.memory.MemoryReserve;

/**
 * Arrays of words on their way from one table of a task to the next: one that was just given back is still in the cache,
 * a new one has to be cleared page by page. What is kept counts as taken until memory is short.
 */
public final class WordPool implements MemoryReserve {
  private static final int KEPT = 8;

  /** An array may be longer than asked for by this factor: one of any size would spread a small table over much memory. */
  private static final int SLACK = 4;

  private final MemoryReserve memory;
  private final long[][] kept = new long[KEPT][];

  /** @param memory asked before each allocation */
  public WordPool(MemoryReserve memory) {
    this.memory = memory;
  }

  /** An array of at least {@code words} words, which may hold anything. */
  public long[] take(long words) {
    long[] found = reuse(words, SLACK * words);
    return found == null ? allocate(words) : found;
  }

  /** An array of exactly {@code words} words, all 0. */
  long[] takeCleared(int words) {
    long[] found = reuse(words, words);
    if (found == null) {
      return allocate(words);
    }
    Arrays.fill(found, 0L);
    return found;
  }

  private long[] allocate(long words) {
    reserve(8L * words);
    return new long[(int) words];
  }

  /** The shortest kept array of {@code words} to {@code most} words, or null. */
  private long[] reuse(long words, long most) {
    int best = -1;
    for (int i = 0; i < KEPT; i++) {
      if (kept[i] != null
          && kept[i].length >= words
          && kept[i].length <= most
          && (best < 0 || kept[i].length < kept[best].length)) {
        best = i;
      }
    }
    if (best < 0) {
      return null;
    }
    long[] found = kept[best];
    kept[best] = null;
    return found;
  }

  /** Reserves memory for others as well: what the pool keeps must not be the reason that they are refused. */
  @Override
  public void reserve(long bytes) {
    try {
      memory.reserve(bytes);
    } catch (MemoryRefused refused) {
      if (!drain()) {
        throw refused;
      }
      memory.reserve(bytes);
    }
  }

  @Override
  public void release(long bytes) {
    memory.release(bytes);
  }

  /** Gives an array back; in place of a smaller one where the pool is full. */
  public void give(long[] array) {
    int place = 0;
    for (int i = 0; i < KEPT && kept[place] != null; i++) {
      if (kept[i] == null || kept[i].length < kept[place].length) {
        place = i;
      }
    }
    if (kept[place] == null) {
      kept[place] = array;
    } else if (kept[place].length < array.length) {
      memory.release(8L * kept[place].length);
      kept[place] = array;
    } else {
      memory.release(8L * array.length);
    }
  }

  /** Lets go of everything kept; says whether there was anything. */
  public boolean drain() {
    boolean some = false;
    for (int i = 0; i < KEPT; i++) {
      if (kept[i] != null) {
        memory.release(8L * kept[i].length);
        kept[i] = null;
        some = true;
      }
    }
    return some;
  }
}
