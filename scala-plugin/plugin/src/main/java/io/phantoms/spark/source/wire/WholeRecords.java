package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.zip.CRC32;

/**
 * How far a plain capture that is still being written can be read: to the end of its last whole record.
 *
 * @param end where that is; what follows may be the beginning of a record
 * @param headers what a reader has to know who begins there, as in {@link Split}
 */
public record WholeRecords(long end, List<Long> headers) {
  private static final int SMALL = 4096;

  /**
   * Follows the records of a file up to its length, without decoding them.
   *
   * @param from where one of its records begins; 0 is the beginning of the file
   * @param headers of that place, as an earlier answer had them; null at the beginning
   * @return null where the file is no plain capture, or not yet long enough to tell
   */
  public static WholeRecords of(CaptureFile file, long from, List<Long> headers) throws IOException {
    return of(file, from, headers, Policy.FAILFAST);
  }

  /**
   * Follows the records of a file up to its length as its readers do that have read so far: past damage to where they
   * found records again. Damage that leads to no other record is what is not whole.
   *
   * @param from where one of its records begins; 0 is the beginning of the file
   * @param headers of that place, as an earlier answer had them; null at the beginning
   * @return null where the file is no plain capture, or not yet long enough to tell
   */
  public static WholeRecords pastDamage(CaptureFile file, long from, List<Long> headers) throws IOException {
    return of(file, from, headers, Policy.PERMISSIVE);
  }

  private static WholeRecords of(CaptureFile file, long from, List<Long> headers, Policy policy) throws IOException {
    try (ByteSupply start = ByteSupply.decompressed(file.path(), file.open(0), SMALL)) {
      if (start.isCompressed() || !start.ensure(PcapFormat.HEADER)) {
        return null;
      }
      if (PcapFormat.starts(Bytes.i32(start.buffer(), start.position()))) {
        boolean withRecord = start.ensure(PcapFormat.HEADER + PcapFormat.RECORD);
        PcapFormat format = PcapFormat.read(start.buffer(), start.position(), withRecord);
        long first = Math.max(from, PcapFormat.HEADER);
        try (CaptureReader reader = new PcapReader(at(file, first), format, Long.MAX_VALUE, policy, null)) {
          return follow(reader, file.length(), policy);
        }
      }
      if (PcapNgReader.starts(start.buffer(), start.position())) {
        boolean known = headers != null;
        try (PcapNgReader reader =
            new PcapNgReader(at(file, known ? from : 0), Long.MAX_VALUE, policy, null)) {
          if (known) {
            learn(reader, file, headers);
          }
          return follow(reader, file.length(), policy);
        }
      }
      return null;
    }
  }

  /**
   * A number by which the beginning of a file is told from that of another.
   *
   * @param bytes how many of the first bytes it is made of; the file must have them
   */
  public static long checksum(CaptureFile file, int bytes) throws IOException {
    try (InputStream in = file.open(0)) {
      CRC32 sum = new CRC32();
      sum.update(in.readNBytes(bytes));
      return sum.getValue();
    }
  }

  private static ByteSupply at(CaptureFile file, long offset) throws IOException {
    return new ByteSupply(file.path(), file.open(offset), offset);
  }

  private static void learn(PcapNgReader reader, CaptureFile file, List<Long> headers) throws IOException {
    for (long header : headers) {
      try (InputStream in = file.open(header)) {
        reader.learn(new ByteSupply(file.path(), in, header, Compression.NONE, SMALL));
      }
    }
  }

  private static WholeRecords follow(CaptureReader reader, long length, Policy policy) throws IOException {
    long end = reader.supply.offset();
    List<Long> headers = headers(reader);
    while (end < length) {
      CaptureReader.Step step = reader.step();
      boolean whole = step == CaptureReader.Step.PACKET || step == CaptureReader.Step.OTHER
          || step == CaptureReader.Step.DAMAGE && policy != Policy.FAILFAST && reader.supply.offset() < length;
      // The file may have grown since its length was asked for: what lies beyond it is for the next time.
      if (!whole || reader.supply.offset() > length) {
        break;
      }
      end = reader.supply.offset();
      if (step == CaptureReader.Step.OTHER) {
        headers = headers(reader);
      }
    }
    return new WholeRecords(end, headers);
  }

  private static List<Long> headers(CaptureReader reader) {
    return reader instanceof PcapNgReader blocks ? blocks.headers() : List.of();
  }
}
