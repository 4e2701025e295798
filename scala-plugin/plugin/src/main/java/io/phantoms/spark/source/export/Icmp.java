package io.phantoms.spark.source.export;

import java.util.Arrays;

/**
 * ICMP's type and code where a record has them as two fields: one column is made of both at the record's end, when all
 * that the record says of ICMP has been read.
 */
final class Icmp {
  /** Parts of ICMP's pair, then of ICMPv6's: each type is followed by its code. */
  static final int TYPE = 0;
  static final int CODE = 1;
  static final int TYPE_V6 = 2;
  static final int CODE_V6 = 3;

  private static final int PARTS = 4;
  private static final int NONE = -1;

  private final int[] value = new int[PARTS];
  private final int[] field = new int[PARTS];
  private final int[] place = new int[PARTS];
  private boolean any;

  void begin() {
    any = false;
  }

  /** Takes a part; whether it is one: it has a byte, and the record does not have it twice. */
  boolean take(int part, int ofField, byte[] b, int p, int length) {
    if (!any) {
      Arrays.fill(value, NONE);
    }
    if (length != 1 || value[part] != NONE) {
      return false;
    }
    any = true;
    value[part] = b[p] & 0xff;
    field[part] = ofField;
    place[part] = p;
    return true;
  }

  /** Fills the column, if it says nothing itself; parts that it is not made of stay as bytes. */
  void settle(FlowRecord record, boolean others) {
    if (!any) {
      return;
    }
    int used = NONE;
    if (!record.says(Flows.ICMP_TYPE_CODE)) {
      used = !whole(TYPE) || pair(TYPE) == 0 && whole(TYPE_V6) ? TYPE_V6 : TYPE;
      if (whole(used)) {
        record.number(Flows.ICMP_TYPE_CODE, pair(used));
      } else {
        used = NONE;
      }
    }
    if (others) {
      for (int part = 0; part < PARTS; part++) {
        boolean unused = value[part] == NONE || value[part] == 0 && record.has(Flows.ICMP_TYPE_CODE);
        if (!unused && (used == NONE || part != used && part != used + 1)) {
          record.other(field[part], place[part], 1);
        }
      }
    }
  }

  private boolean whole(int type) {
    return value[type] != NONE && value[type + 1] != NONE;
  }

  private int pair(int type) {
    return value[type] << 8 | value[type + 1];
  }
}
