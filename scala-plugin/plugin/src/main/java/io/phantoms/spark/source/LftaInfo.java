package io.phantoms.spark.source;

import io.phantoms.spark.source.export.ExportReader;
import io.phantoms.spark.source.export.Flows;
import io.phantoms.spark.source.wire.ByteSupply;
import io.phantoms.spark.source.wire.CaptureFile;
import io.phantoms.spark.source.wire.CaptureFiles;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What is in captures and flow exports, as JSON: a program of its own, for which neither Spark nor anything else than this
 * jar is needed (and zstd-jni for files that zstd has compressed).
 *
 * <p>Arguments: files, each of which is read to its end; or {@code --columns}, for the columns of all kinds of records.
 */
public final class LftaInfo {
  private static final int HEAD = 64;

  private LftaInfo() {}

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

  private static Map<String, Object> files(String[] paths) {
    List<Map<String, Object>> all = new ArrayList<>();
    for (String path : paths) {
      all.add(file(Path.of(path)));
    }
    return Map.of("files", all);
  }

  /** What is in one file; what ends the reading of it is told, and what was read before that. */
  static Map<String, Object> file(Path path) {
    Map<String, Object> one = new LinkedHashMap<>();
    for (String key : List.of("file", "bytes", "compression", "kind", "format", "error", "counters")) {
      one.put(key, null);
    }
    for (String key : List.of("interfaces", "templates", "problems")) {
      one.put(key, List.of());
    }
    one.put("file", path.toString());
    try {
      one.put("bytes", Files.size(path));
      read(new Local(path), one);
    } catch (IOException | RuntimeException | NoClassDefFoundError e) {
      one.put("error", e instanceof IOException && e.getMessage() != null ? e.getMessage() : e.toString());
    }
    return one;
  }

  private static void read(Local file, Map<String, Object> one) throws IOException {
    byte[] head = head(file, one);
    if (head.length == 0) {
      one.put("kind", "empty");
    } else if (ExportReader.recognises(head, head.length)) {
      one.put("kind", "export");
      one.put("format", formatOfExport(head));
      InfoOfFlows flows = new InfoOfFlows();
      ByteSupply supply = ByteSupply.decompressed(file.path(), file.open(0));
      readAll(new ExportReader(file.path(), new SuppliedInput(supply), Policy.PERMISSIVE, all(Flows.COUNT)), flows::add,
          Flows.FILE_OFFSET, one);
      one.put("templates", flows.toList());
    } else {
      // What is no capture either is refused by its reader, which says why.
      RecordReader reader = CaptureFiles.open(file, 0, Long.MAX_VALUE, Policy.PERMISSIVE, all(Packets.COUNT));
      one.put("kind", "capture");
      one.put("format", formatOfCapture(head));
      InfoOfPackets packets = new InfoOfPackets();
      readAll(reader, packets::add, Packets.FILE_OFFSET, one);
      one.put("interfaces", packets.toList());
    }
  }

  private static boolean[] all(int count) {
    boolean[] wanted = new boolean[count];
    Arrays.fill(wanted, true);
    return wanted;
  }

  /** The first bytes, decompressed; and how they were compressed. */
  private static byte[] head(Local file, Map<String, Object> one) throws IOException {
    try (InputStream in = file.open(0)) {
      byte[] raw = in.readNBytes(4);
      if (raw.length >= 2 && raw[0] == 0x1f && (raw[1] & 0xff) == 0x8b) {
        one.put("compression", "gzip");
      } else if (raw.length == 4 && (raw[0] & 0xff) == 0x28 && (raw[1] & 0xff) == 0xb5) {
        one.put("compression", "zstd");
      }
    }
    try (ByteSupply supply = ByteSupply.decompressed(file.path(), file.open(0))) {
      supply.ensure(HEAD);
      int n = Math.min(HEAD, supply.available());
      return Arrays.copyOfRange(supply.buffer(), supply.position(), supply.position() + n);
    }
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

  /** Reads to the end. What was met is told even if an error ends it. */
  private static void readAll(RecordReader reader, Consumer<WireRecord> each, int offsetField, Map<String, Object> one)
      throws IOException {
    InfoOfProblems problems = new InfoOfProblems();
    try (reader) {
      while (reader.next()) {
        WireRecord record = reader.record();
        each.accept(record);
        if (record.problem() != null) {
          problems.add(record.problem(), record.number(offsetField));
        }
      }
    } finally {
      one.put("counters", counters(reader.counters()));
      one.put("problems", problems.toList());
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

  /** Bytes that were decompressed, as a stream. */
  private static final class SuppliedInput extends InputStream {
    private final ByteSupply supply;

    SuppliedInput(ByteSupply supply) {
      this.supply = supply;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] to, int from, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      if (!supply.ensure(1)) {
        if (supply.failure() != null) {
          throw new IOException(supply.name() + ": " + supply.failure());
        }
        return -1;
      }
      int n = Math.min(length, supply.available());
      System.arraycopy(supply.buffer(), supply.position(), to, from, n);
      supply.skip(n);
      return n;
    }

    @Override
    public void close() throws IOException {
      supply.close();
    }
  }
}
