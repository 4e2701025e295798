package io.phantoms.spark.source.read;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** An address's words as the bytes of a value, in one array for all of them. */
final class AddressBytes {
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  final byte[] bytes = new byte[16];

  /** Puts the address into {@link #bytes}: how many those are. */
  int put(int length, long high, long low) {
    if (length == 4) {
      INT.set(bytes, 0, (int) low);
    } else {
      LONG.set(bytes, 0, high);
      LONG.set(bytes, 8, low);
    }
    return length;
  }
}
