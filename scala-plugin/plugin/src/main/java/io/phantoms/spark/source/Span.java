package io.phantoms.spark.source;

import io.phantoms.spark.source.wire.WireRecord;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** The first and the last of some times. */
final class Span {
  private long first = Long.MAX_VALUE;
  private long last = Long.MIN_VALUE;

  void add(WireRecord record, int field) {
    if (!record.isNull(field)) {
      long micros = record.number(field);
      first = Math.min(first, micros);
      last = Math.max(last, micros);
    }
  }

  /** As ISO 8601 has it, or null if there was none. */
  String first() {
    return first > last ? null : text(first);
  }

  String last() {
    return first > last ? null : text(last);
  }

  private static String text(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS).toString();
  }
}
