package io.phantoms.spark.source.wire;

import java.util.Map;

/**
 * One record (a packet, a flow) as its reader holds it: reused from record to record, read before the next one is asked
 * for.
 *
 * <p>Fields are known by their place in the reader's {@link RecordSchema}. A getter of another kind than the field's
 * answers nothing sensible; a getter of a field that {@link #isNull} has no value answers 0 or null.
 */
public interface WireRecord {

  /** Whether the record has no value for this field. */
  boolean isNull(int field);

  /** INT, LONG and TIMESTAMP fields; an ADDRESS of IPv4 as its 32 bits, zero-extended. */
  long number(int field);

  /** The bytes of an ADDRESS (4 or 16, network order), BYTES or TEXT field: a new array that the caller may keep. */
  byte[] bytes(int field);

  /** The length in bytes of an ADDRESS field: 4 or 16; 0 where it has no value. */
  int addressLength(int field);

  /** The upper 64 bits of an IPv6 ADDRESS; 0 for IPv4. */
  long addressHigh(int field);

  /** The lower 64 bits of an IPv6 ADDRESS; the 32 bits of an IPv4 one. */
  long addressLow(int field);

  /** A MAP field: names to bytes, in the order of the record. */
  Map<String, byte[]> map(int field);

  /** What was wrong with this record, or null: the text of the column of malformed records. */
  String problem();
}
