package io.phantoms.spark.source.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Numbers in arrays of bytes; in network order unless said otherwise. */
final class Bytes {
  private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LITTLE_INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private Bytes() {}

  static int u8(byte[] b, int at) {
    return b[at] & 0xff;
  }

  static int u16(byte[] b, int at) {
    return (short) SHORT.get(b, at) & 0xffff;
  }

  static int i32(byte[] b, int at) {
    return (int) INT.get(b, at);
  }

  static long u32(byte[] b, int at) {
    return (int) INT.get(b, at) & 0xffffffffL;
  }

  static long i64(byte[] b, int at) {
    return (long) LONG.get(b, at);
  }

  /** In the order of the machine that wrote it. */
  static int i32(byte[] b, int at, boolean little) {
    int value = (int) LITTLE_INT.get(b, at);
    return little ? value : Integer.reverseBytes(value);
  }

  /** In the order of the machine that wrote it. */
  static int u16(byte[] b, int at, boolean little) {
    int value = u16(b, at);
    return little ? (value & 0xff) << 8 | value >>> 8 : value;
  }
}
