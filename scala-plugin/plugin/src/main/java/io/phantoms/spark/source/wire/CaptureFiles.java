package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The door to captures: which files are, how they are divided, and a reader for a file or a part of one.
 *
 * <p>A record belongs to the part in which its first byte lies, so that the parts of any division have every record
 * once, and the same records as the whole.
 */
public final class CaptureFiles {
  /** How many of a file's first bytes {@link #recognises} wants to see. */
  public static final int HEAD = 12;

  /**
   * In a section with more interfaces than this, a pcapng file is not divided: each part would have to read all of
   * them.
   */
  private static final int MANY_HEADERS = 1000;

  private static final int SMALL = 4096;

  private CaptureFiles() {}

  /** Whether a file, decompressed, that begins with these bytes is a capture. */
  public static boolean recognises(byte[] head, int length) {
    return length >= 4 && PcapFormat.starts(Bytes.i32(head, 0)) || length >= HEAD && PcapNgReader.starts(head, 0);
  }

  /** Reads the packets whose records begin from {@code start} on and before {@code end}. */
  public static CaptureReader open(CaptureFile file, long start, long end, Policy policy, boolean[] wanted)
      throws IOException {
    return open(file, new Split(start, end), policy, wanted);
  }

  /**
   * Reads the packets of a part of a file.
   *
   * @param wanted see {@link PacketDecoder#PacketDecoder}
   * @throws WireException where the file is no capture, whatever the policy
   */
  public static CaptureReader open(CaptureFile file, Split part, Policy policy, boolean[] wanted) throws IOException {
    ByteSupply supply = ByteSupply.decompressed(file.path(), file.open(0), part.start() > 0 ? SMALL : ByteSupply.SIZE);
    try {
      if (supply.isCompressed()) {
        // It can only be read from its beginning: who has that, has all.
        return part.start() > 0 ? new NoPackets(supply, policy, null)
            : begin(file, supply, new Split(0, Long.MAX_VALUE), policy, wanted);
      }
      return begin(file, supply, part, policy, wanted);
    } catch (IOException | RuntimeException e) {
      supply.close();
      throw e;
    }
  }

  private static CaptureReader begin(CaptureFile file, ByteSupply supply, Split part, Policy policy, boolean[] wanted)
      throws IOException {
    supply.ensure(HEAD);
    int first = supply.ensure(4) ? Bytes.i32(supply.buffer(), supply.position()) : 0;
    if (PcapFormat.starts(first)) {
      if (!supply.ensure(PcapFormat.HEADER)) {
        return new NoPackets(supply, policy, part.start() > 0 ? null : "the header of a pcap file");
      }
      return pcap(file, supply, part, policy, wanted);
    }
    if (supply.ensure(HEAD) && PcapNgReader.starts(supply.buffer(), supply.position())) {
      return pcapNg(file, supply, part, policy, wanted);
    }
    if (supply.available() == 0 || supply.failure() != null) {
      boolean silent = supply.failure() == null || part.start() > 0;
      return new NoPackets(supply, policy, silent ? null : "the header of a capture");
    }
    throw new WireException(file.path(), 0, "is not a capture or flow export: it begins with " + firstBytes(supply),
        "Captures are pcap and pcapng files, plain or compressed with gzip or zstd; "
            + "leave other files out with pathGlobFilter");
  }

  private static String firstBytes(ByteSupply supply) {
    StringBuilder hex = new StringBuilder();
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < Math.min(8, supply.available()); i++) {
      int b = Bytes.u8(supply.buffer(), supply.position() + i);
      hex.append(String.format(i == 0 ? "%02x" : " %02x", b));
      text.append(b >= 0x20 && b < 0x7f ? (char) b : '.');
    }
    return hex + " (\"" + text + "\")";
  }

  private static CaptureReader pcap(CaptureFile file, ByteSupply supply, Split part, Policy policy, boolean[] wanted)
      throws IOException {
    PcapFormat format = format(supply);
    if (part.start() == 0) {
      PcapReader reader = new PcapReader(supply, format, part.end(), policy, wanted);
      supply.advance(PcapFormat.HEADER);
      return reader;
    }
    supply.close();
    if (part.headers() != null) {
      return new PcapReader(at(file, part.start()), format, part.end(), policy, wanted);
    }
    long found = PcapStart.find(file, format, part.start());
    ByteSupply there = at(file, found < 0 ? PcapFormat.HEADER : found);
    PcapReader reader = new PcapReader(there, format, part.end(), policy, wanted);
    return found < 0 ? hop(reader, part.start()) : reader;
  }

  private static PcapFormat format(ByteSupply supply) throws IOException {
    boolean withRecord = supply.ensure(PcapFormat.HEADER + PcapFormat.RECORD);
    return PcapFormat.read(supply.buffer(), supply.position(), withRecord);
  }

  private static ByteSupply at(CaptureFile file, long offset) throws IOException {
    return new ByteSupply(file.path(), file.open(offset), offset);
  }

  private static CaptureReader hop(CaptureReader reader, long start) throws IOException {
    try {
      reader.hop(start);
      return reader;
    } catch (IOException | RuntimeException e) {
      reader.close();
      throw e;
    }
  }

  private static CaptureReader pcapNg(CaptureFile file, ByteSupply supply, Split part, Policy policy, boolean[] wanted)
      throws IOException {
    if (part.start() == 0) {
      return new PcapNgReader(supply, part.end(), policy, wanted);
    }
    supply.close();
    if (part.headers() == null) {
      return hop(new PcapNgReader(at(file, 0), part.end(), policy, wanted), part.start());
    }
    PcapNgReader reader = new PcapNgReader(at(file, part.start()), part.end(), policy, wanted);
    try {
      for (long header : part.headers()) {
        try (InputStream in = file.open(header)) {
          reader.learn(new ByteSupply(file.path(), in, header, Compression.NONE, SMALL));
        }
      }
      return reader;
    } catch (IOException | RuntimeException e) {
      reader.close();
      throw e;
    }
  }

  /**
   * Divides a file into parts of about this many bytes: a pcap file anywhere, as its reader finds the next record; a
   * pcapng file between blocks, for which it is read once; a compressed file, and what is no capture, not at all.
   */
  public static List<Split> splits(CaptureFile file, long targetBytes) throws IOException {
    long target = Math.max(1, targetBytes);
    Split whole = new Split(0, file.length());
    if (file.length() <= target) {
      return List.of(whole);
    }
    try (ByteSupply supply = ByteSupply.decompressed(file.path(), file.open(0), ByteSupply.SIZE)) {
      if (supply.isCompressed() || !supply.ensure(PcapFormat.HEADER)) {
        return List.of(whole);
      }
      if (PcapFormat.starts(Bytes.i32(supply.buffer(), supply.position()))) {
        return format(supply).longest() > PcapFormat.LONGEST ? List.of(whole) : even(file.length(), target);
      }
      if (PcapNgReader.starts(supply.buffer(), supply.position())) {
        return betweenBlocks(new PcapNgReader(supply, Long.MAX_VALUE, Policy.PERMISSIVE, null), file.length(), target);
      }
      return List.of(whole);
    }
  }

  private static List<Split> even(long length, long target) {
    List<Split> parts = new ArrayList<>();
    for (long start = 0; start < length; start += target) {
      parts.add(new Split(start, Math.min(length, start + target)));
    }
    return parts;
  }

  private static List<Split> betweenBlocks(PcapNgReader reader, long length, long target) throws IOException {
    List<Split> parts = new ArrayList<>();
    long start = 0;
    List<Long> headers = List.of();
    while (true) {
      long at = reader.supply.offset();
      if (at - start >= target && at < length && reader.headerCount() <= MANY_HEADERS && reader.sound()) {
        parts.add(new Split(start, at, headers));
        start = at;
        headers = reader.headers();
      }
      if (reader.step() == CaptureReader.Step.END) {
        parts.add(new Split(start, length, headers));
        return parts;
      }
    }
  }
}
