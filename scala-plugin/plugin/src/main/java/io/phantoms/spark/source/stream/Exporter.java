package io.phantoms.spark.source.stream;

import io.phantoms.spark.source.ip.IpText;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * An exporter's address, as decoders know it.
 *
 * @param high the upper 64 bits of an IPv6 address; 0 for IPv4
 * @param low the lower 64 bits, or the 32 bits of an IPv4 address
 * @param length 4 or 16
 */
public record Exporter(long high, long low, int length) implements Serializable {

  static Exporter of(byte[] address) {
    ByteBuffer b = ByteBuffer.wrap(address);
    return address.length == 16
        ? new Exporter(b.getLong(), b.getLong(), 16)
        : new Exporter(0, b.getInt() & 0xffffffffL, 4);
  }

  /** As people write it. */
  public String text() {
    return new String(IpText.of(length, high, low), StandardCharsets.US_ASCII);
  }
}
