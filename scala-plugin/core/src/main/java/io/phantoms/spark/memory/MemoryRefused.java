package io.phantoms.spark.memory;

/** A reservation that was not granted. What asked for it is unchanged and can go on once memory was freed. */
public final class MemoryRefused extends RuntimeException {
  /** What was asked for, in bytes. */
  public final long bytes;

  public MemoryRefused(long bytes, String message) {
    super(message, null, false, false);
    this.bytes = bytes;
  }
}
