package io.phantoms.spark.block;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * What crosses the shuffle: dense blocks of records of one relation.
 *
 * <p>A block is a sequence of words in the machine's byte order: relation (low half) and number of records (high half);
 * number of dictionary values (low half) and, where they are packed, of words the records take (high half, 0: not packed);
 * the records, each a fixed number of words or as {@link PackedRecords} has them; the dictionary values, each its length in bytes
 * (one word) and its bytes, padded to a word with zeros. Dictionary ids in the records are ordinals into the block's own
 * dictionary. A value of one record alone (a body) stands among them, marked in the word of its length. A block is a pure function of the records added, as Spark's shuffle checksum needs.
 *
 * <p>Blocks are written as words and read as the bytes that Spark's shuffle hands over.
 */
public final class BlockFormat {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  /** Words before the first record. */
  public static final int HEADER_WORDS = 2;

  /** In the word of a value's length: it is a body. */
  private static final long BODY = 1L << 62;

  private BlockFormat() {}

  static long word(byte[] data, int at) {
    return (long) LONG.get(data, at);
  }

  public static int relation(byte[] data, int block) {
    return (int) word(data, block);
  }

  public static int records(byte[] data, int block) {
    return (int) (word(data, block) >>> 32);
  }

  public static int values(byte[] data, int block) {
    return (int) word(data, block + 8);
  }

  private static int packedWords(byte[] data, int block) {
    return (int) (word(data, block + 8) >>> 32);
  }

  /** Reads a block's records, of {@code stride} words each. */
  public static void readRecords(byte[] data, int block, int stride, long[] target) {
    int at = block + 8 * HEADER_WORDS;
    int records = records(data, block);
    if (packedWords(data, block) > 0) {
      PackedRecords.unpack(data, at, stride, records, target);
    } else {
      ByteBuffer.wrap(data, at, 8 * stride * records)
          .order(ByteOrder.nativeOrder())
          .asLongBuffer()
          .get(target, 0, stride * records);
    }
  }

  static void header(long[] data, int block, int relation, int records, int values, int packedWords) {
    data[block] = ((long) records << 32) | relation;
    data[block + 1] = ((long) packedWords << 32) | values;
  }

  /** Words a dictionary value takes. */
  static int valueWords(int length) {
    return 1 + (length + 7) / 8;
  }

  static void writeValue(long[] data, int at, byte[] source, int offset, int length) {
    data[at] = length;
    int i = 0;
    for (; i + 8 <= length; i += 8) {
      data[++at] = (long) LONG.get(source, offset + i);
    }
    if (i < length) {
      byte[] tail = new byte[8];
      System.arraycopy(source, offset + i, tail, 0, length - i);
      data[++at] = (long) LONG.get(tail, 0);
    }
  }

  static void writeBody(long[] data, int at, byte[] body) {
    writeValue(data, at, body, 0, body.length);
    data[at] |= BODY;
  }

  /** A body, which stands where {@link #readValues} says. */
  public static byte[] readBody(byte[] data, int at) {
    return Arrays.copyOfRange(data, at, at + (int) word(data, at - 8));
  }

  /**
   * Interns a block's dictionary; entry i of the answer is the id of the block's value i or, if that is a body, where in
   * {@code data} it begins.
   */
  public static int[] readValues(byte[] data, int block, int stride, ByteDictionary dictionary) {
    int[] ids = new int[values(data, block)];
    int packed = packedWords(data, block);
    int at = block + 8 * (HEADER_WORDS + (packed > 0 ? packed : stride * records(data, block)));
    for (int i = 0; i < ids.length; i++) {
      int length = (int) word(data, at);
      ids[i] = (word(data, at) & BODY) != 0 ? at + 8 : dictionary.intern(data, at + 8, length);
      at += 8 * valueWords(length);
    }
    return ids;
  }
}
