package io.phantoms.spark.source.wire;

import java.io.IOException;

/**
 * Reads the packets of a capture, or of a part of one: those whose record begins in it. What containers have in common
 * is here: what becomes of packets and of damaged places under a {@link Policy}, and the counting.
 *
 * <p>Where a container's own headers are impossible, no packet can be made of what follows. Under {@link
 * Policy#FAILFAST} that is an error; else the reader goes to the next place from which a chain of records leads on,
 * counts what lies between as unreadable, and as one malformed packet.
 */
public abstract class CaptureReader implements RecordReader {
  private static final String REMEDY = "Set mode to PERMISSIVE to see it as a row with _malformed, "
      + "or to DROPMALFORMED to leave it out";

  /** What {@link #step} has met. */
  enum Step {
    /** A packet, now in {@link #packet}. */
    PACKET,
    /** A place that no packet can be made of, said with {@link #damaged}. */
    DAMAGE,
    /** Something else of the container's. */
    OTHER,
    /** The end of the file. */
    END
  }

  final ByteSupply supply;
  final Packet packet = new Packet();
  private final PacketDecoder decoder;
  private final Policy policy;
  private final WireCounters counters = new WireCounters();
  private long end;
  private long begin;
  private boolean failureSaid;
  private boolean hopping;

  private long damageAt;
  private String damage;
  private long damageBytes;

  CaptureReader(ByteSupply supply, long end, Policy policy, boolean[] wanted) {
    this.supply = supply;
    this.end = end;
    this.policy = policy;
    this.decoder = new PacketDecoder(wanted);
    this.begin = supply.offset();
  }

  /** Goes over the next unit of the container. */
  abstract Step step() throws IOException;

  /** Goes over the container's units up to the first that begins at this offset or later, without a word about them. */
  void hop(long start) throws IOException {
    hopping = true;
    while (supply.offset() < start && step() != Step.END) {
      continue;
    }
    hopping = false;
    begin(supply.offset());
  }

  /** Says from which byte on what is read belongs to this reader. */
  final void begin(long offset) {
    begin = offset;
  }

  @Override
  public final boolean next() throws IOException {
    while (supply.offset() < end) {
      Step step = step();
      counters.bytes = supply.offset() - begin;
      if (step == Step.PACKET) {
        counters.packets++;
        decoder.decode(packet);
        if (packet.problem == null) {
          counters.decoded++;
          if (packet.truncated) {
            counters.truncated++;
          }
          return true;
        }
        if (malformed()) {
          return true;
        }
      } else if (step == Step.DAMAGE) {
        counters.packets++;
        counters.unreadableBytes += damageBytes;
        packet.damage(damageAt, damage);
        if (malformed()) {
          return true;
        }
      } else if (step == Step.END) {
        end = Long.MIN_VALUE;
      }
    }
    counters.bytes = supply.offset() - begin;
    return false;
  }

  /** Whether the malformed packet is a row. */
  private boolean malformed() throws WireException {
    counters.malformed++;
    if (policy == Policy.FAILFAST) {
      throw new WireException(supply.name(), packet.offset(), packet.problem, REMEDY);
    }
    return policy == Policy.PERMISSIVE;
  }

  /**
   * Says that no packet can be made of what begins here; what is not readable is gone over with {@link #resynchronise}.
   *
   * @param ends how many bytes ahead the next record may begin, by what is left of this one; the best guess first
   */
  final Step damaged(String what, int... ends) throws IOException {
    damageAt = supply.offset();
    damage = what;
    if (policy == Policy.FAILFAST && !hopping) {
      damageBytes = 0;
      end = Long.MIN_VALUE;
      return Step.DAMAGE;
    }
    resynchronise(ends);
    damageBytes = supply.offset() - damageAt;
    return Step.DAMAGE;
  }

  /** Goes to the end of the file, where it ends in the middle of something. */
  final Step endsWithin(String what) throws IOException {
    failureSaid = true;
    return unreadable(supply.failure() == null ? "the file ends in " + what : what + " is lost: " + supply.failure());
  }

  /** Goes to the end of the file, as nothing from here on can be read. */
  final Step unreadable(String what) throws IOException {
    damageAt = supply.offset();
    damage = what;
    supply.skipAll();
    damageBytes = supply.offset() - damageAt;
    return Step.DAMAGE;
  }

  /** The end of the file between records, which is damage if a compressed stream broke off there. */
  final Step ended() {
    if (supply.failure() == null || failureSaid) {
      return Step.END;
    }
    failureSaid = true;
    damageAt = supply.offset();
    damage = "the compressed file is damaged from here on: " + supply.failure();
    damageBytes = 0;
    return Step.DAMAGE;
  }

  /**
   * Goes at least one byte on, to the next record, or to the end of the file. What a damaged packet carries may be a
   * capture itself, so where the packet ends by its own numbers is tried before any place within it.
   */
  private void resynchronise(int... ends) throws IOException {
    for (int end : ends) {
      if (end > 0 && leadsOn(end)) {
        supply.advance(end);
        return;
      }
    }
    search();
  }

  /** Goes at least one byte on, to the next place from which a chain of records leads on, or to the end of the file. */
  void search() throws IOException {
    do {
      supply.advance(1);
      if (!supply.ensure(1)) {
        return;
      }
    } while (!leadsOn(0));
  }

  /**
   * Whether a chain of plausible records begins so many bytes ahead of here; for places ahead also, whether the file
   * ends there.
   */
  abstract boolean leadsOn(int ahead) throws IOException;

  /** The packet that {@link #next} went to, with its bytes. */
  public final Packet packet() {
    return packet;
  }

  @Override
  public final WireRecord record() {
    return packet;
  }

  @Override
  public final WireCounters counters() {
    return counters;
  }

  @Override
  public void close() throws IOException {
    supply.close();
  }
}
