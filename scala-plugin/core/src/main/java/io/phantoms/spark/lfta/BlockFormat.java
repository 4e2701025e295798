package io.phantoms.spark.lfta;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * What crosses the shuffle: dense blocks of records of one relation.
 *
 * <p>A block is: relation (int), records (int), dictionary values (int), zero (int); the records, each a fixed number of
 * words; the dictionary values, each its length (int) and bytes, the whole padded to 8 bytes with zeros. Dictionary ids
 * in the records are ordinals into the block's own dictionary. Everything is little-endian and a pure function of the
 * records added, as Spark's shuffle checksum needs.
 */
public final class BlockFormat {
  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** Bytes before the first record. */
  public static final int HEADER = 16;

  private BlockFormat() {}

  public static int relation(byte[] data, int block) {
    return (int) INT.get(data, block);
  }

  public static int records(byte[] data, int block) {
    return (int) INT.get(data, block + 4);
  }

  public static int values(byte[] data, int block) {
    return (int) INT.get(data, block + 8);
  }

  static void header(byte[] data, int block, int relation, int records, int values) {
    INT.set(data, block, relation);
    INT.set(data, block + 4, records);
    INT.set(data, block + 8, values);
    INT.set(data, block + 12, 0);
  }

  /** Copies a block's records into words, which must have room for them. */
  public static void readRecords(byte[] data, int block, int words, long[] into) {
    int at = block + HEADER;
    for (int i = 0; i < words; i++, at += 8) {
      into[i] = (long) LONG.get(data, at);
    }
  }

  /** Interns a block's dictionary; entry i of the answer is the id of the block's value i. */
  public static int[] readValues(byte[] data, int block, int words, ByteDictionary dictionary) {
    int[] ids = new int[values(data, block)];
    int at = block + HEADER + 8 * words;
    for (int i = 0; i < ids.length; i++) {
      int length = (int) INT.get(data, at);
      ids[i] = dictionary.intern(data, at + 4, length);
      at += 4 + length;
    }
    return ids;
  }
}
