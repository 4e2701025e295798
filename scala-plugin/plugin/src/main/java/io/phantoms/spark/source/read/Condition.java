package io.phantoms.spark.source.read;

import io.phantoms.spark.source.ip.Subnet;
import io.phantoms.spark.source.wire.WireRecord;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;

/** A condition of SQL on a record, with SQL's three values. */
public interface Condition extends Serializable {
  int FALSE = 0;
  int TRUE = 1;
  int UNKNOWN = 2;

  /** What it says of a record: {@link #FALSE}, {@link #TRUE} or {@link #UNKNOWN}. */
  int test(WireRecord record);

  private static int of(boolean value) {
    return value ? TRUE : FALSE;
  }

  /** How two numbers compare. */
  enum Comparison {
    EQUAL,
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL
  }

  /** The same for all records. */
  record Always(int value) implements Condition {
    @Override
    public int test(WireRecord record) {
      return value;
    }
  }

  /** IS NULL, never unknown. */
  record IsNull(RecordColumn column) implements Condition {
    @Override
    public int test(WireRecord record) {
      return of(column.isNull(record));
    }
  }

  /** A number compared with a constant; that of an INT is its 32 bits with their sign. */
  record Compared(RecordColumn column, Comparison how, long with) implements Condition {
    @Override
    public int test(WireRecord record) {
      if (column.isNull(record)) {
        return UNKNOWN;
      }
      long number = value(column, record);
      switch (how) {
        case EQUAL:
          return of(number == with);
        case LESS:
          return of(number < with);
        case LESS_OR_EQUAL:
          return of(number <= with);
        case GREATER:
          return of(number > with);
        default:
          return of(number >= with);
      }
    }

    static long value(RecordColumn column, WireRecord record) {
      long number = record.number(column.field());
      return column.form() == ColumnForm.LONG ? number : (int) number;
    }
  }

  /** A number that is one of several constants. */
  final class OneOf implements Condition {
    private static final long serialVersionUID = 1;
    private final RecordColumn column;
    private final long[] sorted;

    public OneOf(RecordColumn column, long[] numbers) {
      this.column = column;
      this.sorted = Arrays.stream(numbers).sorted().distinct().toArray();
    }

    @Override
    public int test(WireRecord record) {
      if (column.isNull(record)) {
        return UNKNOWN;
      }
      return of(Arrays.binarySearch(sorted, Compared.value(column, record)) >= 0);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof OneOf o && column.equals(o.column) && Arrays.equals(sorted, o.sorted);
    }

    @Override
    public int hashCode() {
      return 31 * column.hashCode() + Arrays.hashCode(sorted);
    }

    @Override
    public String toString() {
      return "OneOf[" + column + ", " + Arrays.toString(sorted) + "]";
    }
  }

  /** An address that is in a subnet, which may be of one address. */
  record InSubnet(RecordColumn column, Subnet subnet) implements Condition {
    @Override
    public int test(WireRecord record) {
      if (column.isNull(record)) {
        return UNKNOWN;
      }
      int field = column.field();
      return of(
          subnet.contains(record.addressLength(field), record.addressHigh(field), record.addressLow(field)));
    }
  }

  /** An address that is none of those that a constant can be: false, but not where there is no address. */
  record Never(RecordColumn column) implements Condition {
    @Override
    public int test(WireRecord record) {
      return column.isNull(record) ? UNKNOWN : FALSE;
    }
  }

  /** NOT. */
  record Not(Condition of) implements Condition {
    @Override
    public int test(WireRecord record) {
      int value = of.test(record);
      return value == UNKNOWN ? UNKNOWN : TRUE - value;
    }
  }

  /** AND. */
  record All(List<Condition> of) implements Condition {
    @Override
    public int test(WireRecord record) {
      int result = TRUE;
      for (int i = 0; i < of.size(); i++) {
        int value = of.get(i).test(record);
        if (value == FALSE) {
          return FALSE;
        }
        if (value == UNKNOWN) {
          result = UNKNOWN;
        }
      }
      return result;
    }
  }

  /** OR. */
  record Any(List<Condition> of) implements Condition {
    @Override
    public int test(WireRecord record) {
      int result = FALSE;
      for (int i = 0; i < of.size(); i++) {
        int value = of.get(i).test(record);
        if (value == TRUE) {
          return TRUE;
        }
        if (value == UNKNOWN) {
          result = UNKNOWN;
        }
      }
      return result;
    }
  }

  /** {@code <=>} with a constant that is not NULL: where the value is not known, they differ. */
  record Surely(Condition of) implements Condition {
    @Override
    public int test(WireRecord record) {
      return of(of.test(record) == TRUE);
    }

    private static int of(boolean value) {
      return value ? TRUE : FALSE;
    }
  }
}
