package io.phantoms.spark.source.export;

import java.io.IOException;

import io.phantoms.spark.source.wire.ByteSupply;
import io.phantoms.spark.source.wire.Policy;
import io.phantoms.spark.source.wire.RecordReader;
import io.phantoms.spark.source.wire.WireCounters;

/** Flow records of NetFlow v5, v9 and IPFIX: of a file of datagrams, or of any other source of them. */
public final class ExportReader implements RecordReader {
  private final DatagramSource source;
  private final WireCounters counters;
  private final ExportDecoder decoder;
  private boolean ended;

  /**
   * A file of datagrams, one after another. In any mode it is an error if it does not begin with one; an empty file has
   * no records.
   *
   * @param supply its bytes from the first one on; closed by this reader
   * @param wanted the columns of {@link Flows#SCHEMA} that are read, by ordinal; others may be NULL
   */
  public ExportReader(ByteSupply supply, Policy policy, boolean[] wanted) {
    this(supply, new WireCounters(), policy, wanted);
  }

  private ExportReader(ByteSupply supply, WireCounters counters, Policy policy, boolean[] wanted) {
    this(supply.name(), new FileDatagrams(supply, counters), counters, policy, wanted);
  }

  /**
   * Any source of datagrams.
   *
   * @param name the file or address that messages name
   * @param source closed by this reader
   * @param counters the source's, too
   */
  public ExportReader(String name, DatagramSource source, WireCounters counters, Policy policy, boolean[] wanted) {
    this.source = source;
    this.counters = counters;
    decoder = new ExportDecoder(name, policy, wanted, counters);
  }

  /** Whether a file whose first n bytes are these is one of datagrams; 24 bytes are enough to tell. */
  public static boolean recognises(byte[] head, int n) {
    return Framing.recognises(head, n);
  }

  /** Whether it is one of nfdump's own: these hold flows, too, and are refused with what to do about them. */
  public static boolean isOfNfdump(byte[] head, int n) {
    return FileDatagrams.isOfNfdump(head, n);
  }

  @Override
  public boolean next() throws IOException {
    while (!decoder.nextFlow()) {
      if (ended) {
        return false;
      }
      if (!source.next()) {
        ended = true;
        decoder.finish();
      } else if (source.problem() != null) {
        decoder.refuse(source.offset(), source.problem());
      } else {
        decoder.decode(source);
      }
    }
    return true;
  }

  @Override
  public FlowRecord record() {
    return decoder.record();
  }

  @Override
  public WireCounters counters() {
    return counters;
  }

  /** Templates that were forgotten because there were too many of them. */
  public long droppedTemplates() {
    return decoder.droppedTemplates();
  }

  @Override
  public void close() throws IOException {
    source.close();
  }
}
