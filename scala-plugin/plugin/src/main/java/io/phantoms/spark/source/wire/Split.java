package io.phantoms.spark.source.wire;

import java.io.Serializable;
import java.util.List;

/**
 * A part of a file: the records whose first byte lies in it.
 *
 * @param start its first byte
 * @param end the first byte behind it
 * @param headers where the blocks are that a reader has to know before it begins (pcapng's section header and
 *     interfaces); null where nobody has looked, empty where there are none; where somebody has, a record begins at
 *     {@code start}
 */
public record Split(long start, long end, List<Long> headers) implements Serializable {

  /** A part of a file that nobody has looked into. */
  public Split(long start, long end) {
    this(start, end, null);
  }
}
