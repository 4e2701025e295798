package io.phantoms.spark.source;

import io.phantoms.spark.source.export.ExportReader;
import io.phantoms.spark.source.export.Flows;
import io.phantoms.spark.source.wire.ByteSupply;
import io.phantoms.spark.source.wire.CaptureFile;
import io.phantoms.spark.source.wire.CaptureFiles;
import io.phantoms.spark.source.wire.CaptureReader;
import io.phantoms.spark.source.wire.Packets;
import io.phantoms.spark.source.wire.Policy;
import io.phantoms.spark.source.wire.RecordReader;
import io.phantoms.spark.source.wire.RecordSchema;
import io.phantoms.spark.source.wire.WireCounters;
import io.phantoms.spark.source.wire.WireRecord;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * What is in captures and flow exports, as JSON: a program of its own, which needs no Spark, but this jar and zstd-jni.
 *
 * <p>Arguments: the UDP ports of collectors, with commas between them, then files, each of which is read to its end; or
 * {@code --columns}, for the columns of all kinds of records.
 */
public final class LftaInfo {
  private static final int HEAD = 64;
  private static final int UDP = 17;

  private final Path path;
  private final Set<Integer> ports;
  private final Map<String, Object> found = new LinkedHashMap<>();

  private LftaInfo(Path path, Set<Integer> ports) {
    this.path = path;
    this.ports = ports;
    for (String key : List.of("file", "bytes", "compression", "kind", "format", "error", "packets", "flows")) {
      found.put(key, null);
    }
    found.put("file", path.toString());
  }

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
    out.println(Json.of(args.length == 1 && args[0].equals("--columns") ? columns() : files(args)));
  }

  private static Map<String, Object> columns() {
    Map<String, Object> all = new LinkedHashMap<>();
    for (RecordSchema schema : List.of(Packets.SCHEMA, Flows.SCHEMA)) {
      List<Map<String, Object>> fields = new ArrayList<>();
      for (RecordSchema.Field field : schema.fields()) {
        Map<String, Object> one = new LinkedHashMap<>();
        one.put("name", field.name());
        one.put("kind", field.kind().name());
        one.put("comment", field.comment());
        fields.add(one);
      }
      all.put(schema.name(), fields);
    }
    return all;
  }

  private static Map<String, Object> files(String[] args) {
    Set<Integer> ports = Arrays.stream(args[0].split(",")).map(Integer::valueOf).collect(Collectors.toSet());
    List<Map<String, Object>> all = new ArrayList<>();
    for (int i = 1; i < args.length; i++) {
      all.add(new LftaInfo(Path.of(args[i]), ports).read());
    }
    return Map.of("files", all);
  }

  /** Reads the file. An error that ends this is told beside what was read before it. */
  private Map<String, Object> read() {
    try {
      found.put("bytes", Files.size(path));
      readFile(new Local(path));
    } catch (IOException | RuntimeException | NoClassDefFoundError e) {
      found.put("error", reason(e));
    }
    return found;
  }

  private void readFile(Local file) throws IOException {
    byte[] head;
    try (ByteSupply supply = ByteSupply.decompressed(file.path(), file.open(0))) {
      if (supply.isCompressed()) {
        found.put("compression", supply.compression().name().toLowerCase(Locale.ROOT));
      }
      head = supply.head(HEAD);
      if (!CaptureFiles.recognises(head, head.length) && ExportReader.recognises(head, head.length)) {
        found.put("kind", "export");
        found.put("format", formatOfExport(head));
        flows(new ExportReader(supply, Policy.PERMISSIVE, all(Flows.COUNT)));
        return;
      }
    }
    if (head.length == 0) {
      found.put("kind", "empty");
    } else {
      readCapture(file, head);
    }
  }

  /** What is no capture is refused by its reader, which says why. */
  private void readCapture(Local file, byte[] head) throws IOException {
    CaptureReader packets = CaptureFiles.open(file, 0, Long.MAX_VALUE, Policy.PERMISSIVE, all(Packets.COUNT));
    found.put("kind", "capture");
    found.put("format", formatOfCapture(head));
    if (packets(packets)) {
      CaptureReader again = CaptureFiles.open(file, 0, Long.MAX_VALUE, Policy.PERMISSIVE, CaptureDatagrams.wanted());
      WireCounters counters = new WireCounters();
      CaptureDatagrams datagrams = new CaptureDatagrams(again, ports, counters);
      flows(new ExportReader(file.path(), datagrams, counters, Policy.PERMISSIVE, all(Flows.COUNT)));
    }
  }

  /** All fields, and behind the last one that what is wrong with a record matters. */
  private static boolean[] all(int count) {
    boolean[] wanted = new boolean[count + 1];
    Arrays.fill(wanted, true);
    return wanted;
  }

  private static String formatOfExport(byte[] head) {
    int version = head[1];
    return version == 10 ? "IPFIX messages" : "NetFlow v" + version + " datagrams";
  }

  private static String formatOfCapture(byte[] head) {
    int first = head[0] & 0xff;
    if (first == 0x0a) {
      return "pcapng";
    }
    boolean little = first != 0xa1;
    boolean nano = (head[little ? 0 : 3] & 0xff) == 0x4d;
    return "pcap, " + (nano ? "nanoseconds" : "microseconds") + ", " + (little ? "little" : "big") + "-endian";
  }

  /** Adds up packets; returns whether any may carry flow records. */
  private boolean packets(CaptureReader reader) throws IOException {
    InfoOfPackets sums = new InfoOfPackets();
    Map<String, Object> section = new LinkedHashMap<>();
    found.put("packets", section);
    boolean[] exports = new boolean[1];
    try {
      readAll(reader, Packets.FILE_OFFSET, section, packet -> {
        sums.add(packet);
        exports[0] |= packet.number(Packets.PROT) == UDP && ports.contains((int) packet.number(Packets.DSTPORT));
      });
    } finally {
      section.put("interfaces", sums.toList());
    }
    return exports[0];
  }

  private void flows(RecordReader reader) throws IOException {
    InfoOfFlows sums = new InfoOfFlows();
    Map<String, Object> section = new LinkedHashMap<>();
    found.put("flows", section);
    try {
      readAll(reader, Flows.FILE_OFFSET, section, sums::add);
    } finally {
      section.put("templates", sums.toList());
      section.put("flows_of_more_templates", sums.leftOut());
    }
  }

  /** Of errors of the file system the message may be the path alone. */
  static String reason(Throwable e) {
    boolean says = e instanceof IOException && !(e instanceof FileSystemException) && e.getMessage() != null;
    return says ? e.getMessage() : e.toString();
  }

  /** Reads to the end. What was met is told even if an error ends it. */
  private static void readAll(
      RecordReader reader, int offsetField, Map<String, Object> section, Consumer<WireRecord> each) throws IOException {
    InfoOfProblems problems = new InfoOfProblems();
    try (reader) {
      while (reader.next()) {
        WireRecord record = reader.record();
        each.accept(record);
        if (record.problem() != null) {
          problems.add(record.problem(), record.isNull(offsetField) ? null : record.number(offsetField));
        }
      }
    } finally {
      section.put("counters", counters(reader.counters()));
      section.put("problems", problems.toList());
    }
  }

  private static Map<String, Object> counters(WireCounters c) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("packets", c.packets);
    all.put("decoded", c.decoded);
    all.put("malformed", c.malformed);
    all.put("skipped", c.skipped);
    all.put("truncated", c.truncated);
    all.put("flows", c.flows);
    all.put("without_template", c.withoutTemplate);
    all.put("bytes", c.bytes);
    all.put("unreadable_bytes", c.unreadableBytes);
    return all;
  }

  /** A file of this machine. */
  private record Local(Path file) implements CaptureFile {
    @Override
    public String path() {
      return file.toString();
    }

    @Override
    public long length() {
      return file.toFile().length();
    }

    @Override
    public InputStream open(long offset) throws IOException {
      return Channels.newInputStream(FileChannel.open(file).position(offset));
    }
  }
}
