package io.phantoms.spark.source.ip;

import java.util.HexFormat;
import java.util.Map;
import org.apache.spark.SparkIllegalArgumentException;
import org.apache.spark.unsafe.types.UTF8String;

/** What the SQL functions of addresses call, interpreted and from generated code. */
public final class IpCalls {
  private IpCalls() {}

  /** The address of a text; where it is none, an error under ANSI rules and null otherwise. */
  public static byte[] address(UTF8String text, boolean ansi) {
    byte[] address = IpText.parse(text.getBytes());
    if (address == null && ansi) {
      throw malformed("'" + text + "'", "STRING");
    }
    return address;
  }

  /** The bytes themselves; where they are neither 4 nor 16, an error under ANSI rules and null otherwise. */
  public static byte[] address(byte[] bytes, boolean ansi) {
    if (bytes.length == 4 || bytes.length == 16) {
      return bytes;
    }
    if (ansi) {
      throw malformed("X'" + HexFormat.of().withUpperCase().formatHex(bytes) + "'", "BINARY");
    }
    return null;
  }

  /** The text of an address, which may be null. */
  public static UTF8String text(byte[] address) {
    return address == null ? null : UTF8String.fromBytes(IpText.of(address));
  }

  /** The text of an IPv4 address, of which these are the 32 bits. */
  public static UTF8String text(int address) {
    return UTF8String.fromBytes(IpText.ofV4(address & 0xFFFFFFFFL));
  }

  private static SparkIllegalArgumentException malformed(String value, String type) {
    return new SparkIllegalArgumentException(
        "CAST_INVALID_INPUT",
        Map.of("expression", value, "sourceType", "\"" + type + "\"", "targetType", "\"IP ADDRESS\""));
  }
}
