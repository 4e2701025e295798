package io.phantoms.spark.source.export;

import java.io.Serializable;
import java.util.List;

import io.phantoms.spark.source.wire.WireException;

/**
 * What exporters have said that the datagrams to come are read with: templates, sampling, their start, and data that
 * still waits for its template; and whose data waited in vain, as there was no room for more. {@link ExportDecoder#state} tells it, another decoder begins with it, on another
 * machine perhaps. It is as bounded as the decoder's own memory is.
 */
public final class ExportState implements Serializable {
  private static final long serialVersionUID = 1;

  /** Nothing. */
  public static final ExportState NONE = new ExportState(List.of(), List.of(), List.of(), List.of());

  private final List<Said> domains;
  private final List<Defined> templates;
  private final List<Waiting> waiting;
  private final List<GivenUp> givenUp;

  /**
   * @param domains the one that was used longest ago first
   * @param templates the one that was repeated longest ago first
   * @param waiting oldest first
   * @param givenUp the last set of each domain that was given up for want of room
   */
  ExportState(List<Said> domains, List<Defined> templates, List<Waiting> waiting, List<GivenUp> givenUp) {
    this.domains = domains;
    this.templates = templates;
    this.waiting = waiting;
    this.givenUp = givenUp;
  }

  List<Said> domains() {
    return domains;
  }

  List<Defined> templates() {
    return templates;
  }

  List<Waiting> waiting() {
    return waiting;
  }

  List<GivenUp> givenUp() {
    return givenUp;
  }

  /** Whether nothing was said. */
  public boolean isEmpty() {
    return domains.isEmpty() && templates.isEmpty() && waiting.isEmpty() && givenUp.isEmpty();
  }

  /** What these exporters have said. */
  public ExportState of(Exporters chosen) {
    return new ExportState(
        domains.stream().filter(d -> has(chosen, d.origin())).toList(),
        templates.stream().filter(t -> has(chosen, t.origin())).toList(),
        waiting.stream().filter(w -> has(chosen, w.header().origin())).toList(),
        givenUp.stream().filter(g -> has(chosen, g.header().origin())).toList());
  }

  /**
   * For readers that are to fail where anything is lost: data of these exporters may have been given up by who reads
   * those of all, for whose data together there was no room.
   *
   * @param name what the message names
   * @throws WireException if any was
   */
  public void requireNoneGivenUp(String name) throws WireException {
    if (!givenUp.isEmpty()) {
      GivenUp first = givenUp.get(0);
      throw new WireException(name, first.header().fileOffset(), first.text(),
          "Modes PERMISSIVE and DROPMALFORMED read on, and count it");
    }
  }

  private static boolean has(Exporters chosen, Origin origin) {
    return chosen.has(origin.addressHigh(), origin.addressLow(), origin.addressLength());
  }

  /** Some of the exporters. */
  @FunctionalInterface
  public interface Exporters {
    /** Whether the exporter of this address is one of them; the address is as in {@link Datagram}. */
    boolean has(long high, long low, int length);
  }

  /**
   * What a domain has said beside its templates.
   *
   * @param samplers the domain's own names of samplers and their intervals, in turns
   */
  record Said(Origin origin, long interval, long initMillis, long[] samplers) implements Serializable {}

  /** A template, as the exporter defined it. */
  record Defined(Origin origin, boolean options, byte[] definition) implements Serializable {}

  /** What is left of a data set whose template did not come. */
  record GivenUp(DatagramHeader header, int template, int length) implements Serializable {
    String text() {
      return "a data set of " + length + " bytes: no template " + template + " of " + header.origin().text() + " came";
    }
  }

  /** A data set without a template. */
  record Waiting(DatagramHeader header, int template, byte[] bytes) implements Serializable {}
}
