package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
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
 * <p>After damage a reader asks for the place from which on all chains are one. A part's window reaches far enough back
 * that whoever reads the whole file has found such a place again if the window is without damage.
 *
 * <p>A file whose own records were made not to look like any over hundreds of kilobytes (their times decades apart,
 * say), and whose packets carry a chain across them, is read in parts as whoever made it wanted.
 */
final class PcapStart {
  static final int STEP = PcapFormat.LONGEST + PcapFormat.RECORD;

  /**
   * How far the window reaches back. Damage that it does not show lies in its first two steps at most; the reader of
   * the whole file tries again at every step, and has its place two steps behind a try.
   */
  static final int REACH = 6 * STEP + PcapFormat.RECORD;

  /** How far the window reaches on. */
  private static final int AHEAD = 2 * STEP + PcapFormat.RECORD;

  /** The window in which chains have to meet after damage. */
  private static final int MEETING = 3 * STEP + PcapFormat.RECORD;

  private static final int CHAIN = 8;
  private static final int NONE = -1;
  private static final int DOUBT = -2;

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
    long to = Math.min(file.length(), start + AHEAD);
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

  /** How many bytes ahead of the supply's place all chains that begin in the next step are one; negative if not. */
  static int meeting(ByteSupply supply, PcapFormat format, int from) throws IOException {
    boolean whole = !supply.ensure(MEETING);
    int length = Math.min(supply.available(), MEETING);
    byte[] window = Arrays.copyOfRange(supply.buffer(), supply.position(), supply.position() + length);
    PcapStart start = new PcapStart(window, whole, format);
    int met = start.meeting(from, whole ? length : 2 * STEP, false);
    return whole && met == NONE ? start.meeting(from, length, true) : met;
  }

  /**
   * The first place from which on all chains are one that begin in the first step and lead beyond the limit, or to the
   * end of the file; {@link #NONE} if none does, {@link #DOUBT} if they do not meet.
   *
   * @param cut whether the file may end in a record; only where no chain ends with the file, as a record's numbers moved
   *     by a byte may look like one that leads beyond it
   */
  private int meeting(int from, int limit, boolean cut) {
    BitSet lived = new BitSet();
    BitSet died = new BitSet();
    int met = NONE;
    for (int head = from; head < Math.min(STEP, window.length); head++) {
      if (!isRecord(head) || lived.get(head) || died.get(head)) {
        continue;
      }
      int at = head;
      int records = 0;
      while (at <= limit && (at == head || goesOn(at)) && !lived.get(at) && !died.get(at)) {
        at = next(at);
        records++;
      }
      boolean joined = lived.get(at);
      boolean lives = joined || !died.get(at) && (whole ? endsFile(at, records, cut) : at > limit);
      for (int place = head; place != at; place = next(place)) {
        (lives ? lived : died).set(place);
      }
      if (joined) {
        met = Math.max(met, at);
      } else if (lives && met >= 0) {
        return DOUBT;
      } else if (lives) {
        met = head;
      }
    }
    return met;
  }

  /** Whether a chain of so many records that leads here ends with the file. */
  private boolean endsFile(int at, int records, boolean cut) {
    return at == window.length || cut && records >= CHAIN && at > window.length - PcapFormat.RECORD;
  }

  /** Whether a chain may go on here; what would begin none, as a packet without a byte, does not end one. */
  private boolean goesOn(int at) {
    return at <= window.length - PcapFormat.RECORD && format.follows(window, at);
  }

  private boolean isRecord(int at) {
    return at <= window.length - PcapFormat.RECORD && format.plausible(window, at);
  }

  private int next(int place) {
    return place + PcapFormat.RECORD + format.captured(window, place);
  }
}
