package io.phantoms.spark.bench;

/**
 * What one would write by hand for one query over arrays: pack the key, hash it, probe a direct-mapped table of key,
 * count and sum, push the entry out that is in the way. No NULLs, no overflow, no other aggregate: the floor.
 */
abstract class PlainTable {
  private static final int SINK = 1 << 12;
  static final long LOW = 0xFFFFFFFFL;

  final long[] table;
  final int shift;
  private final int stride;
  private final long[] sink = new long[SINK];
  private int at;
  private long evicted;

  private PlainTable(int log2Buckets, int stride) {
    this.stride = stride;
    this.shift = 64 - log2Buckets;
    this.table = new long[stride << log2Buckets];
  }

  static PlainTable of(int words, int log2Buckets) {
    return switch (words) {
      case 1 -> new One(log2Buckets);
      case 2 -> new Two(log2Buckets);
      case 4 -> new Four(log2Buckets);
      default -> throw new IllegalArgumentException(words + " key words");
    };
  }

  /** Adds {@code n} rows. */
  abstract void add(int[][] keys, long[] values, int n);

  /** Something that depends on all that was done. */
  final long checksum() {
    return sink[0] + table[0] + at;
  }

  final long evicted() {
    return evicted;
  }

  final void evict(int from) {
    evicted++;
    if (at + stride > SINK) {
      at = 0;
    }
    System.arraycopy(table, from, sink, at, stride);
    at += stride;
  }

  static long mix(long hash, long word) {
    long h = (hash ^ word) * 0x9E3779B97F4A7C15L;
    return h ^ (h >>> 32);
  }

  private static final class One extends PlainTable {
    One(int log2Buckets) {
      super(log2Buckets, 3);
    }

    @Override
    void add(int[][] keys, long[] values, int n) {
      final long[] t = table;
      final int[] a = keys[0];
      final int[] b = keys[1];
      for (int i = 0; i < n; i++) {
        final long w = (a[i] & LOW) | ((long) b[i] << 32);
        final int o = (int) (mix(0, w) * 0xD6E8FEB86659FD93L >>> shift) * 3;
        if (t[o] == w && t[o + 1] != 0) {
          t[o + 1]++;
          t[o + 2] += values[i];
        } else {
          if (t[o + 1] != 0) {
            evict(o);
          }
          t[o] = w;
          t[o + 1] = 1;
          t[o + 2] = values[i];
        }
      }
    }
  }

  private static final class Two extends PlainTable {
    Two(int log2Buckets) {
      super(log2Buckets, 4);
    }

    @Override
    void add(int[][] keys, long[] values, int n) {
      final long[] t = table;
      final int[] a = keys[0];
      final int[] b = keys[1];
      final int[] c = keys[2];
      final int[] d = keys[3];
      for (int i = 0; i < n; i++) {
        final long w = (a[i] & LOW) | ((long) b[i] << 32);
        final long x = (c[i] & LOW) | ((long) d[i] << 32);
        final int o = (int) (mix(mix(0, w), x) * 0xD6E8FEB86659FD93L >>> shift) * 4;
        if (t[o] == w && t[o + 1] == x && t[o + 2] != 0) {
          t[o + 2]++;
          t[o + 3] += values[i];
        } else {
          if (t[o + 2] != 0) {
            evict(o);
          }
          t[o] = w;
          t[o + 1] = x;
          t[o + 2] = 1;
          t[o + 3] = values[i];
        }
      }
    }
  }

  private static final class Four extends PlainTable {
    Four(int log2Buckets) {
      super(log2Buckets, 6);
    }

    @Override
    void add(int[][] keys, long[] values, int n) {
      final long[] t = table;
      final int[] a = keys[0];
      final int[] b = keys[1];
      final int[] c = keys[2];
      final int[] d = keys[3];
      final int[] e = keys[4];
      final int[] f = keys[5];
      final int[] g = keys[6];
      final int[] h = keys[7];
      for (int i = 0; i < n; i++) {
        final long w = (a[i] & LOW) | ((long) b[i] << 32);
        final long x = (c[i] & LOW) | ((long) d[i] << 32);
        final long y = (e[i] & LOW) | ((long) f[i] << 32);
        final long z = (g[i] & LOW) | ((long) h[i] << 32);
        final int o = (int) (mix(mix(mix(mix(0, w), x), y), z) * 0xD6E8FEB86659FD93L >>> shift) * 6;
        if (t[o] == w && t[o + 1] == x && t[o + 2] == y && t[o + 3] == z && t[o + 4] != 0) {
          t[o + 4]++;
          t[o + 5] += values[i];
        } else {
          if (t[o + 4] != 0) {
            evict(o);
          }
          t[o] = w;
          t[o + 1] = x;
          t[o + 2] = y;
          t[o + 3] = z;
          t[o + 4] = 1;
          t[o + 5] = values[i];
        }
      }
    }
  }
}
