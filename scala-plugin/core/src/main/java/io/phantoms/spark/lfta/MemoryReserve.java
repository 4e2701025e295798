package io.phantoms.spark.lfta;

/** Where tables ask for memory before they allocate it. */
public interface MemoryReserve {

  /** Reserves `bytes` more, or throws; nothing is reserved when it throws. */
  void reserve(long bytes);

  /** Gives `bytes` back. */
  void release(long bytes);
}
