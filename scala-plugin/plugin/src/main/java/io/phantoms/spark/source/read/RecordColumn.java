package io.phantoms.spark.source.read;

import io.phantoms.spark.source.wire.WireRecord;
import java.io.Serializable;

/**
 * A column of a record.
 *
 * @param form how SQL sees it
 * @param field the ordinal of the field it is made of; -1 where it is of none
 */
public record RecordColumn(ColumnForm form, int field) implements Serializable {

  /** Whether it is NULL. */
  public boolean isNull(WireRecord record) {
    return form.isNull(record, field);
  }

  static ColumnForm[] forms(RecordColumn[] columns) {
    ColumnForm[] forms = new ColumnForm[columns.length];
    for (int i = 0; i < columns.length; i++) {
      forms[i] = columns[i].form;
    }
    return forms;
  }

  static int[] fields(RecordColumn[] columns) {
    int[] fields = new int[columns.length];
    for (int i = 0; i < columns.length; i++) {
      fields[i] = columns[i].field;
    }
    return fields;
  }
}
