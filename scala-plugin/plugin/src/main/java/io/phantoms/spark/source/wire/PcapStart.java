package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * Where the first record at or behind an offset of a pcap file begins, found without reading the file from its
 * beginning.
 *
 * <p>Records cannot be recognised for sure: a packet may carry a capture. So the answer is given only where there is no
 * doubt. Around the offset, farther to both sides than the longest packet, every place that looks like a record, and
 * whose length leads to another that does, lies on one and the same chain of records, which begins before the offset
 * and leads out of the window. (A place that leads nowhere is nothing: headers of IPv4, or a record's own numbers moved
 * by a byte, may look like it.)
 *
 * <p>The reader of the whole file steps on some places in the window. As those look like records, they are the chain's.
 * A capture within a packet, damage or a jump of the clock nearby make a doubt: then the records have to be followed
 * from the beginning of the file, which is slow, and right. What this rests on is that the file's own records look like
 * records: where they were made not to over hundreds of kilobytes (their times decades apart, say), and packets carry a
 * chain across them, the parts are read as whoever made the file wanted.
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
   * @param limit places behind it are looked at only as what follows others
   * @return the record's place in the window, or -1
   */
  int survey(int start, int limit) {
    int[] places = places(limit);
    int chain = first(places);
    if (chain < 0 || chain > start) {
      return -1;
    }
    int found = -1;
    int records = 0;
    for (int place : places) {
      if (place == chain) {
        found = place >= start && found < 0 ? place : found;
        records++;
        chain = next(place);
      } else if (place > chain || leadsOn(place)) {
        return -1;
      }
    }
    if (records < CHAIN || chain <= Math.min(limit, window.length - PcapFormat.RECORD)
        || whole && chain != window.length) {
      return -1;
    }
    return found < 0 && whole ? window.length : found;
  }

  /** All places that look like a record. */
  private int[] places(int limit) {
    int[] places = new int[1024];
    int n = 0;
    for (int at = 0; at <= Math.min(limit, window.length - PcapFormat.RECORD); at++) {
      if (format.plausible(window, at)) {
        if (n == places.length) {
          places = Arrays.copyOf(places, 2 * n);
        }
        places[n++] = at;
      }
    }
    return Arrays.copyOf(places, n);
  }

  /** The first place that another record follows. */
  private int first(int[] places) {
    for (int place : places) {
      if (leadsOn(place)) {
        return place;
      }
    }
    return -1;
  }

  private int next(int place) {
    return place + PcapFormat.RECORD + format.captured(window, place);
  }

  private boolean leadsOn(int place) {
    int next = next(place);
    if (next > window.length - PcapFormat.RECORD) {
      return !whole || next == window.length;
    }
    return format.plausible(window, next);
  }
}
