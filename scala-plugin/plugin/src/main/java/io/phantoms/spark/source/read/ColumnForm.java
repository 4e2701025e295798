package io.phantoms.spark.source.read;

import io.phantoms.spark.source.wire.WireRecord;

/** How SQL sees a field of a record. */
public enum ColumnForm {
  /** INT. */
  INT,
  /** BIGINT or TIMESTAMP. */
  LONG,
  /** BINARY of 4 or 16 bytes. */
  ADDRESS_BINARY,
  /** INT, the 32 bits of an IPv4 address; there is none of an IPv6 one. */
  ADDRESS_INT,
  /** STRING, as RFC 5952 has it. */
  ADDRESS_STRING,
  /** BINARY. */
  BYTES,
  /** STRING. */
  TEXT,
  /** MAP of STRING to BINARY. */
  MAP,
  /** STRING: what was wrong with the record. Belongs to no field. */
  PROBLEM;

  /** Whether values are numbers, which can be added up and compared; that of an address is a name. */
  public boolean isNumber() {
    return this == INT || this == LONG;
  }

  /** Whether the column of a record is NULL. */
  public boolean isNull(WireRecord record, int field) {
    switch (this) {
      case ADDRESS_INT:
        return record.addressLength(field) != 4;
      case PROBLEM:
        return record.problem() == null;
      default:
        return record.isNull(field);
    }
  }
}
