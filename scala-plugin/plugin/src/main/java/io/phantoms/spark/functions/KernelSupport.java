package io.phantoms.spark.functions;

import io.phantoms.spark.block.ByteDictionary;
import io.phantoms.spark.block.Hashing;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/** What generated kernels call to move values between Spark's objects and words. */
public final class KernelSupport {
  private static final boolean LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

  private KernelSupport() {}

  public static int intern(ByteDictionary dictionary, UTF8String value) {
    return intern(dictionary, value.getBaseObject(), value.getBaseOffset(), value.numBytes());
  }

  public static int intern(ByteDictionary dictionary, byte[] value) {
    return dictionary.intern(value, 0, value.length);
  }

  public static int intern(ByteDictionary dictionary, UnsafeRow value) {
    return intern(
        dictionary, value.getBaseObject(), value.getBaseOffset(), value.getSizeInBytes());
  }

  private static int intern(ByteDictionary dictionary, Object base, long offset, int length) {
    if (base instanceof byte[]) {
      return dictionary.intern((byte[]) base, (int) (offset - Platform.BYTE_ARRAY_OFFSET), length);
    }
    long hash = hash(base, offset, length);
    int slot = dictionary.firstSlot(hash);
    for (int id = dictionary.idAt(slot); id >= 0; id = dictionary.idAt(slot)) {
      if (dictionary.hash(id) == hash
          && dictionary.length(id) == length
          && ByteArrayMethods.arrayEquals(
              base,
              offset,
              dictionary.chunk(id),
              Platform.BYTE_ARRAY_OFFSET + dictionary.offset(id),
              length)) {
        return id;
      }
      slot = dictionary.nextSlot(slot);
    }
    byte[] copy = new byte[length];
    Platform.copyMemory(base, offset, copy, Platform.BYTE_ARRAY_OFFSET, length);
    return dictionary.intern(copy, 0, length);
  }

  /** {@link Hashing#bytes} of bytes that lie anywhere: in the rows that a join has broadcast, say. */
  private static long hash(Object base, long offset, int length) {
    long h = length;
    int i = 0;
    for (; i + 8 <= length; i += 8) {
      long word = Platform.getLong(base, offset + i);
      h = Hashing.mix(h, LITTLE_ENDIAN ? word : Long.reverseBytes(word));
    }
    if (i < length) {
      long last = 0;
      for (int s = 0; i < length; i++, s += 8) {
        last |= (Platform.getByte(base, offset + i) & 0xFFL) << s;
      }
      h = Hashing.mix(h, last);
    }
    return Hashing.finish(h);
  }

  public static UTF8String string(ByteDictionary dictionary, long id) {
    int i = (int) id;
    return UTF8String.fromBytes(dictionary.chunk(i), dictionary.offset(i), dictionary.length(i));
  }

  public static byte[] binary(ByteDictionary dictionary, long id) {
    int i = (int) id;
    byte[] value = new byte[dictionary.length(i)];
    System.arraycopy(dictionary.chunk(i), dictionary.offset(i), value, 0, value.length);
    return value;
  }

  /** A row of one field. Rows are padded to words, so copying keeps them aligned. */
  public static UnsafeRow row(ByteDictionary dictionary, long id) {
    byte[] bytes = binary(dictionary, id);
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(bytes, bytes.length);
    return row;
  }

  /** Unscaled value of a decimal of at most 18 digits at the scale of its type. */
  public static long unscaled(Decimal value, int precision, int scale) {
    if (value.scale() != scale) {
      Decimal copy = value.clone();
      copy.changePrecision(precision, scale);
      return copy.toUnscaledLong();
    }
    return value.toUnscaledLong();
  }

  /** Unscaled value of a wider decimal, or null where it does not fit its precision: an overflowed sum. */
  public static BigInteger wide(Decimal value, int precision, int scale) {
    BigDecimal d = value.toJavaBigDecimal();
    if (d.scale() != scale) {
      d = d.setScale(scale, java.math.RoundingMode.HALF_UP);
    }
    return d.precision() > precision ? null : d.unscaledValue();
  }

  public static long high(BigInteger unscaled) {
    return unscaled.shiftRight(64).longValue();
  }

  public static Decimal decimal(long high, long low, int precision, int scale) {
    if (high == (low >> 63)) {
      return Decimal.apply(new BigDecimal(BigInteger.valueOf(low), scale), precision, scale);
    }
    byte[] bytes = new byte[16];
    for (int i = 0; i < 8; i++) {
      bytes[i] = (byte) (high >>> (56 - 8 * i));
      bytes[8 + i] = (byte) (low >>> (56 - 8 * i));
    }
    return Decimal.apply(new BigDecimal(new BigInteger(bytes), scale), precision, scale);
  }

  /** A total that has wrapped around more often than can be counted. It stays out of range. */
  private static final int LOST = Integer.MIN_VALUE;

  /** The carry of the sum of two totals whose low words do not wrap around when added. */
  public static int carry(int a, int b) {
    long sum = (long) a + b;
    return a == LOST || b == LOST || sum <= LOST || sum > Integer.MAX_VALUE ? LOST : (int) sum;
  }

  /** The carry once the low words are added, be it that they wrap around. */
  public static int carried(int carry, long left, long right) {
    long sum = left + right;
    if (((left ^ sum) & (right ^ sum)) >= 0) {
      return carry;
    }
    return carry(carry, left < 0 ? -1 : 1);
  }

  /** Unscaled value of a total at the scale of its type, of any number of digits. */
  public static BigInteger total(Decimal value, int scale) {
    BigDecimal d = value.toJavaBigDecimal();
    if (d.scale() != scale) {
      d = d.setScale(scale, java.math.RoundingMode.HALF_UP);
    }
    return d.unscaledValue();
  }

  /** 64 of the bits, word 0 the lowest. */
  public static long word(BigInteger unscaled, int word) {
    if (word == 0) {
      return unscaled.longValue();
    }
    if (unscaled.bitLength() < 64 * word) {
      return unscaled.signum() >> 1;
    }
    return unscaled.shiftRight(64 * word).longValue();
  }

  public static Decimal total(long high, long middle, long low, int scale) {
    if (high == (low >> 63) && middle == high) {
      return Decimal.apply(BigDecimal.valueOf(low, scale));
    }
    byte[] bytes = new byte[24];
    for (int i = 0; i < 8; i++) {
      bytes[i] = (byte) (high >>> (56 - 8 * i));
      bytes[8 + i] = (byte) (middle >>> (56 - 8 * i));
      bytes[16 + i] = (byte) (low >>> (56 - 8 * i));
    }
    return Decimal.apply(new BigDecimal(new BigInteger(bytes), scale));
  }

  /** Wide decimals as dictionary values: the unscaled value at the scale of the type. */
  public static int internDecimal(ByteDictionary dictionary, Decimal value, int precision, int scale) {
    BigInteger unscaled = wide(value, precision, scale);
    return intern(dictionary, unscaled.toByteArray());
  }

  public static Decimal decimal(ByteDictionary dictionary, long id, int precision, int scale) {
    int i = (int) id;
    BigInteger unscaled =
        new BigInteger(dictionary.chunk(i), dictionary.offset(i), dictionary.length(i));
    return Decimal.apply(new BigDecimal(unscaled, scale), precision, scale);
  }
}
