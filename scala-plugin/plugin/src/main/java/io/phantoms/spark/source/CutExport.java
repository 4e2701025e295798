package io.phantoms.spark.source;

import io.phantoms.spark.source.wire.ByteSupply;
import io.phantoms.spark.source.wire.Policy;
import io.phantoms.spark.source.wire.RecordReader;
import io.phantoms.spark.source.wire.WireCounters;
import io.phantoms.spark.source.wire.WireException;
import io.phantoms.spark.source.wire.WireRecord;
import java.io.IOException;
import java.util.Map;

/** The flows of a file, and behind them what kept the file from being read to its end, if anything did. */
final class CutExport implements RecordReader {
  private final RecordReader flows;
  private final ByteSupply supply;
  private final Policy policy;
  private boolean atEnd;

  CutExport(RecordReader flows, ByteSupply supply, Policy policy) {
    this.flows = flows;
    this.supply = supply;
    this.policy = policy;
  }

  @Override
  public boolean next() throws IOException {
    if (atEnd) {
      return false;
    }
    if (flows.next()) {
      return true;
    }
    atEnd = true;
    if (supply.failure() == null) {
      return false;
    }
    counters().packets++;
    counters().malformed++;
    if (policy == Policy.FAILFAST) {
      throw new WireException(supply.name(), supply.offset(), supply.failure(),
          "Set mode to PERMISSIVE to see it as a row with _malformed, or to DROPMALFORMED to leave it out");
    }
    return policy == Policy.PERMISSIVE;
  }

  @Override
  public WireRecord record() {
    return atEnd ? new Nothing(supply.failure()) : flows.record();
  }

  @Override
  public WireCounters counters() {
    return flows.counters();
  }

  @Override
  public void close() throws IOException {
    flows.close();
  }

  private record Nothing(String problem) implements WireRecord {
    @Override
    public boolean isNull(int field) {
      return true;
    }

    @Override
    public long number(int field) {
      return 0;
    }

    @Override
    public byte[] bytes(int field) {
      return null;
    }

    @Override
    public int addressLength(int field) {
      return 0;
    }

    @Override
    public long addressHigh(int field) {
      return 0;
    }

    @Override
    public long addressLow(int field) {
      return 0;
    }

    @Override
    public Map<String, byte[]> map(int field) {
      return null;
    }
  }
}
