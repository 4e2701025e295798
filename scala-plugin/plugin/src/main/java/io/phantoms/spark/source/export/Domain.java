package io.phantoms.spark.source.export;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * What an exporter's observation domain has said of itself: templates, and options about sampling and its own start.
 */
final class Domain {
  /** Samplers that are kept; the oldest goes. */
  static final int MAX_SAMPLERS = 256;

  /** Interfaces have their samplers in the same map, under numbers that 32 bits do not reach. */
  private static final long INTERFACE = 1L << 62;

  final Origin origin;
  Map<Integer, Template> records = new HashMap<>();
  Map<Integer, Template> options = new HashMap<>();

  /** Their intervals, negative if what was said holds for records only that name the sampler. */
  private final Map<Long, Long> samplers = new LinkedHashMap<>(4);
  private long interval;
  private long initMillis = -1;

  Domain(Origin origin) {
    this.origin = origin;
  }

  Template template(int id) {
    Template template = records.get(id);
    return template != null || options.isEmpty() ? template : options.get(id);
  }

  /** When the exporter started, in milliseconds since 1970, or -1. */
  long initMillis() {
    return initMillis;
  }

  void initMillis(long millis) {
    initMillis = millis;
  }

  /**
   * Notes a sampling interval.
   *
   * @param sampler whose it is, or -1
   * @param input the interface for which it holds, or -1; of all, if both are -1
   * @param system whether it was said of the exporter that it has this sampler
   */
  void sampling(long sampler, long input, long packets, boolean system) {
    if (sampler < 0 && input < 0) {
      interval = packets;
      return;
    }
    samplers.put(sampler >= 0 ? sampler & ~INTERFACE : input | INTERFACE, system ? packets : -packets);
    if (samplers.size() > MAX_SAMPLERS) {
      samplers.remove(samplers.keySet().iterator().next());
    }
  }

  /** The interval in force for records of this sampler (or -1) and input interface (or -1); 0 if not known. */
  long samplingOf(long sampler, long input) {
    Long known = samplers.isEmpty() ? null : known(sampler, input);
    return known != null ? Math.abs(known) : interval;
  }

  /**
   * The interval of the exporter's only sampler, 0 if there is none or there are more: exporters that have one need not
   * say in each record that it was that one.
   */
  long onlySampler() {
    if (samplers.size() != 1) {
      return 0;
    }
    Map.Entry<Long, Long> only = samplers.entrySet().iterator().next();
    return only.getKey() < INTERFACE ? Math.max(0, only.getValue()) : 0;
  }

  private Long known(long sampler, long input) {
    Long named = sampler >= 0 ? samplers.get(sampler & ~INTERFACE) : null;
    return named == null && input >= 0 ? samplers.get(input | INTERFACE) : named;
  }

  /** What it has said beside its templates. */
  ExportState.Said said() {
    long[] pairs = samplers.entrySet().stream().flatMapToLong(e -> LongStream.of(e.getKey(), e.getValue())).toArray();
    return new ExportState.Said(origin, interval, initMillis, pairs);
  }

  /** Takes over what was said before. */
  void resume(ExportState.Said said) {
    interval = said.interval();
    initMillis = said.initMillis();
    for (int i = 0; i < said.samplers().length; i += 2) {
      samplers.put(said.samplers()[i], said.samplers()[i + 1]);
    }
  }

  /** How many samplers are known. */
  int samplers() {
    return samplers.size();
  }
}
