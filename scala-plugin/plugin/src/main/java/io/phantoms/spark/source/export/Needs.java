package io.phantoms.spark.source.export;

import java.util.Arrays;

/** The columns that a query reads, and those that they are made of. */
final class Needs {
  final boolean other;
  final boolean srcNet;
  final boolean dstNet;
  final boolean ipVersion;

  /** Whether any address is read whose family the others help to tell. */
  final boolean family;
  final boolean icmp;
  final boolean sampling;
  private final boolean[] columns;

  /** @param wanted which columns are read, by ordinal */
  Needs(boolean[] wanted) {
    columns = Arrays.copyOf(wanted, Flows.COUNT);
    other = columns[Flows.OTHER];
    srcNet = columns[Flows.SRC_NET];
    dstNet = columns[Flows.DST_NET];
    ipVersion = columns[Flows.IP_VERSION];
    family = columns[Flows.SRCADDR] || columns[Flows.DSTADDR] || columns[Flows.NEXTHOP]
        || srcNet || dstNet || ipVersion;
    icmp = columns[Flows.ICMP_TYPE_CODE];
    sampling = columns[Flows.SAMPLING];
    columns[Flows.SRCADDR] |= srcNet || ipVersion;
    columns[Flows.DSTADDR] |= dstNet || ipVersion;
    columns[Flows.SRC_MASK] |= srcNet;
    columns[Flows.DST_MASK] |= dstNet;
    columns[Flows.PROT] |= icmp;
    columns[Flows.DSTPORT] |= icmp;
    columns[Flows.INPUT] |= sampling;
  }

  /** Of options all that is asked is how packets were sampled, and when the exporter started. */
  static Needs ofOptions() {
    boolean[] wanted = new boolean[Flows.COUNT];
    wanted[Flows.SAMPLING] = true;
    return new Needs(wanted);
  }

  /** Whether a field of this kind must be read; what does not fit its column goes to {@code other}. */
  boolean field(int kind, int column) {
    switch (kind) {
      case Kind.PADDING:
        return false;
      case Kind.OTHER:
        return other;
      case Kind.ICMP:
        return other || icmp;
      case Kind.REGISTER:
        return other || sampling || column == Kind.Register.INIT_MILLIS;
      default:
        return other || columns[column];
    }
  }
}
