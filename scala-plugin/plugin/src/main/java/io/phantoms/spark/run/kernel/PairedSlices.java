package io.phantoms.spark.run.kernel;

/**
 * The slices that one window is put together from (On-the-fly sharing, section 3.2), where records are of finer ones: of
 * those that it has in common with other windows.
 */
public final class PairedSlices {
  private final long slide;
  private final long phase;

  /** How long the first of two slices of a slide is; 0: there is one. */
  private final long first;

  private final long safe;
  private long width;

  /**
   * @param phase a window begins at it
   * @param safe times, from 1970, up to which numbers stay in their range; slices beyond are taken as they are
   */
  public PairedSlices(long range, long slide, long phase, long safe) {
    this.slide = slide;
    this.phase = Math.floorMod(phase, slide);
    this.first = range % slide;
    this.safe = safe;
  }

  /** When the slice begins that {@code time} is in; {@link #width()} is how long it is then. */
  public long begin(long time) {
    if (time > safe || time < -safe) {
      width = 1;
      return time;
    }
    long begin = time - Math.floorMod(time - phase, slide);
    if (first > 0 && time - begin >= first) {
      width = slide - first;
      return begin + first;
    }
    width = first > 0 ? first : slide;
    return begin;
  }

  public long width() {
    return width;
  }

  /** Whether a time that is no earlier than {@code begin} is less than {@code width} after it, be it ages. */
  static boolean isWithin(long time, long begin, long width) {
    return Long.compareUnsigned(time - begin, width) < 0;
  }
}
