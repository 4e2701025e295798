package io.phantoms.spark.source.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Numbers in arrays of bytes; in network order unless said otherwise. */
public final class Bytes {
  private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LITTLE_INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private Bytes() {}

  static int u8(byte[] b, int at) {
    return b[at] & 0xff;
  }

  public static int u16(byte[] b, int at) {
    return (short) SHORT.get(b, at) & 0xffff;
  }

  static int i32(byte[] b, int at) {
    return (int) INT.get(b, at);
  }

  public static long u32(byte[] b, int at) {
    return (int) INT.get(b, at) & 0xffffffffL;
  }

  public static long i64(byte[] b, int at) {
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

  /** An unsigned number of 1 to 8 bytes; one of 8 may have the sign bit set. */
  public static long unsigned(byte[] b, int at, int length) {
    switch (length) {
      case 1:
        return b[at] & 0xffL;
      case 2:
        return u16(b, at);
      case 4:
        return u32(b, at);
      case 8:
        return i64(b, at);
      default:
        long value = 0;
        for (int i = at; i < at + length; i++) {
          value = value << 8 | b[i] & 0xff;
        }
        return value;
    }
  }

  public static boolean allZero(byte[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      if (b[i] != 0) {
        return false;
      }
    }
    return true;
  }

  /** The bytes in hexadecimal, for messages. */
  public static String hex(byte[] b, int from, int to) {
    StringBuilder text = new StringBuilder();
    for (int i = from; i < to; i++) {
      text.append(i == from ? "" : " ").append(String.format("%02x", b[i]));
    }
    return text.toString();
  }
}
