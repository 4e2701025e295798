package io.phantoms.spark.source.table;

import io.phantoms.spark.block.Hashing;
import java.util.Arrays;

/**
 * The low level of a two-level aggregation: groups in a table of fixed memory. A group that finds no room makes another one
 * leave; whoever finishes the aggregation adds up what comes of a group in parts.
 *
 * <p>A group is a record of words, its key first. After {@link #probe}, {@link #age}, {@link #sweep} and {@link #flush},
 * groups may wait to leave: {@link #nextEvicted} has to be asked for them until there is none before the next probe.
 *
 * <p>Epochs: {@link #flush} is the eager end of an epoch, all groups leave. {@link #age} is the lazy one, all groups become
 * old: each probe then sends one of them away, as does a group of the new epoch that needs its slot; before a group of the
 * new epoch leaves, all old ones do.
 */
public final class ReaderTable {
  private static final int FREE = 0;

  // Records behind the slots that groups leave from: two that go before those of a sweep, two that go after them.
  private static final int EARLY = 2;
  private static final int LATE = 2;

  private final boolean secondChance;
  private final int slots;
  private final int keyWords;
  private final int width;
  private final long[] words;

  // By slot: the epoch of the group in it.
  private final int[] epochs;
  private int epoch = FREE + 1;
  private int used;

  // Groups of former epochs; none lies before the cursor.
  private int old;
  private int cursor;
  private boolean sweeping;

  private int early;
  private int earlyGone;
  private int late;
  private int lateGone;
  private int evictedAt;
  private long probes;
  private long evictions;

  /**
   * A table.
   *
   * @param kind who leaves for whom
   * @param slots how many groups it holds
   * @param keyWords words of a group's key
   * @param valueWords words of what is known of the group
   */
  public ReaderTable(TableKind kind, int slots, int keyWords, int valueWords) {
    this.secondChance = kind == TableKind.SECOND_CHANCE;
    this.slots = slots;
    this.keyWords = keyWords;
    this.width = keyWords + valueWords;
    this.words = new long[Math.multiplyExact(Math.addExact(slots, EARLY + LATE), width)];
    this.epochs = new int[slots];
  }

  /** How many slots fit into so many bytes; at least one. */
  public static int slotsIn(long bytes, int keyWords, int valueWords) {
    long width = keyWords + valueWords;
    long fitting = bytes / (width * Long.BYTES + Integer.BYTES) - (EARLY + LATE);
    long most = Integer.MAX_VALUE / 2 / width - (EARLY + LATE);
    return (int) Math.max(1, Math.min(fitting, most));
  }

  /** Where records lie. */
  public long[] words() {
    return words;
  }

  /** Groups that are in it. */
  public int size() {
    return used;
  }

  /** Whether groups of former epochs are in it. */
  public boolean hasOld() {
    return old > 0;
  }

  /** How often a group was looked for. */
  public long probes() {
    return probes;
  }

  /** Records that left, those of a flush included. */
  public long evictions() {
    return evictions;
  }

  /**
   * Finds a group or makes it.
   *
   * @return where its values begin in {@link #words}; those of a new group are 0
   */
  public int probe(long[] key) {
    probes++;
    long hash = Hashing.TABLE_SEED;
    for (int i = 0; i < keyWords; i++) {
      hash = Hashing.mix(hash, key[i]);
    }
    hash = Hashing.finish(hash);
    if (old > 0) {
      flushOne();
    }
    int first = slot(hash);
    if (epochs[first] != epoch) {
      return take(first, key);
    }
    if (isAt(first, key)) {
      return first * width + keyWords;
    }
    if (secondChance) {
      int second = slot(Hashing.second(hash));
      if (epochs[second] != epoch) {
        return take(second, key);
      }
      if (isAt(second, key)) {
        return second * width + keyWords;
      }
    }
    sweeping = old > 0;
    leave(first * width);
    used--;
    return place(first, key);
  }

  /** Sends what is known of a group on its way and starts anew. */
  public void restart(int valuesAt) {
    int at = valuesAt - keyWords;
    leave(at);
    Arrays.fill(words, valuesAt, at + width, 0L);
  }

  /** All groups become old. There must be none that is: see {@link #sweep}. */
  public void age() {
    if (old > 0) {
      throw new IllegalStateException(old + " groups are older than the epoch that ends");
    }
    epoch++;
    old = used;
    cursor = 0;
  }

  /** All old groups are to leave. */
  public void sweep() {
    sweeping = true;
  }

  /** All groups are to leave. There must be none that is old. */
  public void flush() {
    age();
    sweep();
  }

  /** Goes to the next group that leaves: whether there is one. */
  public boolean nextEvicted() {
    if (earlyGone < early) {
      return left((slots + earlyGone++) * width);
    }
    early = 0;
    earlyGone = 0;
    if (sweeping) {
      while (old > 0) {
        int slot = cursor++;
        if (isOld(slot)) {
          free(slot);
          return left(slot * width);
        }
      }
      sweeping = false;
    }
    if (lateGone < late) {
      return left((slots + EARLY + lateGone++) * width);
    }
    late = 0;
    lateGone = 0;
    return false;
  }

  /** Where the record of the group that leaves begins in {@link #words}: good until the next probe. */
  public int evictedAt() {
    return evictedAt;
  }

  private boolean left(int at) {
    evictions++;
    evictedAt = at;
    return true;
  }

  private boolean isOld(int slot) {
    return epochs[slot] != FREE && epochs[slot] != epoch;
  }

  private void free(int slot) {
    epochs[slot] = FREE;
    used--;
    old--;
  }

  private void flushOne() {
    while (!isOld(cursor)) {
      cursor++;
    }
    makeWay(cursor++);
  }

  private void makeWay(int slot) {
    System.arraycopy(words, slot * width, words, (slots + early++) * width, width);
    free(slot);
  }

  private void leave(int at) {
    System.arraycopy(words, at, words, (slots + EARLY + late++) * width, width);
  }

  private int take(int slot, long[] key) {
    if (isOld(slot)) {
      makeWay(slot);
    }
    return place(slot, key);
  }

  private int place(int slot, long[] key) {
    int at = slot * width;
    System.arraycopy(key, 0, words, at, keyWords);
    Arrays.fill(words, at + keyWords, at + width, 0L);
    epochs[slot] = epoch;
    used++;
    return at + keyWords;
  }

  private int slot(long hash) {
    return (int) (((hash >>> 32) * slots) >>> 32);
  }

  private boolean isAt(int slot, long[] key) {
    int at = slot * width;
    for (int i = 0; i < keyWords; i++) {
      if (words[at + i] != key[i]) {
        return false;
      }
    }
    return true;
  }
}
