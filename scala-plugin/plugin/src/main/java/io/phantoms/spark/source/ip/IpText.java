package io.phantoms.spark.source.ip;

import java.nio.charset.StandardCharsets;

/** IP addresses as text: IPv4 in dotted decimals, IPv6 by RFC 4291; what is written is as RFC 5952 recommends. */
public final class IpText {
  private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
  private static final int LONGEST = 45;
  private static final int GROUPS = 8;
  private static final long MAPPED = 0xFFFFL;

  private IpText() {}

  /** The address of a text, 4 or 16 bytes in network order; null where it is none. */
  public static byte[] parse(byte[] text) {
    if (text.length == 0 || text.length > LONGEST) {
      return null;
    }
    for (byte b : text) {
      if (b == ':') {
        return parseV6(text);
      }
    }
    byte[] address = new byte[4];
    return parseV4(text, 0, address, 0) ? address : null;
  }

  /** As {@link #parse(byte[])}. */
  public static byte[] parse(String text) {
    return parse(text.getBytes(StandardCharsets.UTF_8));
  }

  // No leading zeros: some read them as octal.
  private static boolean parseV4(byte[] text, int from, byte[] to, int at) {
    int i = from;
    for (int part = 0; part < 4; part++) {
      if (part > 0 && (i >= text.length || text[i++] != '.')) {
        return false;
      }
      int start = i;
      int value = 0;
      while (i < text.length && text[i] >= '0' && text[i] <= '9' && i - start < 4) {
        value = value * 10 + text[i++] - '0';
      }
      if (i == start || value > 255 || (i - start > 1 && text[start] == '0')) {
        return false;
      }
      to[at + part] = (byte) value;
    }
    return i == text.length;
  }

  private static byte[] parseV6(byte[] text) {
    byte[] address = new byte[16];
    int filled = 0;
    int gap = -1;
    int i = 0;
    if (text[0] == ':') {
      if (text.length < 2 || text[1] != ':') {
        return null;
      }
      gap = 0;
      i = 2;
    }
    while (i < text.length) {
      int start = i;
      int value = 0;
      while (i < text.length && digit(text[i]) >= 0 && i - start < 5) {
        value = (value << 4) | digit(text[i++]);
      }
      if (i < text.length && text[i] == '.') {
        if (filled > 12 || !parseV4(text, start, address, filled)) {
          return null;
        }
        filled += 4;
        break;
      }
      if (i == start || i - start > 4 || filled > 14) {
        return null;
      }
      address[filled++] = (byte) (value >>> 8);
      address[filled++] = (byte) value;
      if (i == text.length) {
        break;
      }
      if (text[i++] != ':' || i == text.length) {
        return null;
      }
      if (text[i] == ':') {
        if (gap >= 0) {
          return null;
        }
        gap = filled;
        i++;
      }
    }
    if (gap < 0) {
      return filled == 16 ? address : null;
    }
    if (filled > 14) {
      return null;
    }
    int tail = filled - gap;
    System.arraycopy(address, gap, address, 16 - tail, tail);
    for (int k = gap; k < 16 - tail; k++) {
      address[k] = 0;
    }
    return address;
  }

  private static int digit(byte b) {
    if (b >= '0' && b <= '9') {
      return b - '0';
    }
    int lower = b | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  }

  /** The text of an address of 4 or 16 bytes; null where it has another length. */
  public static byte[] of(byte[] address) {
    switch (address.length) {
      case 4:
        return ofV4(word(address, 0, 4));
      case 16:
        return ofV6(word(address, 0, 8), word(address, 8, 8));
      default:
        return null;
    }
  }

  /** The text of an address of 4 or 16 bytes: {@code low} has the 32 bits of an IPv4 one. */
  public static byte[] of(int length, long high, long low) {
    return length == 4 ? ofV4(low) : ofV6(high, low);
  }

  /** The text of the IPv4 address that is these 32 bits. */
  public static byte[] ofV4(long bits) {
    byte[] text = new byte[15];
    return trimmed(text, putV4(bits, text, 0));
  }

  /** The text of the IPv6 address that is these 128 bits. */
  public static byte[] ofV6(long high, long low) {
    byte[] text = new byte[LONGEST];
    int end = 0;
    if (high == 0 && low >>> 32 == MAPPED) {
      for (byte b : "::ffff:".getBytes(StandardCharsets.US_ASCII)) {
        text[end++] = b;
      }
      return trimmed(text, putV4(low & 0xFFFFFFFFL, text, end));
    }
    int gap = -1;
    int gapLength = 1;
    for (int g = 0; g < GROUPS; g++) {
      int run = 0;
      while (g + run < GROUPS && group(high, low, g + run) == 0) {
        run++;
      }
      if (run > gapLength) {
        gap = g;
        gapLength = run;
      }
      g += run;
    }
    for (int g = 0; g < GROUPS; g++) {
      if (g == gap) {
        text[end++] = ':';
        text[end++] = ':';
        g += gapLength - 1;
      } else {
        if (g > 0 && text[end - 1] != ':') {
          text[end++] = ':';
        }
        end = putHex(group(high, low, g), text, end);
      }
    }
    return trimmed(text, end);
  }

  private static int group(long high, long low, int g) {
    return (int) ((g < 4 ? high >>> (48 - 16 * g) : low >>> (112 - 16 * g)) & 0xFFFF);
  }

  private static int putV4(long bits, byte[] text, int from) {
    int at = from;
    for (int shift = 24; shift >= 0; shift -= 8) {
      int part = (int) (bits >>> shift) & 0xFF;
      if (part >= 100) {
        text[at++] = (byte) ('0' + part / 100);
      }
      if (part >= 10) {
        text[at++] = (byte) ('0' + part / 10 % 10);
      }
      text[at++] = (byte) ('0' + part % 10);
      if (shift > 0) {
        text[at++] = '.';
      }
    }
    return at;
  }

  private static int putHex(int value, byte[] text, int from) {
    int at = from;
    int shift = 12;
    while (shift > 0 && value >>> shift == 0) {
      shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
      text[at++] = HEX[(value >>> shift) & 0xF];
    }
    return at;
  }

  private static byte[] trimmed(byte[] text, int length) {
    byte[] exact = new byte[length];
    System.arraycopy(text, 0, exact, 0, length);
    return exact;
  }

  /** Bytes in network order as a number. */
  static long word(byte[] bytes, int from, int length) {
    long word = 0;
    for (int i = 0; i < length; i++) {
      word = word << 8 | bytes[from + i] & 0xFFL;
    }
    return word;
  }
}
