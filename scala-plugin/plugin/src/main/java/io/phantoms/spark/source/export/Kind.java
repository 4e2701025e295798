package io.phantoms.spark.source.export;

import io.phantoms.spark.source.wire.FieldKind;

/** How the bytes of a field become the value of a column. */
final class Kind {
  /** An unsigned number of 1 to 8 bytes. */
  static final int NUMBER = 0;
  /** 4 or 16 bytes. */
  static final int ADDRESS = 1;
  /** 6 bytes. */
  static final int MAC = 2;
  /** Seconds since 1970, 4 bytes: only whole numbers may be sent with fewer bytes, not times. */
  static final int SECONDS = 3;
  /** Milliseconds since 1970, 8 bytes. */
  static final int MILLIS = 4;
  /** NTP's format: seconds since 1900 and a fraction of 32 bits, of which the lower 11 mean nothing. */
  static final int NTP_MICROS = 5;
  /** NTP's format. */
  static final int NTP_NANOS = 6;
  /** Microseconds before the export time. */
  static final int BEFORE_EXPORT = 7;
  /** Milliseconds of the exporter's uptime, 32 bits that wrap around. */
  static final int UPTIME = 8;
  /** No column: the type or the code of an ICMP packet, one byte, see {@link Icmp}. */
  static final int ICMP = 9;
  /** No column: a number that is remembered while the record is read, see {@link Register}. */
  static final int REGISTER = 10;
  /** No column. */
  static final int OTHER = 11;
  /** Nothing at all. */
  static final int PADDING = 12;

  /**
   * Numbers and IPv4 addresses of one, two and four bytes that fit their column and are no alternative: most fields.
   */
  static final int PLAIN_8 = 13;
  static final int PLAIN_16 = 14;
  static final int PLAIN_32 = 15;

  private Kind() {}

  /** The quick way to read a field of this kind, if it always has this length; the kind itself, if there is none. */
  static int plain(int kind, int column, int length) {
    if (kind == ADDRESS) {
      return length == 4 ? PLAIN_32 : kind;
    }
    if (kind != NUMBER) {
      return kind;
    }
    switch (length) {
      case 1:
        return PLAIN_8;
      case 2:
        return PLAIN_16;
      case 4:
        return Flows.SCHEMA.fields().get(column).kind() == FieldKind.LONG ? PLAIN_32 : kind;
      default:
        return kind;
    }
  }

  /** Numbers that are no column's value but decide one. */
  static final class Register {
    /** Which sampler chose the packets. */
    static final int SAMPLER = 0;
    /** The interface that an option is about. */
    static final int INTERFACE = 1;
    /** Packets taken in a row, and packets then left out. */
    static final int TAKEN = 2;
    static final int LEFT_OUT = 3;
    /** Packets taken at random, and out of how many. */
    static final int SIZE = 4;
    static final int POPULATION = 5;
    /** When the exporter started, in milliseconds since 1970. */
    static final int INIT_MILLIS = 6;

    static final int COUNT = 7;

    private Register() {}
  }
}
