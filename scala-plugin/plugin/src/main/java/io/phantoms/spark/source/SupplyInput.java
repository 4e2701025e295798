package io.phantoms.spark.source;

import io.phantoms.spark.source.wire.ByteSupply;
import java.io.IOException;
import java.io.InputStream;

/** A file's bytes, decompressed, as a stream. */
final class SupplyInput extends InputStream {
  private final ByteSupply supply;

  SupplyInput(ByteSupply supply) {
    this.supply = supply;
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
    if (!supply.ensure(1)) {
      return -1;
    }
    int n = Math.min(length, supply.available());
    System.arraycopy(supply.buffer(), supply.position(), to, from, n);
    supply.skip(n);
    return n;
  }

  @Override
  public void close() throws IOException {
    supply.close();
  }
}
