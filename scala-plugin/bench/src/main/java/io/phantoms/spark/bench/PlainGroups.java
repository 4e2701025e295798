package io.phantoms.spark.bench;

import java.util.Arrays;

/**
 * The complete table one would write by hand: open addressing over one array of key, count and sum, at most half full
 * with the groups it was made for.
 */
final class PlainGroups {
  private final int words;
  private final int stride;
  private final int shift;
  private final int mask;
  private final long[] table;

  PlainGroups(int words, int groups) {
    int entries = Integer.highestOneBit(2 * groups - 1) << 1;
    this.words = words;
    this.stride = words + 2;
    this.shift = 64 - Integer.numberOfTrailingZeros(entries);
    this.mask = entries - 1;
    this.table = new long[entries * stride];
  }

  /** Merges records of key words, count and sum into the cleared table; answers how many groups there are. */
  int merge(long[] records) {
    Arrays.fill(table, 0L);
    switch (words) {
      case 1 -> mergeOne(records);
      case 2 -> mergeTwo(records);
      case 4 -> mergeFour(records);
      default -> throw new IllegalArgumentException(words + " key words");
    }
    int groups = 0;
    for (int o = words; o < table.length; o += stride) {
      groups += table[o] != 0 ? 1 : 0;
    }
    return groups;
  }

  private void mergeOne(long[] r) {
    final long[] t = table;
    for (int a = 0; a < r.length; a += 3) {
      final long w = r[a];
      int p = (int) (PlainTable.mix(0, w) * 0xD6E8FEB86659FD93L >>> shift);
      int o = p * 3;
      while (t[o + 1] != 0 && t[o] != w) {
        p = (p + 1) & mask;
        o = p * 3;
      }
      t[o] = w;
      t[o + 1] += r[a + 1];
      t[o + 2] += r[a + 2];
    }
  }

  private void mergeTwo(long[] r) {
    final long[] t = table;
    for (int a = 0; a < r.length; a += 4) {
      final long w = r[a];
      final long x = r[a + 1];
      int p = (int) (PlainTable.mix(PlainTable.mix(0, w), x) * 0xD6E8FEB86659FD93L >>> shift);
      int o = p * 4;
      while (t[o + 2] != 0 && (t[o] != w || t[o + 1] != x)) {
        p = (p + 1) & mask;
        o = p * 4;
      }
      t[o] = w;
      t[o + 1] = x;
      t[o + 2] += r[a + 2];
      t[o + 3] += r[a + 3];
    }
  }

  private void mergeFour(long[] r) {
    final long[] t = table;
    for (int a = 0; a < r.length; a += 6) {
      final long w = r[a];
      final long x = r[a + 1];
      final long y = r[a + 2];
      final long z = r[a + 3];
      final long h = PlainTable.mix(PlainTable.mix(PlainTable.mix(PlainTable.mix(0, w), x), y), z);
      int p = (int) (h * 0xD6E8FEB86659FD93L >>> shift);
      int o = p * 6;
      while (t[o + 4] != 0 && (t[o] != w || t[o + 1] != x || t[o + 2] != y || t[o + 3] != z)) {
        p = (p + 1) & mask;
        o = p * 6;
      }
      t[o] = w;
      t[o + 1] = x;
      t[o + 2] = y;
      t[o + 3] = z;
      t[o + 4] += r[a + 4];
      t[o + 5] += r[a + 5];
    }
  }
}
