package io.phantoms.spark.source.stream;

import java.io.Serializable;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;

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
    ByteBuffer b = ByteBuffer.allocate(length);
    byte[] bytes = (length == 16 ? b.putLong(high).putLong(low) : b.putInt((int) low)).array();
    try {
      return InetAddress.getByAddress(bytes).getHostAddress();
    } catch (UnknownHostException e) {
      throw new IllegalStateException(e);
    }
  }
}
