package io.phantoms.spark.fragments;

import java.util.Arrays;
import java.util.Comparator;

/**
 * What the value of one expression says about many predicates that compare it with constants: the grouped filter that
 * On-the-fly sharing (section 6.1) takes for granted. The constants are sorted once; where a value lies among them is its
 * position, and says of each predicate whether its comparisons are TRUE.
 *
 * <p>Of m constants, position 2 i + 1 is that of the i-th one, 2 i that of what lies before it, 2 m that of what lies
 * behind them all, and 2 m + 1 that of NULL.
 */
public final class PredicateIndex implements java.io.Serializable {
  private final Object constants;
  private final Comparator<Object> order;
  private final int size;
  private final long[][] holds;

  /**
   * @param constants ascending, distinct: a long[], a double[] without -0.0, or objects
   * @param order of objects; serializable
   * @param holds by position, a bit a predicate: its comparisons are TRUE, or it has none with this expression
   */
  public PredicateIndex(
      Object constants, Comparator<Object> order, long[][] holds) {
    this.constants = constants;
    this.order = order;
    this.size = java.lang.reflect.Array.getLength(constants);
    this.holds = holds;
  }

  public long[] holds(int position) {
    return holds[position];
  }

  public int positionOfNull() {
    return 2 * size + 1;
  }

  public int position(long value) {
    return found(Arrays.binarySearch((long[]) constants, value));
  }

  /** NaN is the largest of all, as in SQL, and -0.0 what 0.0 is. */
  public int position(double value) {
    return found(Arrays.binarySearch((double[]) constants, value + 0.0));
  }

  public int position(Object value) {
    return found(Arrays.binarySearch((Object[]) constants, value, order));
  }

  private static int found(int at) {
    return at >= 0 ? 2 * at + 1 : -2 * (at + 1);
  }
}
