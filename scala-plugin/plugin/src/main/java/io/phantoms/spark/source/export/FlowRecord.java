package io.phantoms.spark.source.export;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

import io.phantoms.spark.source.wire.WireRecord;

/**
 * A flow: numbers and addresses in arrays by column, other fields as places in the datagram until someone asks for
 * them.
 */
public final class FlowRecord implements WireRecord {
  private static final long MACS = 1L << Flows.SRC_MAC | 1L << Flows.DST_MAC;

  /** A bit for each column that has a value, and for each that is an IPv6 address. */
  private long present;
  private long wide;
  private final long[] low = new long[Flows.COUNT];
  private final long[] high = new long[Flows.COUNT];

  /** What all records of a data set have in common, set when the set begins. */
  private long setPresent;
  private long setWide;

  private byte[] bytes;
  private Template template;
  private int others;
  private int[] otherField = new int[16];
  private int[] otherFrom = new int[16];
  private int[] otherLength = new int[16];

  private String problem;

  /** Begins a data set: its records are in these bytes and described by this template. */
  void beginSet(DatagramHeader header, Template described, byte[] datagram) {
    clear();
    bytes = datagram;
    template = described;
    if (described.version() != 5) {
      number(Flows.TEMPLATE, described.id());
    }
    beginHeader(header);
  }

  /** Becomes a record that has only what the datagram's header says, and what was wrong. */
  void describe(DatagramHeader header, int templateId, String wrong) {
    clear();
    if (templateId >= 0) {
      number(Flows.TEMPLATE, templateId);
    }
    if (header != null) {
      beginHeader(header);
    }
    problem = wrong;
  }

  /** Becomes a record of which no more is known than where in the file something was wrong. */
  void describe(long fileOffset, String wrong) {
    clear();
    number(Flows.FILE_OFFSET, fileOffset);
    problem = wrong;
  }

  private void clear() {
    present = 0;
    wide = 0;
    others = 0;
    problem = null;
  }

  private void beginHeader(DatagramHeader header) {
    Origin origin = header.origin();
    if (origin.addressLength() == 16) {
      address(Flows.EXPORTER, origin.addressHigh(), origin.addressLow());
    } else if (origin.addressLength() == 4) {
      number(Flows.EXPORTER, origin.addressLow());
    }
    number(Flows.EXPORT_TIME, header.exportMicros());
    number(Flows.VERSION, origin.version());
    number(Flows.DOMAIN, origin.domain());
    number(Flows.SEQUENCE, header.sequence());
    number(Flows.FILE_OFFSET, header.fileOffset());
    if (header.sampling() > 0) {
      number(Flows.SAMPLING, header.sampling());
    }
    setPresent = present;
    setWide = wide;
  }

  /** Begins a record of the set. */
  void beginRecord() {
    present = setPresent;
    wide = setWide;
    others = 0;
  }

  /** The values of columns; whoever writes to them {@link #mark}s the columns. */
  long[] numbers() {
    return low;
  }

  /** Notes that these columns, a bit each, have a value. */
  void mark(long columns) {
    present |= columns;
  }

  boolean has(int column) {
    return (present >>> column & 1) != 0;
  }

  /** Whether the column has a value that says something: an unused one of two alternative fields is 0. */
  boolean says(int column) {
    return has(column) && (low[column] != 0 || (wide >>> column & 1) != 0 && high[column] != 0);
  }

  /** Sets a number or an IPv4 address. */
  void number(int column, long value) {
    present |= 1L << column;
    wide &= ~(1L << column);
    low[column] = value;
  }

  /** Sets an IPv6 address. */
  void address(int column, long upper, long lower) {
    present |= 1L << column;
    wide |= 1L << column;
    high[column] = upper;
    low[column] = lower;
  }

  /** Adds a field of the template that has no column, or whose value does not fit it. */
  void other(int field, int from, int length) {
    if (others == otherField.length) {
      otherField = Arrays.copyOf(otherField, 2 * others);
      otherFrom = Arrays.copyOf(otherFrom, 2 * others);
      otherLength = Arrays.copyOf(otherLength, 2 * others);
    }
    otherField[others] = field;
    otherFrom[others] = from;
    otherLength[others++] = length;
    present |= 1L << Flows.OTHER;
  }

  @Override
  public boolean isNull(int field) {
    return !has(field);
  }

  @Override
  public long number(int field) {
    return has(field) ? low[field] : 0;
  }

  @Override
  public byte[] bytes(int field) {
    if (!has(field)) {
      return null;
    }
    boolean sixteen = (wide >>> field & 1) != 0;
    int length = sixteen ? 16 : (MACS >>> field & 1) != 0 ? 6 : 4;
    byte[] value = new byte[length];
    put(value, length, low[field]);
    if (sixteen) {
      put(value, 8, high[field]);
    }
    return value;
  }

  /** Writes the number's lower bytes before {@code end}, as many as there is room for, at most 8. */
  private static void put(byte[] to, int end, long value) {
    long rest = value;
    for (int i = end - 1; i >= Math.max(0, end - 8); i--) {
      to[i] = (byte) rest;
      rest >>>= 8;
    }
  }

  @Override
  public int addressLength(int field) {
    return !has(field) ? 0 : (wide >>> field & 1) != 0 ? 16 : 4;
  }

  @Override
  public long addressHigh(int field) {
    return addressLength(field) == 16 ? high[field] : 0;
  }

  @Override
  public long addressLow(int field) {
    return number(field);
  }

  /** Fields without a column; where a record has one twice, the second is called {@code name#2}, and so on. */
  @Override
  public Map<String, byte[]> map(int field) {
    if (!has(field)) {
      return null;
    }
    Map<String, byte[]> map = new LinkedHashMap<>();
    Map<String, Integer> times = new HashMap<>();
    for (int i = 0; i < others; i++) {
      String name = template.fieldName(otherField[i]);
      int time = times.merge(name, 1, Integer::sum);
      byte[] value = Arrays.copyOfRange(bytes, otherFrom[i], otherFrom[i] + otherLength[i]);
      map.put(time == 1 ? name : name + "#" + time, value);
    }
    return map;
  }

  @Override
  public String problem() {
    return problem;
  }
}
