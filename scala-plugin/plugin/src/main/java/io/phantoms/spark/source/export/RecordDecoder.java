package io.phantoms.spark.source.export;

import java.util.Arrays;

import io.phantoms.spark.source.export.Kind.Register;
import io.phantoms.spark.source.wire.Bytes;
import io.phantoms.spark.source.wire.FieldKind;

/** Makes the values of a record from its bytes, by its template. */
final class RecordDecoder {
  /** NTP counts from 1900; its seconds wrap around in 2036. */
  private static final long NTP_TO_UNIX = 2_208_988_800L;
  private static final long NTP_ERA = 1L << 32;

  private static final long MAX_SECONDS = Long.MAX_VALUE / 1_000_000;
  private static final long MAX_MILLIS = Long.MAX_VALUE / 1_000;

  /**
   * When an uptime of 32 bits begins at 0 again; a flow is rather 49 days old than it ends in more than an hour from
   * now.
   */
  private static final long UPTIME_WRAP = 1L << 32;
  private static final long MAX_AGE = UPTIME_WRAP - 3_600_000;

  /** The largest value of each column of numbers. */
  private static final long[] LARGEST = new long[Flows.COUNT];

  static {
    for (int i = 0; i < Flows.COUNT; i++) {
      LARGEST[i] = Flows.SCHEMA.fields().get(i).kind() == FieldKind.INT ? Integer.MAX_VALUE : Long.MAX_VALUE;
    }
  }

  /** Where a 0 is a value like others. In addresses, ports and the like it is how an unused field is sent. */
  private static final boolean[] ZERO_COUNTS = new boolean[Flows.COUNT];

  static {
    for (int column : new int[] {Flows.INPUT, Flows.OUTPUT, Flows.PACKETS, Flows.OCTETS}) {
      ZERO_COUNTS[column] = true;
    }
  }

  private final Needs needs;
  private final long[] registers = new long[Register.COUNT];
  private final Icmp icmp = new Icmp();

  RecordDecoder(Needs needs) {
    this.needs = needs;
  }

  /** The number that the record has for this {@link Register}, or -1. */
  long register(int register) {
    return registers[register];
  }

  /**
   * Reads a record.
   *
   * @param base where it begins
   * @param at where its fields begin, counted from there
   * @param domain what options said of its domain, or null
   */
  void decode(
      Template template, byte[] b, int base, int[] at, int[] lengths, DatagramHeader header, Domain domain,
      FlowRecord record) {
    Arrays.fill(registers, -1);
    icmp.begin();
    int[] fields = template.stepField;
    int[] columns = template.stepColumn;
    int[] kinds = template.stepKind;
    boolean[] alternatives = template.stepAlternative;
    long[] numbers = record.numbers();
    long plain = 0;
    for (int i = 0; i < fields.length; i++) {
      int field = fields[i];
      int column = columns[i];
      int p = base + at[field];
      switch (kinds[i]) {
        case Kind.PLAIN_8:
          numbers[column] = b[p] & 0xff;
          plain |= 1L << column;
          continue;
        case Kind.PLAIN_16:
          numbers[column] = Bytes.u16(b, p);
          plain |= 1L << column;
          continue;
        case Kind.PLAIN_32:
          numbers[column] = Bytes.u32(b, p);
          plain |= 1L << column;
          continue;
        default:
      }
      int length = lengths[field];
      record.mark(plain);
      if (alternatives[i] && record.has(column)) {
        boolean zero = Bytes.allZero(b, p, p + length);
        if (zero || ZERO_COUNTS[column] || record.says(column)) {
          if (needs.other && !zero) {
            record.other(field, p, length);
          }
          continue;
        }
      }
      boolean fits;
      switch (kinds[i]) {
        case Kind.NUMBER:
          fits = number(record, column, b, p, length);
          break;
        case Kind.ADDRESS:
          fits = address(record, column, b, p, length);
          break;
        case Kind.OTHER:
          fits = false;
          break;
        case Kind.UPTIME:
          fits = uptime(record, column, b, p, length, header, domain);
          break;
        case Kind.REGISTER:
          fits = register(column, b, p, length);
          break;
        case Kind.ICMP:
          fits = icmp.take(column, field, b, p, length);
          break;
        default:
          fits = rarer(record, column, kinds[i], b, p, length, header);
      }
      // A field of variable length may have no bytes, and so no value.
      if (!fits && needs.other && length > 0) {
        record.other(field, p, length);
      }
    }
    record.mark(plain);
    icmp.settle(record, needs.other);
    if (template.dual != 0) {
      agree(record, template.dual);
    }
    derive(record, template, domain);
  }

  private static boolean number(FlowRecord record, int column, byte[] b, int p, int length) {
    if (length < 1 || length > 8) {
      return false;
    }
    long value = Bytes.unsigned(b, p, length);
    if ((value & ~LARGEST[column]) != 0) {
      return false;
    }
    record.number(column, value);
    return true;
  }

  private static boolean address(FlowRecord record, int column, byte[] b, int p, int length) {
    if (length == 4) {
      record.number(column, Bytes.u32(b, p));
      return true;
    }
    if (length == 16) {
      record.address(column, Bytes.i64(b, p), Bytes.i64(b, p + 8));
      return true;
    }
    return false;
  }

  /** Registers stay visible among the fields that have no column. */
  private boolean register(int register, byte[] b, int p, int length) {
    if (length >= 1 && length <= 8) {
      long value = Bytes.unsigned(b, p, length);
      // A sampler's number may have all 64 bits; without the first it is still one of its own, and not -1.
      registers[register] = register == Register.SAMPLER ? value & Long.MAX_VALUE : value;
    }
    return false;
  }

  private boolean uptime(
      FlowRecord record, int column, byte[] b, int p, int length, DatagramHeader header, Domain domain) {
    if (length != 4) {
      return false;
    }
    long uptime = header.uptimeMillis();
    if (header.origin().version() == 10) {
      long own = registers[Register.INIT_MILLIS];
      long init = own > 0 ? own : domain == null ? -1 : domain.initMillis();
      if (init < 0) {
        return false;
      }
      uptime = header.exportMicros() / 1000 - init;
    }
    // The difference of two readings of a clock of 32 bits is right even if the clock wrapped around between them.
    long age = uptime - Bytes.u32(b, p) & 0xffffffffL;
    record.number(column, header.exportMicros() - (age > MAX_AGE ? age - UPTIME_WRAP : age) * 1000);
    return true;
  }

  private static boolean rarer(
      FlowRecord record, int column, int kind, byte[] b, int p, int length, DatagramHeader header) {
    if (kind == Kind.MAC) {
      if (length == 6) {
        record.number(column, Bytes.unsigned(b, p, length));
      }
      return length == 6;
    }
    if (length < 1 || length > 8) {
      return false;
    }
    long value = Bytes.unsigned(b, p, length);
    switch (kind) {
      case Kind.SECONDS:
        return length == 4 && time(record, column, value, MAX_SECONDS, value * 1_000_000);
      case Kind.MILLIS:
        return length == 8 && time(record, column, value, MAX_MILLIS, value * 1000);
      case Kind.BEFORE_EXPORT:
        return time(record, column, value, MAX_MILLIS, header.exportMicros() - value);
      case Kind.NTP_MICROS:
      case Kind.NTP_NANOS:
        // NTP's own word for a time that is not known is 0.
        if (length != 8 || value == 0) {
          return false;
        }
        record.number(column, ntpMicros(value, kind == Kind.NTP_NANOS));
        return true;
      default:
        throw new IllegalStateException("kind " + kind);
    }
  }

  private static boolean time(FlowRecord record, int column, long value, long largest, long micros) {
    if (value < 0 || value > largest) {
      return false;
    }
    record.number(column, micros);
    return true;
  }

  private static long ntpMicros(long value, boolean nanos) {
    long seconds = value >>> 32;
    long unix = seconds - NTP_TO_UNIX + (seconds < 1L << 31 ? NTP_ERA : 0);
    if (nanos) {
      // Rounded to the nanosecond that was meant, then down.
      return unix * 1_000_000 + ((value & 0xffffffffL) * 1_000_000_000 + (1L << 31) >>> 32) / 1000;
    }
    // Rounded: what is left of the fraction is up to half a microsecond less than what was meant.
    return unix * 1_000_000 + ((value & 0xfffff800L) * 1_000_000 + (1L << 31) >>> 32);
  }

  /** Addresses of 0, of which the fields do not say whose they are, are of the other addresses' family. */
  private static void agree(FlowRecord record, long dual) {
    agree(record, dual, Flows.SRCADDR, Flows.DSTADDR);
    agree(record, dual, Flows.DSTADDR, Flows.SRCADDR);
    agree(record, dual, Flows.NEXTHOP, Flows.DSTADDR);
    agree(record, dual, Flows.NEXTHOP, Flows.SRCADDR);
    agree(record, dual, Flows.SRC_NET, Flows.SRCADDR);
    agree(record, dual, Flows.DST_NET, Flows.DSTADDR);
  }

  private static void agree(FlowRecord record, long dual, int column, int peer) {
    if ((dual >>> column & 1) != 0 && record.has(column) && !record.says(column) && record.says(peer)) {
      if (record.addressLength(peer) == 16) {
        record.address(column, 0, 0);
      } else {
        record.number(column, 0);
      }
    }
  }

  private void derive(FlowRecord record, Template template, Domain domain) {
    if (needs.srcNet && !record.has(Flows.SRC_NET)) {
      network(record, Flows.SRCADDR, Flows.SRC_MASK, Flows.SRC_NET);
    }
    if (needs.dstNet && !record.has(Flows.DST_NET)) {
      network(record, Flows.DSTADDR, Flows.DST_MASK, Flows.DST_NET);
    }
    if (needs.ipVersion && !record.has(Flows.IP_VERSION)) {
      int source = record.addressLength(Flows.SRCADDR);
      int length = source != 0 ? source : record.addressLength(Flows.DSTADDR);
      if (length != 0) {
        record.number(Flows.IP_VERSION, length == 4 ? 4 : 6);
      }
    }
    if (needs.icmp && template.version() == 5 && record.number(Flows.PROT) == 1) {
      record.number(Flows.ICMP_TYPE_CODE, record.number(Flows.DSTPORT));
    }
    if (needs.sampling && domain != null && !record.has(Flows.SAMPLING)) {
      long own = ownSampling();
      long input = record.has(Flows.INPUT) ? record.number(Flows.INPUT) : -1;
      long interval = own > 0 ? own : domain.samplingOf(registers[Register.SAMPLER], input);
      if (interval == 0 && !template.namesSampler) {
        interval = domain.onlySampler();
      }
      if (interval > 0) {
        record.number(Flows.SAMPLING, interval);
      }
    }
  }

  /** What the record itself says, in two numbers, of how packets were chosen: one out of how many; 0 if nothing. */
  long ownSampling() {
    long taken = registers[Register.TAKEN];
    long leftOut = registers[Register.LEFT_OUT];
    if (taken > 0 && leftOut >= 0 && taken + leftOut > 0) {
      return Math.round((double) (taken + leftOut) / taken);
    }
    long size = registers[Register.SIZE];
    long population = registers[Register.POPULATION];
    return size > 0 && population > 0 ? Math.max(1, Math.round((double) population / size)) : 0;
  }

  private static void network(FlowRecord record, int address, int mask, int network) {
    if (!record.has(address) || !record.has(mask)) {
      return;
    }
    long bits = record.number(mask);
    if (record.addressLength(address) == 4) {
      if (bits <= 32) {
        record.number(network, record.number(address) & (bits == 0 ? 0 : -1L << 32 - bits));
      }
    } else if (bits <= 128) {
      long upper = bits == 0 ? 0 : bits >= 64 ? -1L : -1L << 64 - bits;
      long lower = bits <= 64 ? 0 : -1L << 128 - bits;
      record.address(network, record.addressHigh(address) & upper, record.addressLow(address) & lower);
    }
  }
}
