package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;

/**
 * Where the first record at or behind an offset of a pcap file begins, found without reading the file from its beginning.
 *
 * <p>Records cannot be recognised for sure: a packet may carry a capture. So the answer is given only where there is no doubt:
 * around the offset, farther to both sides than the longest packet, every place that looks like a record lies on one and the
 * same chain of records, which begins before the offset and leads out of the window. The reader of the whole file steps on some
 * places in the window, too; as those look like records, they are the chain's. A capture within a packet, damage or a jump of
 * the clock nearby make a doubt: then the records have to be followed from the beginning of the file. That is slow, and right.
 *
 * <p>What this rests on is that the file's own records look like records. A file whose own are made not to (times twenty years
 * apart, say), over hundreds of kilobytes, and whose packets carry a chain across them, is read as whoever made it wanted.
 */
final class PcapStart {
  /** How far the window reaches to either side. */
  static final int REACH = 2 * (PcapFormat.LONGEST + PcapFormat.RECORD);

  private static final int CHAIN = 8;

  private PcapStart() {}

  /** The offset of the first record at or behind {@code start}, or -1 where there is doubt. */
  static long find(CaptureFile file, PcapFormat format, long start) throws IOException {
    long from = start - REACH;
    if (from <= PcapFormat.HEADER || format.longest() > PcapFormat.LONGEST) {
      return -1;
    }
    long to = Math.min(file.length(), start + REACH);
    if (to <= start) {
      return -1;
    }
    byte[] window = new byte[(int) (to - from)];
    try (InputStream in = file.open(from)) {
      if (in.readNBytes(window, 0, window.length) < window.length) {
        return -1;
      }
    }
    int found = survey(window, REACH, to == file.length(), format);
    return found < 0 ? -1 : from + found;
  }

  /**
   * @param start the place in the window that a record is sought at or behind
   * @param whole whether the file ends with the window
   * @return the record's place in the window, or -1
   */
  static int survey(byte[] window, int start, boolean whole, PcapFormat format) {
    int expected = -1;
    int first = -1;
    int found = -1;
    int records = 0;
    for (int at = 0; at + PcapFormat.RECORD <= window.length; at++) {
      boolean plausible = format.plausible(window, at);
      if (plausible && expected < 0) {
        expected = at;
        first = at;
      }
      if (plausible != (at == expected)) {
        return -1;
      }
      if (plausible) {
        if (at >= start && found < 0) {
          found = at;
        }
        records++;
        expected = at + PcapFormat.RECORD + format.captured(window, at);
      }
    }
    if (records < CHAIN || first > start || whole && expected != window.length) {
      return -1;
    }
    return found < 0 && whole ? window.length : found;
  }
}
