package io.phantoms.spark.block;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Hashes of group keys. A key is a sequence of words; one multiplication a word, and a finishing step each for the two
 * uses, so that the bucket of a group says nothing about the reduce partition it travels to.
 */
public final class Hashing {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  /** Where the hash of a table key starts. */
  public static final long TABLE_SEED = 0x3C6EF372FE94F82BL;

  /** Where the hash of a shard key starts. */
  public static final long SHARD_SEED = 0xA54FF53A5F1D36F1L;

  private Hashing() {}

  /** Adds one word to a running hash. */
  public static long mix(long hash, long word) {
    long h = (hash ^ word) * GOLDEN;
    return h ^ (h >>> 32);
  }

  /** Finishes a table hash: its highest bits pick the bucket, its lowest 32 serve as a tag. */
  public static long finish(long hash) {
    long h = hash * 0xD6E8FEB86659FD93L;
    return h ^ (h >>> 32);
  }

  /** Another position in a table for the group of a finished hash: from its high bits, as the first one. */
  public static long second(long hash) {
    return hash * GOLDEN;
  }

  /** Spreads a shard hash evenly over `shards` numbers from 0. */
  public static int shard(long hash, int shards) {
    long h = (hash ^ (hash >>> 29)) * 0xBF58476D1CE4E5B9L;
    return (int) (((h >>> 32) * shards) >>> 32);
  }

  /** Hash of a byte range. */
  public static long bytes(byte[] data, int offset, int length) {
    long h = length;
    int i = 0;
    for (; i + 8 <= length; i += 8) {
      h = mix(h, (long) LONG.get(data, offset + i));
    }
    if (i < length) {
      long last = 0;
      for (int s = 0; i < length; i++, s += 8) {
        last |= (data[offset + i] & 0xFFL) << s;
      }
      h = mix(h, last);
    }
    return finish(h);
  }
}
