package io.phantoms.spark.source.wire;

import java.util.List;

/**
 * The columns of a kind of records, in order; a column's place is the ordinal by which {@link WireRecord} knows it.
 *
 * @param name "packets" or "flows"
 * @param fields the columns
 */
public record RecordSchema(String name, List<Field> fields) {

  /**
   * A column.
   *
   * @param name its name in SQL
   * @param kind how its value is held
   * @param comment what it means, with its unit; the column's comment in the table's schema
   */
  public record Field(String name, FieldKind kind, String comment) {}

  /** The place of the column of this name, or -1. */
  public int ordinal(String column) {
    for (int i = 0; i < fields.size(); i++) {
      if (fields.get(i).name().equals(column)) {
        return i;
      }
    }
    return -1;
  }
}
