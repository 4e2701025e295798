package io.phantoms.spark.source.read;

import io.phantoms.spark.source.ip.IpText;
import io.phantoms.spark.source.wire.WireRecord;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeArrayWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.Platform;

/** Makes rows of records, one at a time in the same memory. */
public final class RecordRows {
  private static final int WORD = 8;

  private final ColumnForm[] forms;
  private final int[] fields;
  private final UnsafeRowWriter writer;
  private final UnsafeArrayWriter entries;
  private final AddressBytes address = new AddressBytes();

  public RecordRows(RecordColumn[] columns) {
    forms = RecordColumn.forms(columns);
    fields = RecordColumn.fields(columns);
    writer = new UnsafeRowWriter(columns.length, columns.length * 2 * WORD);
    entries = new UnsafeArrayWriter(writer, WORD);
  }

  /** The row of a record: good until the next one is asked for. */
  public UnsafeRow row(WireRecord record) {
    writer.reset();
    writer.zeroOutNullBytes();
    for (int i = 0; i < forms.length; i++) {
      ColumnForm form = forms[i];
      int field = fields[i];
      if (form.isNull(record, field)) {
        writer.setNullAt(i);
      } else {
        write(record, i, form, field);
      }
    }
    return writer.getRow();
  }

  private void write(WireRecord record, int i, ColumnForm form, int field) {
    switch (form) {
      case INT:
      case ADDRESS_INT:
        writer.write(i, (int) record.number(field));
        break;
      case LONG:
        writer.write(i, record.number(field));
        break;
      case ADDRESS_BINARY:
        int length = record.addressLength(field);
        address.put(length, record.addressHigh(field), record.addressLow(field));
        writer.write(i, address.bytes, 0, length);
        break;
      case ADDRESS_STRING:
        writer.write(
            i,
            IpText.of(record.addressLength(field), record.addressHigh(field), record.addressLow(field)));
        break;
      case BYTES:
      case TEXT:
        writer.write(i, record.bytes(field));
        break;
      case MAP:
        map(i, record.map(field));
        break;
      case PROBLEM:
        writer.write(i, utf8(record.problem()));
        break;
      default:
        throw new AssertionError(form);
    }
  }

  // The length of the keys, keys, values: as UnsafeMapData has it.
  private void map(int i, Map<String, byte[]> map) {
    int start = writer.cursor();
    writer.grow(WORD);
    writer.increaseCursor(WORD);
    int keys = writer.cursor();
    entries.initialize(map.size());
    int k = 0;
    for (String name : map.keySet()) {
      entries.write(k++, utf8(name));
    }
    Platform.putLong(writer.getBuffer(), keys - WORD, writer.cursor() - keys);
    entries.initialize(map.size());
    k = 0;
    for (byte[] value : map.values()) {
      if (value == null) {
        entries.setNull8Bytes(k++);
      } else {
        entries.write(k++, value);
      }
    }
    writer.setOffsetAndSizeFromPreviousCursor(i, start);
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
