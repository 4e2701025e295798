package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;
import java.util.BitSet;

/**
 * Where the first record at or behind an offset of a pcap file begins, found without reading the file from its
 * beginning.
 *
 * <p>Records cannot be recognised for sure: a packet may carry a capture. But the file's own records look like records,
 * and one of them begins in the first {@link #STEP} bytes of any window, as none is longer. So every place there that
 * looks like a record is followed, from record to record; the file's own chain is among those. Chains that lead through
 * the whole window, far beyond the offset, have to agree on the first record at or behind it. If they do not, or if one
 * broke off that led on for a while (by damage, or because the clock jumped), there is doubt: then the records have to
 * be followed from the beginning of the file, which is slow, and right. (A place that leads nowhere is nothing: headers
 * of IPv4, or a record's own numbers moved by a byte, may look like a record.)
 *
 * <p>A file whose own records were made not to look like any over hundreds of kilobytes (their times decades apart,
 * say), and whose packets carry a chain across them, is read in parts as whoever made it wanted.
 */
final class PcapStart {
  private static final int STEP = PcapFormat.LONGEST + PcapFormat.RECORD;

  /** How far the window reaches to either side. */
  static final int REACH = 2 * STEP + PcapFormat.RECORD;

  private static final int CHAIN = 8;

  private final byte[] window;
  private final boolean whole;
  private final PcapFormat format;

  /**
   * @param whole whether the file ends with the window
   */
  PcapStart(byte[] window, boolean whole, PcapFormat format) {
    this.window = window;
    this.whole = whole;
    this.format = format;
  }

  /** The offset of the first record at or behind {@code start}, or -1 where there is doubt. */
  static long find(CaptureFile file, PcapFormat format, long start) throws IOException {
    long from = start - REACH;
    long to = Math.min(file.length(), start + REACH);
    if (from <= PcapFormat.HEADER || to <= start || format.longest() > PcapFormat.LONGEST) {
      return -1;
    }
    byte[] window = new byte[(int) (to - from)];
    try (InputStream in = file.open(from)) {
      if (in.readNBytes(window, 0, window.length) < window.length) {
        return -1;
      }
    }
    boolean whole = to == file.length();
    int found = new PcapStart(window, whole, format).survey(REACH, whole ? window.length : REACH + STEP);
    return found < 0 ? -1 : from + found;
  }

  /**
   * @param start the place in the window that a record is sought at or behind
   * @param limit the place that chains have to lead beyond, or with the file's end the window's length
   * @return the record's place in the window, or -1
   */
  int survey(int start, int limit) {
    BitSet lived = new BitSet();
    int found = -1;
    for (int head = 0; head < Math.min(STEP, start); head++) {
      if (!isRecord(head) || lived.get(head)) {
        continue;
      }
      int mine = -1;
      int records = 0;
      int at = head;
      while (at <= limit && isRecord(at) && !lived.get(at)) {
        mine = mine < 0 && at >= start ? at : mine;
        records++;
        at = next(at);
      }
      boolean joined = lived.get(at);
      if (mine < 0) {
        mine = joined && at < start ? found : at;
      }
      if (!joined && (whole ? at != window.length : at <= limit)) {
        if (records > 1) {
          return -1;
        }
      } else if (!joined && records < CHAIN || found >= 0 && mine != found) {
        return -1;
      } else {
        found = mine;
        for (int place = head; place != at; place = next(place)) {
          lived.set(place);
        }
      }
    }
    return found;
  }

  private boolean isRecord(int at) {
    return at <= window.length - PcapFormat.RECORD && format.plausible(window, at);
  }

  private int next(int place) {
    return place + PcapFormat.RECORD + format.captured(window, place);
  }
}
