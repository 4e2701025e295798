package io.phantoms.spark.source.read;

import java.io.Serializable;

/**
 * A column that records are grouped by, as it is or by slices of so many microseconds, one or two to a width.
 *
 * @param column a time where there are slices
 * @param width after which slices repeat; 0: values are grouped by as they are
 * @param start where a slice begins
 * @param first how long the first of two slices is; 0: there is one
 */
public record GroupColumn(RecordColumn column, long width, long start, long first) implements Serializable {
  // Beyond it the edges of slices may be no numbers.
  private static final long FAR = 1L << 61;

  /** A column whose values are grouped by as they are. */
  public static GroupColumn of(RecordColumn column) {
    return new GroupColumn(column, 0, 0, 0);
  }

  /** Where the slice of a time begins; a time that is too far away is left as it is, whoever reads it meets that. */
  long slice(long time) {
    if (width == 0 || time > FAR || time < -FAR) {
      return time;
    }
    long within = Math.floorMod(time - start, width);
    return time - (within < first ? within : within - first);
  }

  static RecordColumn[] columns(GroupColumn[] columns) {
    RecordColumn[] read = new RecordColumn[columns.length];
    for (int i = 0; i < columns.length; i++) {
      read[i] = columns[i].column;
    }
    return read;
  }
}
