package io.phantoms.spark.source.stream;

import io.phantoms.spark.source.export.ExportDecoder;
import io.phantoms.spark.source.export.ExportState;
import io.phantoms.spark.source.wire.Policy;
import io.phantoms.spark.source.wire.RecordReader;
import io.phantoms.spark.source.wire.WireCounters;
import io.phantoms.spark.source.wire.WireException;
import io.phantoms.spark.source.wire.WireRecord;
import java.util.Iterator;

/**
 * The flow records of datagrams. Data whose template has not come when the datagrams end is no problem yet: it may
 * come with later ones, and is part of the {@link #state} that they are read with. Nobody can know that a template
 * will not come: {@link Policy#FAILFAST} is an error once data is given up because too much waits.
 */
public final class DatagramReader implements RecordReader {
  private final String name;
  private final Iterator<HeldDatagram> datagrams;
  private final ExportState before;
  private final ExportDecoder decoder;
  private final ReceivedDatagram current = new ReceivedDatagram();
  private final WireCounters counters = new WireCounters();
  private boolean mayHaveLost;

  /**
   * @param name what messages name
   * @param wanted the columns that are read, by ordinal
   * @param state what the exporters had said before
   */
  public DatagramReader(
      String name, Iterator<HeldDatagram> datagrams, Policy policy, boolean[] wanted, ExportState state) {
    this.name = name;
    this.datagrams = datagrams;
    this.before = state;
    this.mayHaveLost = policy == Policy.FAILFAST;
    this.decoder = new ExportDecoder(name, policy, wanted, counters, state);
  }

  @Override
  public boolean next() throws WireException {
    if (mayHaveLost) {
      before.requireNoneGivenUp(name);
      mayHaveLost = false;
    }
    while (!decoder.nextFlow()) {
      if (!datagrams.hasNext()) {
        return false;
      }
      current.set(datagrams.next());
      counters.bytes += current.length();
      decoder.decode(current);
    }
    return true;
  }

  @Override
  public WireRecord record() {
    return decoder.record();
  }

  @Override
  public WireCounters counters() {
    return counters;
  }

  /** What the exporters have said so far, those of the datagrams that were read included. */
  public ExportState state() {
    return decoder.state();
  }

  @Override
  public void close() {}
}
