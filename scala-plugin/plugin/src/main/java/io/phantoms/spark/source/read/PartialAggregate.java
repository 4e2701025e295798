package io.phantoms.spark.source.read;

import java.io.Serializable;

/**
 * An aggregate of which a group's record holds a part.
 *
 * @param function which
 * @param column of what; null for COUNT(*)
 */
public record PartialAggregate(Function function, RecordColumn column) implements Serializable {
  /** What the parts of can be put together by SUM, MIN or MAX. */
  public enum Function {
    COUNT,
    SUM,
    /** SUM of INTs whose parts a DOUBLE holds exactly. */
    EXACT_SUM,
    MIN,
    MAX
  }
}
