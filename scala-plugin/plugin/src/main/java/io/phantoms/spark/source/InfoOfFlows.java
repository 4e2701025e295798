package io.phantoms.spark.source;

import io.phantoms.spark.source.export.Flows;
import io.phantoms.spark.source.stream.Exporter;
import io.phantoms.spark.source.wire.RecordSchema;
import io.phantoms.spark.source.wire.WireRecord;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Flow records added up by exporter, observation domain and template. */
final class InfoOfFlows {
  private static final int MOST_TEMPLATES = 10_000;
  private static final int MOST_NAMES = 1000;

  private final Map<Key, Template> templates = new LinkedHashMap<>();
  private long leftOut;

  private record Key(String exporter, long version, long domain, long template) {}

  private static final class Template {
    private final Span span = new Span();
    private final Span exported = new Span();
    private final BitSet columns = new BitSet();
    private final TreeSet<String> other = new TreeSet<>();
    private long flows;
    private long packets;
    private long octets;
    private long sampling;
  }

  void add(WireRecord flow) {
    if (flow.isNull(Flows.VERSION)) {
      return; // a place of the file that no datagram could be made of
    }
    long id = flow.isNull(Flows.TEMPLATE) ? -1 : flow.number(Flows.TEMPLATE);
    Key key = new Key(exporter(flow), flow.number(Flows.VERSION), flow.number(Flows.DOMAIN), id);
    Template of = templates.get(key);
    if (of == null) {
      if (templates.size() >= MOST_TEMPLATES) {
        leftOut++;
        return;
      }
      of = new Template();
      templates.put(key, of);
    }
    of.flows++;
    of.packets += flow.number(Flows.PACKETS);
    of.octets += flow.number(Flows.OCTETS);
    of.sampling = Math.max(of.sampling, flow.number(Flows.SAMPLING));
    of.span.add(flow, Flows.FIRST);
    of.span.add(flow, Flows.LAST);
    of.exported.add(flow, Flows.EXPORT_TIME);
    for (int i = 0; i < Flows.COUNT; i++) {
      if (!flow.isNull(i)) {
        of.columns.set(i);
      }
    }
    Map<String, byte[]> others = flow.map(Flows.OTHER);
    if (others != null && of.other.size() < MOST_NAMES) {
      of.other.addAll(others.keySet());
    }
  }

  private static String exporter(WireRecord flow) {
    int length = flow.addressLength(Flows.EXPORTER);
    long high = flow.addressHigh(Flows.EXPORTER);
    return length == 0 ? null : new Exporter(high, flow.addressLow(Flows.EXPORTER), length).text();
  }

  /** Flow records of templates that are too many to be shown. */
  long leftOut() {
    return leftOut;
  }

  List<Map<String, Object>> toList() {
    List<Map<String, Object>> all = new ArrayList<>();
    templates.forEach((key, of) -> {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("exporter", key.exporter);
      one.put("version", key.version);
      one.put("domain", key.domain);
      one.put("template", key.template < 0 ? null : key.template);
      one.put("flows", of.flows);
      one.put("packets", of.packets);
      one.put("octets", of.octets);
      one.put("first", of.span.first());
      one.put("last", of.span.last());
      one.put("first_exported", of.exported.first());
      one.put("last_exported", of.exported.last());
      one.put("sampling", of.sampling == 0 ? null : of.sampling);
      one.put("columns", columns(of.columns));
      one.put("other", new ArrayList<>(of.other));
      all.add(one);
    });
    return all;
  }

  /** Columns of the record itself that ever had a value. */
  private static List<String> columns(BitSet seen) {
    List<String> names = new ArrayList<>();
    List<RecordSchema.Field> fields = Flows.SCHEMA.fields();
    for (int i = 0; i < Flows.EXPORTER; i++) {
      if (seen.get(i)) {
        names.add(fields.get(i).name());
      }
    }
    return names;
  }
}
