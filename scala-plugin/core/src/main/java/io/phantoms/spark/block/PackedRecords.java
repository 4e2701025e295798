package io.phantoms.spark.block;

/**
 * The records of a block with as few bits as they need. Each half of a word is a column of its own, since keys of 32 bits
 * lie two in a word: the difference to the column's smallest value (frame of reference) is stored in as many bits as the
 * largest difference takes. What is the same in all records of a block takes none.
 *
 * <p>Layout in words: the smallest values, two halves in each of {@code stride} words; the widths in bits, a byte each, eight
 * in a word, low half before high half; then the columns of some width, low half before high half of each word, each
 * starting at a word of its own.
 */
final class PackedRecords {
  private static final long HALF = 0xFFFFFFFFL;

  private PackedRecords() {}

  private static int widthWords(int stride) {
    return (2 * stride + 7) / 8;
  }

  /** Words before the columns. */
  static int layoutWords(int stride) {
    return stride + widthWords(stride);
  }

  private static int columnWords(int records, int width) {
    return (int) (((long) records * width + 63) / 64);
  }

  /**
   * Finds what packing needs: smallest values and widths go to {@code layout}, as they lie in the block. Answers the words
   * of the packed records.
   */
  static int measure(long[] source, int at, int stride, int records, long[] layout) {
    int packed = layoutWords(stride);
    for (int i = stride; i < packed; i++) {
      layout[i] = 0L;
    }
    int end = at + stride * records;
    for (int w = 0; w < stride; w++) {
      long first = source[at + w];
      long smallLow = first & HALF;
      long largeLow = smallLow;
      long smallHigh = first >>> 32;
      long largeHigh = smallHigh;
      for (int p = at + w; p < end; p += stride) {
        long low = source[p] & HALF;
        long high = source[p] >>> 32;
        smallLow = Math.min(smallLow, low);
        largeLow = Math.max(largeLow, low);
        smallHigh = Math.min(smallHigh, high);
        largeHigh = Math.max(largeHigh, high);
      }
      layout[w] = smallHigh << 32 | smallLow;
      int lowWidth = 64 - Long.numberOfLeadingZeros(largeLow - smallLow);
      int highWidth = 64 - Long.numberOfLeadingZeros(largeHigh - smallHigh);
      layout[stride + w / 4] |= (lowWidth | (long) highWidth << 8) << (w % 4 * 16);
      packed += columnWords(records, lowWidth) + columnWords(records, highWidth);
    }
    return packed;
  }

  private static int width(long widths, int word, int half) {
    return (int) (widths >>> (word % 4 * 16 + 8 * half)) & 0xFF;
  }

  /** Writes the packed records to {@code target}, with the layout that was measured. */
  static void pack(long[] source, int at, int stride, int records, long[] layout, long[] target, int to) {
    int columns = to + layoutWords(stride);
    System.arraycopy(layout, 0, target, to, columns - to);
    for (int w = 0; w < stride; w++) {
      for (int half = 0; half < 2; half++) {
        int width = width(layout[stride + w / 4], w, half);
        if (width > 0) {
          int shift = 32 * half;
          packColumn(source, at + w, stride, records, shift, layout[w] >>> shift & HALF, width, target, columns);
          columns += columnWords(records, width);
        }
      }
    }
  }

  private static void packColumn(
      long[] source, int at, int stride, int records, int shift, long smallest, int width, long[] target, int to) {
    long word = 0;
    int filled = 0;
    int p = at;
    int q = to;
    for (int i = 0; i < records; i++, p += stride) {
      long v = (source[p] >>> shift & HALF) - smallest;
      word |= v << filled;
      filled += width;
      if (filled >= 64) {
        target[q++] = word;
        filled -= 64;
        // At most 32 bits: shifting by all of them when nothing is left over gives 0, as it should.
        word = v >>> (width - filled);
      }
    }
    if (filled > 0) {
      target[q] = word;
    }
  }

  /** Restores records packed at byte {@code from} of {@code data}. */
  static void unpack(byte[] data, int from, int stride, int records, long[] target) {
    int columns = from + 8 * layoutWords(stride);
    for (int w = 0; w < stride; w++) {
      long smallest = BlockFormat.word(data, from + 8 * w);
      long widths = BlockFormat.word(data, from + 8 * (stride + w / 4));
      int low = width(widths, w, 0);
      int high = width(widths, w, 1);
      int end = stride * records;
      if (low == 0) {
        for (int p = w; p < end; p += stride) {
          target[p] = smallest;
        }
      } else {
        unpackColumn(data, columns, low, 0, smallest, 0L, target, w, stride, end);
        columns += 8 * columnWords(records, low);
      }
      if (high > 0) {
        unpackColumn(data, columns, high, 32, 0L, -1L, target, w, stride, end);
        columns += 8 * columnWords(records, high);
      }
    }
  }

  /** Adds a column, shifted, to {@code smallest} and to what {@code keep} leaves of the target. */
  private static void unpackColumn(
      byte[] data,
      int from,
      int width,
      int shift,
      long smallest,
      long keep,
      long[] target,
      int at,
      int stride,
      int end) {
    long mask = (1L << width) - 1;
    long word = BlockFormat.word(data, from);
    int next = from + 8;
    int used = 0;
    for (int p = at; p < end; p += stride) {
      long v = word >>> used;
      used += width;
      if (used >= 64) {
        used -= 64;
        if (used > 0 || p + stride < end) {
          word = BlockFormat.word(data, next);
          next += 8;
          v |= word << (width - used);
        }
      }
      target[p] = (target[p] & keep) + smallest + ((v & mask) << shift);
    }
  }
}
