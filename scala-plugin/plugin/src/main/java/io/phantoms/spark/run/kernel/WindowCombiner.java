package io.phantoms.spark.run.kernel;

/**
 * Puts sliding windows together from slices: records of one relation, of which a key word holds where its slice begins,
 * become records of windows, where it holds where the window does.
 *
 * Slices of a group come in the order of time. Two stacks hold those of the window: what leaves first is on top of one
 * that holds suffixes already merged, what came last is one sum; a slice is merged into at most one of each, and a window is
 * one merge of the two (DABA's forerunner; runtime rules: at most three merges a slice and one a window).
 */
public final class WindowCombiner {
  private final HftaKernel kernel;
  private final int relation;
  private final QuerySlices slices;
  private final int stride;
  private final int sliceWord;
  private final long range;
  private final long slide;
  private final long phase;

  /** The record of the window at hand; its slice is the window's begin. */
  public final long[] window;

  /** Slices of the group that are in the window as they came, from here to {@code next}: {@code back} is their sum. */
  private int backFrom;

  private final long[] back;

  /** Suffix sums of the slices before those, the one that leaves first on top. */
  private long[] front = new long[0];

  private int frontSize;

  /** The slices of the group at hand are {@code records[next, end)}; those before {@code next} have come. */
  private long[] records;

  private int end;
  private int next;
  private long begin;

  /**
   * @param slices of one group after the other
   * @param phase a window begins at it
   */
  public WindowCombiner(
      HftaKernel kernel, int relation, QuerySlices slices, long range, long slide, long phase) {
    this.kernel = kernel;
    this.relation = relation;
    this.slices = slices;
    this.stride = slices.stride();
    this.sliceWord = slices.sliceWord();
    this.range = range;
    this.slide = slide;
    this.phase = Math.floorMod(phase, slide);
    this.window = new long[stride];
    this.back = new long[stride];
  }

  /** Makes {@link #window} the next one of the group at hand, and answers whether there is one. */
  public boolean advance() {
    while (true) {
      if (begin > Long.MAX_VALUE - slide) {
        // There is no later one.
        frontSize = 0;
        next = end;
        backFrom = end;
      } else {
        begin += slide;
        leave();
      }
      if (frontSize == 0 && backEmpty()) {
        if (next == end) {
          if (!slices.advance()) {
            return false;
          }
          records = slices.records();
          next = slices.from();
          end = slices.until();
          backFrom = next;
        }
        // Between this window and the next slice there may be many without one.
        begin = firstWindowOf(slice(next));
      }
      come();
      if (frontSize > 0 || !backEmpty()) {
        merge();
        return true;
      }
    }
  }

  /** Gives up what a large group took; there is no window at hand. */
  public void release() {
    if (front.length > QuerySlices.KEPT) {
      front = new long[0];
    }
    records = null;
  }

  private long slice(int record) {
    return records[record * stride + sliceWord];
  }

  /**
   * Where the first window begins that a slice is in, or where the next one does if it is in none; of windows only that
   * begin in the range of a long.
   */
  private long firstWindowOf(long slice) {
    long inSlide = Math.floorMod(Math.floorMod(slice, slide) - phase, slide);
    long last = slice - inSlide;
    if (last > slice) {
      // It would begin before the first number.
      return last + slide;
    }
    if (inSlide >= range) {
      return last > Long.MAX_VALUE - slide ? Long.MAX_VALUE : last + slide;
    }
    long before = (range - 1 - inSlide) / slide;
    long most = Long.divideUnsigned(last - Long.MIN_VALUE, slide);
    return last - (Long.compareUnsigned(before, most) < 0 ? before : most) * slide;
  }

  private boolean backEmpty() {
    return backFrom == next;
  }

  /** Slices that begin before the window does. */
  private void leave() {
    while (true) {
      if (frontSize == 0 && !backEmpty() && slice(backFrom) < begin) {
        flip();
      }
      if (frontSize == 0 || frontSlice() >= begin) {
        return;
      }
      frontSize--;
    }
  }

  private long frontSlice() {
    return front[(frontSize - 1) * stride + sliceWord];
  }

  /** All that came becomes suffix sums; those that have left already are not worth a merge. */
  private void flip() {
    int size = next - backFrom;
    if (front.length < size * stride) {
      front = new long[Math.max(size, Math.min(2 * size, Integer.MAX_VALUE / stride - 1)) * stride];
    }
    for (int i = next - 1; i >= backFrom && slice(i) >= begin; i--) {
      int at = frontSize * stride;
      System.arraycopy(records, i * stride, front, at, stride);
      if (frontSize > 0) {
        kernel.combine(relation, front, at, front, at - stride);
        kernel.combined++;
      }
      frontSize++;
    }
    backFrom = next;
  }

  /** Slices that begin before the window ends. */
  private void come() {
    while (next < end) {
      if (slice(next) < begin) {
        // In no window: where these do not meet.
        next++;
        backFrom = next;
        continue;
      }
      if (!PairedSlices.isWithin(slice(next), begin, range)) {
        return;
      }
      if (backEmpty()) {
        System.arraycopy(records, next * stride, back, 0, stride);
      } else {
        kernel.combine(relation, back, 0, records, next * stride);
        kernel.combined++;
      }
      next++;
    }
  }

  private void merge() {
    if (frontSize == 0) {
      System.arraycopy(back, 0, window, 0, stride);
    } else {
      System.arraycopy(front, (frontSize - 1) * stride, window, 0, stride);
      if (!backEmpty()) {
        kernel.combine(relation, window, 0, back, 0);
        kernel.combined++;
      }
    }
    window[sliceWord] = begin;
  }
}
