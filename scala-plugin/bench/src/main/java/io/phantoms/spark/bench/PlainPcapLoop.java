package io.phantoms.spark.bench;

import java.io.IOException;
import java.io.InputStream;

/**
 * What somebody would write by hand who knows that his capture is pcap, little-endian, Ethernet without tags,
 * undamaged: no checks, no NULL, no splits. The speed that decoding in general is measured against.
 */
final class PlainPcapLoop {
  private byte[] buffer = new byte[512 << 10];
  private int position;
  private int limit;

  /** Sums of the IPv4 TCP and UDP packets. */
  long packets;
  long lengths;
  long addresses;
  long ports;

  void run(InputStream in) throws IOException {
    ensure(in, 24);
    position += 24;
    while (ensure(in, 16)) {
      int captured = little(position + 8);
      ensure(in, 16 + captured);
      int ethernet = position + 16;
      if (big16(ethernet + 12) == 0x800) {
        int ip = ethernet + 14;
        int protocol = buffer[ip + 9];
        if (protocol == 6 || protocol == 17) {
          int transport = ip + ((buffer[ip] & 15) << 2);
          packets++;
          lengths += big16(ip + 2);
          addresses += (big32(ip + 12) & 0xffffffffL) + (big32(ip + 16) & 0xffffffffL);
          ports += big16(transport) + big16(transport + 2);
        }
      }
      position += 16 + captured;
    }
  }

  private boolean ensure(InputStream in, int n) throws IOException {
    if (limit - position >= n) {
      return true;
    }
    System.arraycopy(buffer, position, buffer, 0, limit - position);
    limit -= position;
    position = 0;
    while (limit < n) {
      int got = in.read(buffer, limit, buffer.length - limit);
      if (got < 0) {
        return false;
      }
      limit += got;
    }
    return true;
  }

  private int little(int at) {
    return buffer[at] & 0xff | (buffer[at + 1] & 0xff) << 8 | (buffer[at + 2] & 0xff) << 16 | buffer[at + 3] << 24;
  }

  private int big32(int at) {
    return buffer[at] << 24 | (buffer[at + 1] & 0xff) << 16 | (buffer[at + 2] & 0xff) << 8 | buffer[at + 3] & 0xff;
  }

  private int big16(int at) {
    return (buffer[at] & 0xff) << 8 | buffer[at + 1] & 0xff;
  }
}
