package io.phantoms.spark.memory;

/** Where tables ask for memory before they allocate it. */
public interface MemoryReserve {

  /** Reserves {@code bytes} more, or throws {@link MemoryRefused}; nothing is reserved when it throws. */
  void reserve(long bytes);

  /** Gives {@code bytes} back. */
  void release(long bytes);
}
