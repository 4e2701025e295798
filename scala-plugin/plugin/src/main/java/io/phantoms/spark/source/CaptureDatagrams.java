package io.phantoms.spark.source;

import io.phantoms.spark.source.export.DatagramSource;
import io.phantoms.spark.source.wire.Packets;
import io.phantoms.spark.source.wire.RecordReader;
import io.phantoms.spark.source.wire.WireCounters;
import io.phantoms.spark.source.wire.WireRecord;
import java.io.IOException;
import java.util.Set;

/**
 * The datagrams of exporters within a capture: UDP to one of the collectors' ports. Other packets are skipped and
 * counted; so are fragments behind the first, which have no port. The first one, a datagram that the capture cut off,
 * and a packet that cannot be decoded are malformed: a place where a datagram should be and is none.
 */
final class CaptureDatagrams implements DatagramSource {
  private static final int UDP = 17;

  private final RecordReader packets;
  private final Set<Integer> ports;
  private final WireCounters counters;
  private byte[] payload;
  private String problem;

  /**
   * Over a capture.
   *
   * @param packets of the capture, with those that cannot be decoded
   * @param ports of the collectors
   * @param counters shared with the reader of the datagrams
   */
  CaptureDatagrams(RecordReader packets, Set<Integer> ports, WireCounters counters) {
    this.packets = packets;
    this.ports = ports;
    this.counters = counters;
  }

  /** Which fields of packets it looks at. */
  static boolean[] wanted() {
    boolean[] wanted = new boolean[Packets.COUNT + 1];
    int[] fields = {
      Packets.TIME_NANOS, Packets.SRCIP, Packets.PROT, Packets.FRAGMENT_OFFSET, Packets.MORE_FRAGMENTS, Packets.SRCPORT,
      Packets.DSTPORT, Packets.PAYLOAD_LENGTH, Packets.PAYLOAD, Packets.FILE_OFFSET, Packets.COUNT
    };
    for (int field : fields) {
      wanted[field] = true;
    }
    return wanted;
  }

  @Override
  public boolean next() throws IOException {
    while (packets.next()) {
      countBytes();
      problem = packets.record().problem();
      if (problem != null || isExport()) {
        // Datagrams are counted by their decoder.
        if (problem != null) {
          counters.packets++;
          counters.malformed++;
        }
        return true;
      }
      counters.packets++;
      counters.skipped++;
    }
    countBytes();
    return false;
  }

  private void countBytes() {
    counters.bytes = packets.counters().bytes;
    counters.unreadableBytes = packets.counters().unreadableBytes;
  }

  private boolean isExport() {
    WireRecord packet = packets.record();
    boolean toPort = packet.number(Packets.PROT) == UDP
        && !packet.isNull(Packets.DSTPORT)
        && ports.contains((int) packet.number(Packets.DSTPORT));
    if (!toPort) {
      return false;
    }
    payload = packet.isNull(Packets.PAYLOAD) ? new byte[0] : packet.bytes(Packets.PAYLOAD);
    if (packet.number(Packets.MORE_FRAGMENTS) != 0) {
      problem = "this is the first fragment of a datagram; fragments are not put together";
    } else if (payload.length < packet.number(Packets.PAYLOAD_LENGTH)) {
      problem = "the capture kept " + payload.length + " of the " + packet.number(Packets.PAYLOAD_LENGTH)
          + " bytes of a datagram";
    }
    return true;
  }

  @Override
  public String problem() {
    return problem;
  }

  @Override
  public byte[] bytes() {
    return payload;
  }

  @Override
  public int from() {
    return 0;
  }

  @Override
  public int length() {
    return payload.length;
  }

  @Override
  public long offset() {
    return packets.record().number(Packets.FILE_OFFSET);
  }

  @Override
  public long timeNanos() {
    return packets.record().number(Packets.TIME_NANOS);
  }

  @Override
  public long exporterHigh() {
    return packets.record().addressHigh(Packets.SRCIP);
  }

  @Override
  public long exporterLow() {
    return packets.record().addressLow(Packets.SRCIP);
  }

  @Override
  public int exporterLength() {
    return packets.record().addressLength(Packets.SRCIP);
  }

  @Override
  public int exporterPort() {
    return (int) packets.record().number(Packets.SRCPORT);
  }

  @Override
  public void close() throws IOException {
    packets.close();
  }
}
