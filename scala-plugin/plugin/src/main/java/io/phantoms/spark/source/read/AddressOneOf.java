package io.phantoms.spark.source.read;

import io.phantoms.spark.source.ip.Subnet;
import io.phantoms.spark.source.wire.WireRecord;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** An address that is one of several constants: a look or two into a table, however many there are. */
public final class AddressOneOf implements Condition {
  private static final long serialVersionUID = 1;
  private final RecordColumn column;
  private final Set<Subnet> addresses;
  private final Subnet[] slots;

  /**
   * An address that is one of these.
   *
   * @param addresses subnets of one address each
   */
  public AddressOneOf(RecordColumn column, List<Subnet> addresses) {
    this.column = column;
    this.addresses = new HashSet<>(addresses);
    // At most half full, so that there is an end to every search.
    slots = new Subnet[Integer.highestOneBit(Math.max(1, this.addresses.size())) * 4];
    for (Subnet address : this.addresses) {
      int at = slot(address.length(), address.high(), address.low());
      while (slots[at] != null) {
        at = at + 1 & slots.length - 1;
      }
      slots[at] = address;
    }
  }

  private int slot(int length, long high, long low) {
    long mixed = (high * 31 + low + length) * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 32) & slots.length - 1;
  }

  @Override
  public int test(WireRecord record) {
    if (column.isNull(record)) {
      return UNKNOWN;
    }
    int field = column.field();
    int length = record.addressLength(field);
    long high = record.addressHigh(field);
    long low = record.addressLow(field);
    for (int at = slot(length, high, low); slots[at] != null; at = at + 1 & slots.length - 1) {
      if (slots[at].contains(length, high, low)) {
        return TRUE;
      }
    }
    return FALSE;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AddressOneOf o && column.equals(o.column) && addresses.equals(o.addresses);
  }

  @Override
  public int hashCode() {
    return 31 * column.hashCode() + addresses.hashCode();
  }

  @Override
  public String toString() {
    return "AddressOneOf[" + column + ", " + addresses + "]";
  }
}
