package io.phantoms.spark.source.stream;

import java.io.Serializable;
import java.net.InetAddress;

/**
 * A datagram as it came from the network.
 *
 * @param bytes its payload, not changed any more
 * @param sender where it came from
 * @param port the port it came from
 * @param nanos when it was received, in nanoseconds since 1970
 */
public record HeldDatagram(byte[] bytes, Exporter sender, int port, long nanos) implements Serializable {

  /** Bytes that an entry of the ring takes beside the payload, about. */
  static final int OVERHEAD = 128;

  static HeldDatagram of(byte[] bytes, InetAddress sender, int port, long nanos) {
    return new HeldDatagram(bytes, Exporter.of(sender.getAddress()), port, nanos);
  }

  long footprint() {
    return OVERHEAD + bytes.length;
  }
}
