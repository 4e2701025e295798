package io.phantoms.spark.source.wire;

import java.io.IOException;

/** A file without a packet: an empty one, or one that ends in its own header. */
final class NoPackets extends CaptureReader {
  private final String within;
  private boolean said;

  /**
   * @param within what the file ends in, or null
   */
  NoPackets(ByteSupply supply, Policy policy, String within) {
    super(supply, Long.MAX_VALUE, policy, null);
    this.within = within;
  }

  @Override
  Step step() throws IOException {
    if (within == null || said) {
      return Step.END;
    }
    said = true;
    return endsWithin(within);
  }

  @Override
  boolean leadsOn(int ahead) {
    return false;
  }
}
