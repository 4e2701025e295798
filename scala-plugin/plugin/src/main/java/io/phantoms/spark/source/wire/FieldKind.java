package io.phantoms.spark.source.wire;

/** How the value of a field is held in a {@link WireRecord}, and what it means. */
public enum FieldKind {
  /** A number of at most 32 bits, as SQL's INT; unsigned 16 and 8 bit numbers fit. */
  INT,
  /** A number of at most 64 bits, as SQL's BIGINT. */
  LONG,
  /** Microseconds since 1970-01-01 UTC, as SQL's TIMESTAMP. */
  TIMESTAMP,
  /** An IPv4 or IPv6 address, 4 or 16 bytes in network order; how SQL sees it is the reader's option. */
  ADDRESS,
  /** Bytes, as SQL's BINARY. */
  BYTES,
  /** UTF-8 text, as SQL's STRING. */
  TEXT,
  /** Named fields that have no column, as SQL's MAP of STRING to BINARY. */
  MAP
}
