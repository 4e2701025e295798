package io.phantoms.spark.source.read;

import io.phantoms.spark.source.ip.IpText;
import io.phantoms.spark.source.table.ReaderTable;
import io.phantoms.spark.source.wire.WireRecord;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/**
 * Aggregates records in a {@link ReaderTable}, and makes rows of the groups that leave it: grouping columns, aggregates.
 *
 * <p>A key is a word that says of each column whether it has a value, and of what length, then the values: two words of an
 * address, one of a number. What is known of a group is a word that says which aggregates have a value, then those.
 *
 * <p>A sum never overflows: a group whose sum would leaves, and begins again from nothing. So the parts add up to what the
 * numbers do, by the rules of whoever adds them up. Sums for averages leave before a DOUBLE could not hold them exactly.
 */
public final class RecordGroups {
  /** The most columns that a key has room for. */
  public static final int MAX_COLUMNS = 32;

  /** The most aggregates that a group has room for. */
  public static final int MAX_AGGREGATES = 64;

  // What a key says of a column; NULL is 0.
  private static final long VALUE = 1;
  private static final long IPV6 = 2;

  // The largest number up to which a DOUBLE holds all whole ones.
  private static final long EXACT = 1L << 53;

  private final GroupColumn[] columns;
  private final ColumnForm[] forms;
  private final int[] fields;
  private final PartialAggregate[] aggregates;
  private final ReaderTable table;
  private final long[] key;
  private final UnsafeRowWriter writer;
  private final AddressBytes address = new AddressBytes();

  /**
   * An empty table for these groups.
   *
   * @param columns grouping columns: numbers and addresses
   * @param table with as many words as these have
   */
  public RecordGroups(GroupColumn[] columns, PartialAggregate[] aggregates, ReaderTable table) {
    RecordColumn[] read = GroupColumn.columns(columns);
    this.columns = columns.clone();
    this.forms = RecordColumn.forms(read);
    this.fields = RecordColumn.fields(read);
    this.aggregates = aggregates.clone();
    this.table = table;
    this.key = new long[keyWords(columns)];
    int width = columns.length + aggregates.length;
    this.writer = new UnsafeRowWriter(width, width * 16);
  }

  /** Whether groups can be told apart by such columns. */
  public static boolean groupsBy(ColumnForm form) {
    switch (form) {
      case INT:
      case LONG:
      case ADDRESS_BINARY:
      case ADDRESS_INT:
      case ADDRESS_STRING:
        return true;
      default:
        return false;
    }
  }

  /** Words of a key of these columns. */
  public static int keyWords(GroupColumn[] columns) {
    int words = 1;
    for (GroupColumn column : columns) {
      words += isWide(column.column().form()) ? 2 : 1;
    }
    return words;
  }

  /** Words of so many aggregates. */
  public static int valueWords(int aggregates) {
    return 1 + aggregates;
  }

  private static boolean isWide(ColumnForm form) {
    return form == ColumnForm.ADDRESS_BINARY || form == ColumnForm.ADDRESS_STRING;
  }

  /** Adds a record to its group. Groups that leave for it are {@link ReaderTable#nextEvicted}. */
  public void add(WireRecord record) {
    fillKey(record);
    int at = table.probe(key);
    long[] words = table.words();
    if (overflows(record, words, at)) {
      table.restart(at);
    }
    long known = words[at];
    for (int i = 0; i < aggregates.length; i++) {
      PartialAggregate aggregate = aggregates[i];
      RecordColumn column = aggregate.column();
      if (column != null && column.isNull(record)) {
        continue;
      }
      int word = at + 1 + i;
      long bit = 1L << i;
      switch (aggregate.function()) {
        case COUNT:
          words[word]++;
          break;
        case SUM:
        case EXACT_SUM:
          words[word] += Condition.Compared.value(column, record);
          break;
        case MIN:
          long low = Condition.Compared.value(column, record);
          words[word] = (known & bit) == 0 ? low : Math.min(words[word], low);
          break;
        case MAX:
          long high = Condition.Compared.value(column, record);
          words[word] = (known & bit) == 0 ? high : Math.max(words[word], high);
          break;
        default:
          throw new AssertionError(aggregate);
      }
      known |= bit;
    }
    words[at] = known;
  }

  /** Makes the group of all records where there is no key, so that it has a row though no record comes. */
  public void addNothing() {
    table.probe(key);
  }

  private void fillKey(WireRecord record) {
    long header = 0;
    int word = 1;
    for (int i = 0; i < forms.length; i++) {
      ColumnForm form = forms[i];
      int field = fields[i];
      long known = form.isNull(record, field) ? 0 : VALUE;
      if (isWide(form)) {
        known = record.addressLength(field) == 16 ? IPV6 : known;
        key[word++] = known == IPV6 ? record.addressHigh(field) : 0;
        key[word++] = known == 0 ? 0 : record.addressLow(field);
      } else {
        key[word++] = known == 0 ? 0 : columns[i].slice(record.number(field));
      }
      header = header << 2 | known;
    }
    key[0] = header;
  }

  private boolean overflows(WireRecord record, long[] words, int at) {
    for (int i = 0; i < aggregates.length; i++) {
      PartialAggregate aggregate = aggregates[i];
      boolean exact = aggregate.function() == PartialAggregate.Function.EXACT_SUM;
      if ((exact || aggregate.function() == PartialAggregate.Function.SUM) && !aggregate.column().isNull(record)) {
        long sum = words[at + 1 + i];
        long value = Condition.Compared.value(aggregate.column(), record);
        long next = sum + value;
        boolean over = exact ? next > EXACT || next < -EXACT : ((sum ^ next) & (value ^ next)) < 0;
        if (over) {
          return true;
        }
      }
    }
    return false;
  }

  /** The row of the group that leaves: good until the next one is asked for. */
  public UnsafeRow evicted() {
    long[] words = table.words();
    int at = table.evictedAt();
    writer.reset();
    writer.zeroOutNullBytes();
    int word = at + 1;
    for (int i = 0; i < forms.length; i++) {
      long known = words[at] >>> (2 * (forms.length - 1 - i)) & 3;
      boolean wide = isWide(forms[i]);
      if (known == 0) {
        writer.setNullAt(i);
      } else if (wide) {
        writeAddress(i, known == IPV6 ? 16 : 4, words[word], words[word + 1]);
      } else if (forms[i] == ColumnForm.LONG) {
        writer.write(i, words[word]);
      } else {
        writer.write(i, (int) words[word]);
      }
      word += wide ? 2 : 1;
    }
    long known = words[word++];
    for (int i = 0; i < aggregates.length; i++) {
      writeAggregate(forms.length + i, aggregates[i], (known >>> i & 1) != 0, words[word + i]);
    }
    return writer.getRow();
  }

  private void writeAddress(int i, int length, long high, long low) {
    if (forms[i] == ColumnForm.ADDRESS_STRING) {
      writer.write(i, IpText.of(length, high, low));
    } else {
      address.put(length, high, low);
      writer.write(i, address.bytes, 0, length);
    }
  }

  private void writeAggregate(int i, PartialAggregate aggregate, boolean known, long value) {
    switch (aggregate.function()) {
      case COUNT:
        writer.write(i, value);
        break;
      case SUM:
      case EXACT_SUM:
        writeKnown(i, known, value, false);
        break;
      default:
        writeKnown(i, known, value, aggregate.column().form() == ColumnForm.INT);
    }
  }

  private void writeKnown(int i, boolean known, long value, boolean narrow) {
    if (!known) {
      writer.setNullAt(i);
    } else if (narrow) {
      writer.write(i, (int) value);
    } else {
      writer.write(i, value);
    }
  }
}
