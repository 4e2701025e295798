package io.phantoms.spark.source.wire;

import java.io.Closeable;
import java.io.IOException;

/** Reads the records of one file, or of a part of one, in order. */
public interface RecordReader extends Closeable {

  /**
   * Goes to the next record.
   *
   * @return whether there is one
   * @throws WireException where the file cannot be read on and the {@link Policy} does not allow for it
   */
  boolean next() throws IOException;

  /** The record that the last {@link #next} went to; the same object every time. */
  WireRecord record();

  /** What was read so far. */
  WireCounters counters();
}
