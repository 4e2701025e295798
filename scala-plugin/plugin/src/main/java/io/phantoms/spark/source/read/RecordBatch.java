package io.phantoms.spark.source.read;

import io.phantoms.spark.source.ip.IpText;
import io.phantoms.spark.source.wire.WireRecord;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;

/** Puts records into column vectors. Has no MAP. */
public final class RecordBatch {
  private final ColumnForm[] forms;
  private final int[] fields;
  private final WritableColumnVector[] vectors;
  private final AddressBytes address = new AddressBytes();

  /**
   * A batch.
   *
   * @param columns what is put into the first vectors
   * @param vectors one for each column, and those of constants
   */
  public RecordBatch(RecordColumn[] columns, WritableColumnVector[] vectors) {
    this.forms = RecordColumn.forms(columns);
    this.fields = RecordColumn.fields(columns);
    this.vectors = vectors;
  }

  /** Whether it can hold columns of this form. */
  public static boolean holds(ColumnForm form) {
    return form != ColumnForm.MAP;
  }

  /** Makes it empty. */
  public void reset() {
    for (int i = 0; i < forms.length; i++) {
      vectors[i].reset();
    }
  }

  /** Puts a record into a row. Rows are filled in order. Returns the bytes of values that are as long as they like. */
  public int put(int row, WireRecord record) {
    int bytes = 0;
    for (int i = 0; i < forms.length; i++) {
      ColumnForm form = forms[i];
      int field = fields[i];
      WritableColumnVector vector = vectors[i];
      if (form.isNull(record, field)) {
        vector.putNull(row);
        continue;
      }
      switch (form) {
        case INT:
        case ADDRESS_INT:
          vector.putInt(row, (int) record.number(field));
          break;
        case LONG:
          vector.putLong(row, record.number(field));
          break;
        case ADDRESS_BINARY:
          int length = record.addressLength(field);
          address.put(length, record.addressHigh(field), record.addressLow(field));
          vector.putByteArray(row, address.bytes, 0, length);
          bytes += length;
          break;
        case ADDRESS_STRING:
          byte[] text = IpText.of(record.addressLength(field), record.addressHigh(field), record.addressLow(field));
          bytes += put(vector, row, text);
          break;
        case BYTES:
        case TEXT:
          bytes += put(vector, row, record.bytes(field));
          break;
        case PROBLEM:
          bytes += put(vector, row, RecordRows.utf8(record.problem()));
          break;
        default:
          throw new AssertionError(form);
      }
    }
    return bytes;
  }

  private static int put(WritableColumnVector vector, int row, byte[] value) {
    vector.putByteArray(row, value);
    return value.length;
  }
}
