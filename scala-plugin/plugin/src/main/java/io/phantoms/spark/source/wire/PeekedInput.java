package io.phantoms.spark.source.wire;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** A stream whose first four bytes can be looked at before they are read. */
final class PeekedInput extends FilterInputStream {
  private final byte[] head = new byte[4];
  private int have;
  private int given;

  PeekedInput(InputStream in) throws IOException {
    super(in);
    have = in.readNBytes(head, 0, head.length);
  }

  /** The first four bytes in network order; 0 for those that a shorter file has not. */
  int peek() {
    return Bytes.i32(head, 0);
  }

  @Override
  public int read() throws IOException {
    return given < have ? head[given++] & 0xff : in.read();
  }

  @Override
  public int read(byte[] to, int from, int length) throws IOException {
    int n = Math.min(length, have - given);
    if (n > 0) {
      System.arraycopy(head, given, to, from, n);
      given += n;
      return n;
    }
    return in.read(to, from, length);
  }

  @Override
  public long skip(long n) throws IOException {
    long kept = Math.min(n, have - given);
    if (kept > 0) {
      given += (int) kept;
      return kept;
    }
    return in.skip(n);
  }

  @Override
  public int available() throws IOException {
    return have - given + in.available();
  }

  @Override
  public boolean markSupported() {
    return false;
  }
}
