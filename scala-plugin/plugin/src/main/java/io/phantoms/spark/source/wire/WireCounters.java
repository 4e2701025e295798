package io.phantoms.spark.source.wire;

/**
 * What a reader has met. Nothing is lost silently: {@code packets = decoded + malformed + skipped} for the packets of a
 * capture, and every byte of a file belongs to a packet, to a container's own headers, or to {@code unreadableBytes}.
 */
public final class WireCounters {
  /** Packets (or datagrams of a flow export) found in the container. */
  public long packets;

  /** Packets that were decoded; a truncated one counts, too. */
  public long decoded;

  /** Packets whose headers contradict themselves or their length. */
  public long malformed;

  /** Packets of a kind that the reader was not asked for or does not know (ARP among IP packets, other ports' UDP). */
  public long skipped;

  /** Decoded packets of which the capture kept too little for all fields (snaplen). */
  public long truncated;

  /** Flow records of decoded datagrams. */
  public long flows;

  /** Data sets of an export that no template known so far describes. */
  public long withoutTemplate;

  /** Bytes read from the file, after decompression. */
  public long bytes;

  /** Bytes passed over because no packet could be made of them. */
  public long unreadableBytes;

  /** Adds what another reader has met. */
  public void add(WireCounters other) {
    packets += other.packets;
    decoded += other.decoded;
    malformed += other.malformed;
    skipped += other.skipped;
    truncated += other.truncated;
    flows += other.flows;
    withoutTemplate += other.withoutTemplate;
    bytes += other.bytes;
    unreadableBytes += other.unreadableBytes;
  }
}
