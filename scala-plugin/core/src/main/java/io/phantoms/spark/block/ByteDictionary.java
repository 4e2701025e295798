package io.phantoms.spark.block;

import java.util.Arrays;

import io.phantoms.spark.memory.MemoryReserve;

/**
 * Variable-length values (strings, binary, whole rows) as dense ids from 0, so that tables hold fixed-width words only.
 * Values live in chunks and never move; ids are handed out in order of first appearance.
 */
public final class ByteDictionary {
  private static final int CHUNK = 1 << 18;

  private final MemoryReserve memory;
  private byte[][] chunks = new byte[4][];
  private int chunkCount;
  private int chunkUsed;
  private int[] chunkOf = new int[64];
  private int[] offsetOf = new int[64];
  private int[] lengthOf = new int[64];
  private long[] hashOf = new long[64];
  private int[] slots = new int[256];
  private int size;
  private long reserved;

  /** @param memory asked before each growth */
  public ByteDictionary(MemoryReserve memory) {
    this.memory = memory;
  }

  public int size() {
    return size;
  }

  /** Bytes reserved for values and index. */
  public long bytes() {
    return reserved;
  }

  public byte[] chunk(int id) {
    return chunks[chunkOf[id]];
  }

  public int offset(int id) {
    return offsetOf[id];
  }

  public int length(int id) {
    return lengthOf[id];
  }

  /** Hash of the value's content: equal in every task, unlike the id. */
  public long hash(int id) {
    return hashOf[id];
  }

  /** Where the search for a value of this hash starts. */
  public int firstSlot(long hash) {
    return (int) (hash >>> 32) & (slots.length - 1);
  }

  /** Where it goes on. */
  public int nextSlot(int slot) {
    return (slot + 1) & (slots.length - 1);
  }

  /** The id that was found; -1: the value is not there. */
  public int idAt(int slot) {
    return slots[slot] - 1;
  }

  /** The id of a byte range; its content is copied when seen for the first time. */
  public int intern(byte[] source, int offset, int length) {
    long h = Hashing.bytes(source, offset, length);
    int mask = slots.length - 1;
    int p = (int) (h >>> 32) & mask;
    while (true) {
      int id = slots[p] - 1;
      if (id < 0) {
        return add(source, offset, length, h, p);
      }
      if (hashOf[id] == h
          && lengthOf[id] == length
          && Arrays.equals(
              chunk(id), offsetOf[id], offsetOf[id] + length, source, offset, offset + length)) {
        return id;
      }
      p = (p + 1) & mask;
    }
  }

  // Room is made before anything is written: when memory is refused the dictionary is as it was.
  private int add(byte[] source, int offset, int length, long hash, int slot) {
    if (size == lengthOf.length) {
      growEntries();
    }
    if (chunkCount == 0 || chunkUsed + length > chunks[chunkCount - 1].length) {
      addChunk(length);
    }
    int free = slot;
    if (2 * (size + 1) > slots.length) {
      growSlots();
      free = (int) (hash >>> 32) & (slots.length - 1);
      while (slots[free] != 0) {
        free = (free + 1) & (slots.length - 1);
      }
    }
    System.arraycopy(source, offset, chunks[chunkCount - 1], chunkUsed, length);
    chunkOf[size] = chunkCount - 1;
    offsetOf[size] = chunkUsed;
    lengthOf[size] = length;
    hashOf[size] = hash;
    chunkUsed += length;
    slots[free] = ++size;
    return size - 1;
  }

  private void addChunk(int atLeast) {
    int bytes = Math.max(CHUNK, atLeast);
    reserve(bytes);
    if (chunkCount == chunks.length) {
      chunks = Arrays.copyOf(chunks, 2 * chunkCount);
    }
    chunks[chunkCount++] = new byte[bytes];
    chunkUsed = 0;
  }

  private void growEntries() {
    int n = 2 * lengthOf.length;
    reserve(20L * lengthOf.length);
    chunkOf = Arrays.copyOf(chunkOf, n);
    offsetOf = Arrays.copyOf(offsetOf, n);
    lengthOf = Arrays.copyOf(lengthOf, n);
    hashOf = Arrays.copyOf(hashOf, n);
  }

  private void growSlots() {
    reserve(4L * slots.length);
    int[] wider = new int[2 * slots.length];
    int mask = wider.length - 1;
    for (int id = 0; id < size; id++) {
      int p = (int) (hashOf[id] >>> 32) & mask;
      while (wider[p] != 0) {
        p = (p + 1) & mask;
      }
      wider[p] = id + 1;
    }
    slots = wider;
  }

  private void reserve(long bytes) {
    memory.reserve(bytes);
    reserved += bytes;
  }

  /** Forgets every value; ids start from 0 again. */
  public void clear() {
    memory.release(reserved);
    reserved = 0;
    chunks = new byte[4][];
    chunkCount = 0;
    chunkUsed = 0;
    chunkOf = new int[64];
    offsetOf = new int[64];
    lengthOf = new int[64];
    hashOf = new long[64];
    slots = new int[256];
    size = 0;
  }
}
