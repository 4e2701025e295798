package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Packets of a pcapng file: any number of sections, whose byte orders may differ, and of interfaces; enhanced, simple
 * and obsolete packet blocks. Other blocks and all options are gone over but for what an interface says of its times.
 *
 * <p>Blocks of more than {@link #LONGEST} bytes are damage, as they are to libpcap, and so are those that do not end
 * with the length that they begin with.
 *
 * <p>A packet names its interface by a number, and interfaces are numbered as they come. Where damage may have hidden
 * the header of a section or an interface, those that come after it are therefore unknown, until the next section.
 */
public final class PcapNgReader extends CaptureReader {
  static final int SECTION = 0x0a0d0d0a;

  /** The longest block. */
  static final int LONGEST = 16 << 20;

  private static final int ORDER_MAGIC = 0x1a2b3c4d;
  private static final int INTERFACE = 1;
  private static final int OBSOLETE_PACKET = 2;
  private static final int SIMPLE_PACKET = 3;
  private static final int ENHANCED_PACKET = 6;
  private static final int CHAIN = 8;
  private static final int FAR = 4 << 20;

  /** More interfaces than this in a section are not remembered. */
  private static final int MOST_INTERFACES = 1 << 16;

  private boolean little;
  private final List<PcapNgInterface> interfaces = new ArrayList<>();
  private final List<Long> headers = new ArrayList<>();

  /** Whether all interfaces of the section were seen. */
  private boolean sound = true;

  /** Whether damage since the last packet may have hidden the header of a section. */
  private boolean sectionInDoubt;

  PcapNgReader(ByteSupply supply, long end, Policy policy, boolean[] wanted) {
    super(supply, end, policy, wanted);
  }

  /** Whether a pcapng file may begin with these bytes; needs 12 of them. */
  static boolean starts(byte[] b, int at) {
    int magic = Bytes.i32(b, at + 8);
    return Bytes.i32(b, at) == SECTION && (magic == ORDER_MAGIC || Integer.reverseBytes(magic) == ORDER_MAGIC);
  }

  /** Where the blocks are that a reader has to know who begins here: the section's header and its interfaces. */
  List<Long> headers() {
    return List.copyOf(headers);
  }

  int headerCount() {
    return headers.size();
  }

  /** Whether {@link #headers} are all that one has to know. */
  boolean sound() {
    return sound;
  }

  /** Reads one of {@link #headers} from a supply that stands at it. */
  void learn(ByteSupply block) throws IOException {
    long offset = block.offset();
    int total = block.ensure(12) ? total(block.buffer(), block.position()) : -1;
    if (total < 0 || !block.ensure(total)) {
      throw new WireException(block.name(), offset, "no header where one was when the file was looked through",
          "Was the file changed meanwhile? Read it again");
    }
    learn(block.buffer(), block.position(), total, offset);
    block.advance(total);
  }

  private void learn(byte[] b, int at, int total, long offset) {
    if (Bytes.i32(b, at) == SECTION) {
      little = Bytes.i32(b, at + 8) != ORDER_MAGIC;
      interfaces.clear();
      headers.clear();
      headers.add(offset);
      sound = true;
      sectionInDoubt = false;
    } else if (!sound) {
      learnAfterDamage();
    } else if (interfaces.size() < MOST_INTERFACES) {
      interfaces.add(PcapNgInterface.read(b, at, total, little));
      headers.add(offset);
    }
  }

  /** Interfaces before the first packet are a section's first: if its header may have been hidden, it was. */
  private void learnAfterDamage() {
    if (sectionInDoubt) {
      forget();
    }
    if (interfaces.size() < MOST_INTERFACES) {
      interfaces.add(PcapNgInterface.UNKNOWN);
    }
  }

  private void forget() {
    interfaces.replaceAll(i -> PcapNgInterface.UNKNOWN);
    sound = false;
  }

  /** The length of the block that begins here, or -1 if none can; needs 12 bytes. */
  private int total(byte[] b, int at) {
    boolean section = Bytes.i32(b, at) == SECTION;
    if (section && !starts(b, at)) {
      return -1;
    }
    boolean order = section ? Bytes.i32(b, at + 8) != ORDER_MAGIC : little;
    int total = Bytes.i32(b, at + 4, order);
    return total < (section ? 28 : 12) || total > LONGEST || (total & 3) != 0 ? -1 : total;
  }

  /** Whether the block ends with its length. */
  private static boolean closed(byte[] b, int at, int total) {
    return Bytes.i32(b, at + 4) == Bytes.i32(b, at + total - 4);
  }

  @Override
  Step step() throws IOException {
    if (!supply.ensure(12)) {
      return supply.available() == 0 ? ended() : endsWithin("a block's header");
    }
    int total = total(supply.buffer(), supply.position());
    if (total < 0) {
      return damagedBlock("no block can begin so: type " + hex(supply.buffer(), supply.position()) + ", length "
          + hex(supply.buffer(), supply.position() + 4), -1);
    }
    long offset = supply.offset();
    if (!supply.ensure(total)) {
      int packet = packetEnd();
      return packet > 0 && leadsOn(packet) ? damagedBlock("a block of " + total + " bytes, more than the file has", -1)
          : endsWithin("a block of " + total + " bytes");
    }
    byte[] b = supply.buffer();
    int at = supply.position();
    if (!closed(b, at, total)) {
      return damagedBlock("a block of " + total + " bytes that does not end with its length", total);
    }
    supply.advance(total);
    switch (Bytes.i32(b, at, little)) {
      case ENHANCED_PACKET:
        return enhanced(b, at, total, offset);
      case SIMPLE_PACKET:
        return simple(b, at, total, offset);
      case OBSOLETE_PACKET:
        return obsolete(b, at, total, offset);
      case INTERFACE:
      case SECTION:
        learn(b, at, total, offset);
        return Step.OTHER;
      default:
        return Step.OTHER;
    }
  }

  /**
   * Goes over a block that cannot be read. The interfaces are known as before only if it was none of them, and ends
   * where it says itself.
   *
   * @param total its length, or -1 if it has none
   */
  private Step damagedBlock(String what, int total) throws IOException {
    long offset = supply.offset();
    int type = Bytes.i32(supply.buffer(), supply.position(), little);
    boolean section = starts(supply.buffer(), supply.position());
    if (section) {
      little = Bytes.i32(supply.buffer(), supply.position() + 8) != ORDER_MAGIC;
      forget();
    }
    int packet = section ? -1 : packetEnd();
    Step step = damaged(what, total, packet);
    long length = supply.offset() - offset;
    if (type == INTERFACE) {
      sound = false;
    } else if (length != total && length != packet) {
      sound = false;
      sectionInDoubt = true;
    }
    return step;
  }

  /** The length of the packet block here by the packet in it, if the block has no options; or -1. */
  private int packetEnd() throws IOException {
    int type = Bytes.i32(supply.buffer(), supply.position(), little);
    if (type != ENHANCED_PACKET && type != OBSOLETE_PACKET || !supply.ensure(24)) {
      return -1;
    }
    int captured = Bytes.i32(supply.buffer(), supply.position() + 20, little);
    return captured < 0 || captured > LONGEST - 32 ? -1 : 32 + (captured + 3 & ~3);
  }

  private static String hex(byte[] b, int at) {
    return String.format("%08x", Bytes.i32(b, at));
  }

  private Step enhanced(byte[] b, int at, int total, long offset) {
    if (total < 32) {
      return tooShort(total, offset);
    }
    return timed(b, at, total, offset, Bytes.i32(b, at + 8, little));
  }

  private Step obsolete(byte[] b, int at, int total, long offset) {
    if (total < 32) {
      return tooShort(total, offset);
    }
    return timed(b, at, total, offset, Bytes.u16(b, at + 8, little));
  }

  /** A packet with a time, which lies behind the interface's number; the packet is behind it. */
  private Step timed(byte[] b, int at, int total, long offset, int number) {
    if (!packet(b, at + 28, total - 32, offset, number, Bytes.i32(b, at + 20, little), Bytes.i32(b, at + 24, little))) {
      return Step.PACKET;
    }
    long time = (long) Bytes.i32(b, at + 12, little) << 32 | Bytes.i32(b, at + 16, little) & 0xffffffffL;
    long nanos = interfaces.get(number).nanos(time);
    if (nanos == PcapNgInterface.NO_TIME) {
      packet.present &= Packet.NO_TIME;
      packet.malformed("a time beyond what nanoseconds since 1970 can say");
    }
    packet.time(nanos);
    return Step.PACKET;
  }

  /** Makes the packet, without a time; false if that cannot be. */
  private boolean packet(byte[] b, int at, int room, long offset, int number, int captured, int original) {
    sectionInDoubt = false;
    PcapNgInterface from = number >= 0 && number < interfaces.size() ? interfaces.get(number) : null;
    if (from == null || from.linkType() < 0 || captured < 0 || captured > room) {
      packet.record(offset, 0, 0, 0, -1, number);
      packet.present = 1L << Packets.FILE_OFFSET;
      packet.malformed(captured < 0 || captured > room
          ? "a packet of " + (captured & 0xffffffffL) + " bytes in a block with room for " + room
          : "interface " + (number & 0xffffffffL) + " is not described");
      return false;
    }
    packet.at(b, at);
    packet.record(offset, 0, captured, original, from.linkType(), number);
    return true;
  }

  /** A simple packet is the first interface's, has no time, and is as long as block and snaplen allow. */
  private Step simple(byte[] b, int at, int total, long offset) {
    if (total < 16) {
      return tooShort(total, offset);
    }
    int original = Bytes.i32(b, at + 8, little);
    int kept = original < 0 ? Integer.MAX_VALUE : original;
    int snaplen = interfaces.isEmpty() ? 0 : interfaces.get(0).snaplen();
    if (snaplen > 0) {
      kept = Math.min(kept, snaplen);
    }
    packet(b, at + 12, total - 16, offset, 0, Math.min(kept, total - 16), original);
    packet.present &= Packet.NO_TIME;
    return Step.PACKET;
  }

  private Step tooShort(int total, long offset) {
    packet.record(offset, 0, 0, 0, -1, 0);
    packet.present = 1L << Packets.FILE_OFFSET;
    packet.malformed("a packet block of " + total + " bytes");
    return Step.PACKET;
  }

  /** As elsewhere, but blocks behind a section's header that is lost may be of the other byte order. */
  @Override
  void search() throws IOException {
    do {
      supply.advance(1);
      if (!supply.ensure(12)) {
        supply.skipAll();
        return;
      }
      if (leadsOn(0)) {
        return;
      }
      if (starts(supply.buffer(), supply.position())) {
        forget();
      }
    } while (!turnedLeadsOn());
    forget();
  }

  /** Whether a chain of blocks of the other byte order begins here; that is the byte order then. */
  private boolean turnedLeadsOn() throws IOException {
    little = !little;
    if (leadsOn(0)) {
      return true;
    }
    little = !little;
    return false;
  }

  @Override
  boolean leadsOn(int ahead) throws IOException {
    boolean before = little;
    try {
      int length = ahead;
      for (int i = 0; i < CHAIN && length < ahead + FAR; i++) {
        if (!supply.ensure(length + 12)) {
          return (i > 0 || ahead > 0) && supply.available() == length;
        }
        int total = total(supply.buffer(), supply.position() + length);
        if (total < 0 || !supply.ensure(length + total)
            || !closed(supply.buffer(), supply.position() + length, total)) {
          return false;
        }
        int at = supply.position() + length;
        if (Bytes.i32(supply.buffer(), at) == SECTION) {
          little = Bytes.i32(supply.buffer(), at + 8) != ORDER_MAGIC;
        }
        length += total;
      }
      return true;
    } finally {
      little = before;
    }
  }
}
