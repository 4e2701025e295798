package io.phantoms.spark.source.export;

/** NetFlow v5: records of 48 bytes that are always the same, so one template describes them. */
final class V5 {
  static final int RECORD_LENGTH = 48;

  /** More records do not fit an Ethernet frame, and Cisco's format has no more. */
  static final int MAX_RECORDS = 30;

  private static final int PADDING = 210;

  /** Elements and their lengths in the order of Cisco's format. */
  private static final int[][] FIELDS = {
    {8, 4}, {12, 4}, {15, 4}, {10, 2}, {14, 2}, {2, 4}, {1, 4}, {22, 4}, {21, 4}, {7, 2}, {11, 2},
    {PADDING, 1}, {6, 1}, {4, 1}, {5, 1}, {16, 2}, {17, 2}, {9, 1}, {13, 1}, {PADDING, 2}
  };

  private V5() {}

  static Template template(Needs needs) {
    int[] elements = new int[FIELDS.length];
    int[] lengths = new int[FIELDS.length];
    for (int i = 0; i < FIELDS.length; i++) {
      elements[i] = FIELDS[i][0];
      lengths[i] = FIELDS[i][1];
    }
    Template.Fields fields = new Template.Fields(new long[FIELDS.length], elements, lengths);
    return new Template(5, 0, false, new byte[0], fields, 0, needs);
  }
}
