package io.phantoms.spark.table;

/**
 * Sorts records where they lie, by some of their words: no memory is needed beside them. Quicksort, with heapsort where
 * that goes astray.
 */
public final class RecordSort {
  /** Records up to which insertion is fastest. */
  private static final int FEW = 12;

  private final long[] records;
  private final int stride;
  private final int[] words;
  private final long[] masks;
  private final long[] held;

  /**
   * @param records records of {@code stride} words each
   * @param words by which words of a record to sort, the first one first
   * @param masks which bits of each of these words count; they are compared as signed numbers
   */
  public RecordSort(long[] records, int stride, int[] words, long[] masks) {
    this.records = records;
    this.stride = stride;
    this.words = words;
    this.masks = masks;
    this.held = new long[stride];
  }

  /** Sorts the first {@code count} records. */
  public void sort(int count) {
    quick(0, count, 2 * (32 - Integer.numberOfLeadingZeros(count)));
  }

  private void quick(int from, int until, int depth) {
    while (until - from > FEW) {
      if (depth-- == 0) {
        heap(from, until);
        return;
      }
      int p = partition(from, until);
      // The smaller half first: the stack stays short.
      if (p - from < until - p - 1) {
        quick(from, p, depth);
        from = p + 1;
      } else {
        quick(p + 1, until, depth);
        until = p;
      }
    }
    insertion(from, until);
  }

  /** Parts records around one of them, and answers where that is then. */
  private int partition(int from, int until) {
    int middle = (from + until) >>> 1;
    order(from, middle);
    order(middle, until - 1);
    order(from, middle);
    swap(middle, from);
    int i = from;
    int j = until;
    while (true) {
      do {
        i++;
      } while (i < until && compare(i, from) < 0);
      do {
        j--;
      } while (compare(j, from) > 0);
      if (i >= j) {
        swap(from, j);
        return j;
      }
      swap(i, j);
    }
  }

  private void order(int a, int b) {
    if (compare(b, a) < 0) {
      swap(a, b);
    }
  }

  private void insertion(int from, int until) {
    for (int i = from + 1; i < until; i++) {
      int at = i;
      while (at > from && compare(at - 1, i) > 0) {
        at--;
      }
      if (at < i) {
        System.arraycopy(records, i * stride, held, 0, stride);
        System.arraycopy(records, at * stride, records, (at + 1) * stride, (i - at) * stride);
        System.arraycopy(held, 0, records, at * stride, stride);
      }
    }
  }

  private void heap(int from, int until) {
    int count = until - from;
    for (int i = count / 2 - 1; i >= 0; i--) {
      sink(from, i, count);
    }
    for (int last = count - 1; last > 0; last--) {
      swap(from, from + last);
      sink(from, 0, last);
    }
  }

  private void sink(int from, int i, int count) {
    while (true) {
      int child = 2 * i + 1;
      if (child >= count) {
        return;
      }
      if (child + 1 < count && compare(from + child, from + child + 1) < 0) {
        child++;
      }
      if (compare(from + i, from + child) >= 0) {
        return;
      }
      swap(from + i, from + child);
      i = child;
    }
  }

  private int compare(int a, int b) {
    int x = a * stride;
    int y = b * stride;
    for (int w = 0; w < words.length; w++) {
      int c = Long.compare(records[x + words[w]] & masks[w], records[y + words[w]] & masks[w]);
      if (c != 0) {
        return c;
      }
    }
    return 0;
  }

  private void swap(int a, int b) {
    if (a != b) {
      System.arraycopy(records, a * stride, held, 0, stride);
      System.arraycopy(records, b * stride, records, a * stride, stride);
      System.arraycopy(held, 0, records, b * stride, stride);
    }
  }
}
