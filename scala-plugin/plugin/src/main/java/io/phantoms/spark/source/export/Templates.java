package io.phantoms.spark.source.export;

import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The templates of all exporters. Whoever can send datagrams can define templates, so there is a bound to them: beyond
 * it the one that was not repeated for the longest time goes. With it goes the way to read its data, which then waits.
 */
final class Templates {
  static final int MAX_TEMPLATES = 100_000;
  static final long MAX_BYTES = 16L << 20;
  static final int MAX_DOMAINS = 10_000;
  static final int MAX_SAMPLERS = 65_536;

  private final LinkedHashMap<Origin, Domain> domains = new LinkedHashMap<>(16, 0.75f, true);

  /** Oldest first; templates are equal only to themselves. */
  private final LinkedHashMap<Template, Domain> order = new LinkedHashMap<>();

  private long bytes;
  private int samplers;
  private long dropped;

  /** The domain, if it has said anything; it counts as used now. */
  Domain find(Origin origin) {
    return domains.get(origin);
  }

  Domain findOrAdd(Origin origin) {
    Domain domain = domains.get(origin);
    if (domain == null) {
      domain = new Domain(origin);
      domains.put(origin, domain);
      if (domains.size() > MAX_DOMAINS) {
        dropEldest();
      }
    }
    return domain;
  }

  void define(Domain domain, Template template) {
    forget(domain, template.id());
    (template.options() ? domain.options : domain.records).put(template.id(), template);
    order.put(template, domain);
    bytes += template.bytes();
    while (order.size() > 1 && (order.size() > MAX_TEMPLATES || bytes > MAX_BYTES)) {
      Map.Entry<Template, Domain> oldest = order.entrySet().iterator().next();
      forget(oldest.getValue(), oldest.getKey().id());
      dropped++;
    }
  }

  /** Notes that the exporter repeated what it said. */
  void repeated(Domain domain, Template template) {
    order.remove(template);
    order.put(template, domain);
  }

  /** Takes back what the domain said of this id; whether there was anything. */
  boolean forget(Domain domain, int id) {
    Template template = domain.records.remove(id);
    if (template == null) {
      template = domain.options.remove(id);
    }
    if (template != null) {
      order.remove(template);
      bytes -= template.bytes();
    }
    return template != null;
  }

  /** Takes back all that the domain said of records, or of options. */
  void forgetAll(Domain domain, boolean options) {
    Map<Integer, Template> all = options ? domain.options : domain.records;
    if (all.isEmpty()) {
      return;
    }
    for (Template template : all.values()) {
      order.remove(template);
      bytes -= template.bytes();
    }
    // A map that was large once takes long to look through for ever.
    if (options) {
      domain.options = new HashMap<>();
    } else {
      domain.records = new HashMap<>();
    }
  }

  void sampling(Domain domain, long sampler, long input, long packets, boolean system) {
    int before = domain.samplers();
    domain.sampling(sampler, input, packets, system);
    samplers += domain.samplers() - before;
    while (samplers > MAX_SAMPLERS && domains.size() > 1) {
      dropEldest();
    }
  }

  private void dropEldest() {
    Iterator<Domain> eldest = domains.values().iterator();
    Domain domain = eldest.next();
    eldest.remove();
    dropped += domain.records.size() + domain.options.size();
    forgetAll(domain, false);
    forgetAll(domain, true);
    samplers -= domain.samplers();
  }

  /** What domains have said beside their templates, the one used longest ago first. */
  List<ExportState.Said> said() {
    return domains.values().stream().map(Domain::said).toList();
  }

  /** As they were defined, the one repeated longest ago first. */
  List<ExportState.Defined> defined() {
    return order.entrySet().stream()
        .map(e -> new ExportState.Defined(e.getValue().origin, e.getKey().options(), e.getKey().definition()))
        .toList();
  }

  /** Takes over what a domain has said before. */
  void resume(ExportState.Said said) {
    Domain domain = findOrAdd(said.origin());
    domain.resume(said);
    samplers += domain.samplers();
  }

  /** Templates that went because there were too many. */
  long dropped() {
    return dropped;
  }

  int size() {
    return order.size();
  }

  long bytes() {
    return bytes;
  }
}
