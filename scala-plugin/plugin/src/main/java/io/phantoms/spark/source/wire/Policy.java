package io.phantoms.spark.source.wire;

/** What is done with a record that cannot be decoded; the names are those of Spark's file sources. */
public enum Policy {
  /**
   * It becomes a row whose columns are NULL where they are not known, with what was wrong in the column {@code
   * _malformed}.
   */
  PERMISSIVE,
  /** It is left out and counted. */
  DROPMALFORMED,
  /** It ends the query with an error that names file and offset. */
  FAILFAST
}
