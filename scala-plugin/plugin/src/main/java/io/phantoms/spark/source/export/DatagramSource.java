package io.phantoms.spark.source.export;

import java.io.Closeable;
import java.io.IOException;

/**
 * Datagrams one after another. What the source passes over on its own account (bytes of no datagram, packets of other
 * ports) it counts itself, in the counters that it shares with the {@link ExportReader}; the reader counts datagrams.
 */
public interface DatagramSource extends Datagram, Closeable {

  /**
   * Goes to the next datagram, or to the next place where there should be one and is none: see {@link #problem}.
   *
   * @return whether there is one
   */
  boolean next() throws IOException;

  /** What was wrong where no datagram could be found ({@link #offset} says where), or null if there is one. */
  default String problem() {
    return null;
  }
}
