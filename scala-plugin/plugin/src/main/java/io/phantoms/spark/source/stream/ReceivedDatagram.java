package io.phantoms.spark.source.stream;

import io.phantoms.spark.source.export.Datagram;

/** A held datagram as decoders see it; one object for one after the other. */
final class ReceivedDatagram implements Datagram {
  private HeldDatagram held;

  void set(HeldDatagram datagram) {
    held = datagram;
  }

  @Override
  public byte[] bytes() {
    return held.bytes();
  }

  @Override
  public int from() {
    return 0;
  }

  @Override
  public int length() {
    return held.bytes().length;
  }

  @Override
  public long offset() {
    return 0;
  }

  @Override
  public long timeNanos() {
    return held.nanos();
  }

  @Override
  public long exporterHigh() {
    return held.sender().high();
  }

  @Override
  public long exporterLow() {
    return held.sender().low();
  }

  @Override
  public int exporterLength() {
    return held.sender().length();
  }

  @Override
  public int exporterPort() {
    return held.port();
  }
}
