package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import java.util.zip.ZipException;

/**
 * A gzip file of any number of members (RFC 1952).
 *
 * <p>Not {@link java.util.zip.GZIPInputStream}: that one takes a member for the last if the stream happens to have
 * nothing at hand, and does not say so if what follows is damaged; either way the rest of a file would be missing.
 */
final class GzipMembers extends InputStream {
  private static final int HEADER_CRC = 2;
  private static final int EXTRA = 4;
  private static final int NAME = 8;
  private static final int COMMENT = 16;

  private final InputStream in;
  private final Inflater inflater = new Inflater(true);
  private final CRC32 crc = new CRC32();
  private final byte[] input = new byte[64 << 10];
  private int next;
  private int limit;
  private boolean inMember;
  private boolean any;

  GzipMembers(InputStream in) {
    this.in = in;
  }

  /** Whether a file whose first four bytes are these is one of gzip. */
  static boolean starts(int first) {
    return first >>> 16 == 0x1f8b;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] to, int from, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    while (true) {
      if (!inMember && !begin()) {
        return -1;
      }
      int got = inflate(to, from, length);
      if (got > 0) {
        crc.update(to, from, got);
        return got;
      }
      if (inflater.finished()) {
        end();
      } else if (inflater.needsDictionary()) {
        throw new ZipException("a dictionary that gzip does not have");
      } else if (inflater.needsInput()) {
        if (!refill()) {
          throw new ZipException("the gzip stream ends in the middle of a member");
        }
        inflater.setInput(input, next, limit - next);
      }
    }
  }

  private int inflate(byte[] to, int from, int length) throws ZipException {
    try {
      return inflater.inflate(to, from, length);
    } catch (DataFormatException e) {
      throw new ZipException("damaged gzip stream: " + e.getMessage());
    }
  }

  /** Goes over a member's header; false where the file ends, or nothing but zeros follows (tapes pad with them). */
  private boolean begin() throws IOException {
    int first = octet();
    while (any && first == 0) {
      first = octet();
    }
    if (first < 0) {
      return false;
    }
    if (first != 0x1f || required() != 0x8b || required() != 8) {
      throw new ZipException("what follows a gzip member is none");
    }
    int flags = required();
    skip(6);
    if ((flags & EXTRA) != 0) {
      skip(required() | required() << 8);
    }
    if ((flags & NAME) != 0) {
      skipText();
    }
    if ((flags & COMMENT) != 0) {
      skipText();
    }
    if ((flags & HEADER_CRC) != 0) {
      skip(2);
    }
    inflater.reset();
    inflater.setInput(input, next, limit - next);
    crc.reset();
    inMember = true;
    any = true;
    return true;
  }

  private void end() throws IOException {
    next = limit - inflater.getRemaining();
    long sum = little() & 0xffffffffL;
    int size = little();
    if (sum != crc.getValue() || size != (int) inflater.getBytesWritten()) {
      throw new ZipException("a gzip member's checksum is wrong");
    }
    inMember = false;
  }

  private int little() throws IOException {
    return required() | required() << 8 | required() << 16 | required() << 24;
  }

  private void skip(int n) throws IOException {
    for (int i = 0; i < n; i++) {
      required();
    }
  }

  private void skipText() throws IOException {
    while (required() != 0) {
      // The text is not wanted.
      continue;
    }
  }

  private int required() throws IOException {
    int b = octet();
    if (b < 0) {
      throw new ZipException("the gzip stream ends in a header");
    }
    return b;
  }

  private int octet() throws IOException {
    return next < limit || refill() ? input[next++] & 0xff : -1;
  }

  private boolean refill() throws IOException {
    int got = in.read(input, 0, input.length);
    next = 0;
    limit = Math.max(got, 0);
    return got > 0;
  }

  @Override
  public void close() throws IOException {
    inflater.end();
    in.close();
  }
}
