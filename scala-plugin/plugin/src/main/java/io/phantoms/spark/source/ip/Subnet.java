package io.phantoms.spark.source.ip;

import java.io.Serializable;

/**
 * Addresses that agree in their first bits. Those of the other family are outside of it, IPv4 addresses within IPv6 ones
 * included.
 *
 * @param length 4 or 16, the bytes of its addresses
 * @param high the upper 64 bits of an IPv6 subnet; 0 for IPv4
 * @param low the lower 64 bits, or the 32 bits of an IPv4 one
 * @param highMask which of the upper bits count
 * @param lowMask which of the lower ones
 */
public record Subnet(int length, long high, long low, long highMask, long lowMask) implements Serializable {

  /** The subnet of a text such as 10.0.0.0/8; one address where there is no slash. Bits behind the prefix do not count. */
  public static Subnet parse(String text) {
    int slash = text.indexOf('/');
    byte[] address = IpText.parse(slash < 0 ? text : text.substring(0, slash));
    if (address == null) {
      throw wrong(text, "has no IP address before the slash");
    }
    int most = address.length * 8;
    int bits = slash < 0 ? most : prefix(text, text.substring(slash + 1), most);
    if (address.length == 4) {
      long mask = bits == 0 ? 0 : 0xFFFFFFFFL << (32 - bits) & 0xFFFFFFFFL;
      return new Subnet(4, 0, IpText.word(address, 0, 4) & mask, 0, mask);
    }
    long highMask = mask(Math.min(bits, 64));
    long lowMask = mask(Math.max(bits - 64, 0));
    long high = IpText.word(address, 0, 8) & highMask;
    return new Subnet(16, high, IpText.word(address, 8, 8) & lowMask, highMask, lowMask);
  }

  private static long mask(int bits) {
    return bits == 0 ? 0 : -1L << (64 - bits);
  }

  private static int prefix(String text, String digits, int most) {
    boolean number = !digits.isEmpty() && digits.length() <= 3 && digits.chars().allMatch(c -> c >= '0' && c <= '9');
    if (!number || Integer.parseInt(digits) > most) {
      throw wrong(text, "has no prefix length from 0 to " + most + " behind the slash");
    }
    return Integer.parseInt(digits);
  }

  private static IllegalArgumentException wrong(String text, String what) {
    return new IllegalArgumentException(
        "'" + text + "' is no subnet: it " + what + ". Write it as '10.0.0.0/8' or '2001:db8::/32'.");
  }

  /** Whether an address is in it. */
  public boolean contains(int addressLength, long addressHigh, long addressLow) {
    return addressLength == length && (addressHigh & highMask) == high && (addressLow & lowMask) == low;
  }

  /** Whether an IPv4 address is in it, of which these are the 32 bits. */
  public boolean contains(int address) {
    return contains(4, 0, address & 0xFFFFFFFFL);
  }

  /** Whether an address of 4 or 16 bytes is in it; one of another length is not. */
  public boolean contains(byte[] address) {
    if (address.length != length) {
      return false;
    }
    return length == 4
        ? contains(4, 0, IpText.word(address, 0, 4))
        : contains(16, IpText.word(address, 0, 8), IpText.word(address, 8, 8));
  }
}
