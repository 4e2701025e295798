package io.phantoms.spark.source.table;

/** Which group leaves a {@link ReaderTable} for a new one ("Holistic UDAFs at streaming speeds", section 6). */
public enum TableKind {
  /** A group has one slot; who comes later takes it. */
  DIRECT,
  /** A group has two slots; where others are in both, the one in the first leaves. */
  SECOND_CHANCE
}
