package io.phantoms.spark.source.export;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

import io.phantoms.spark.source.wire.Bytes;

/**
 * What the fields of a record are, and what is done with each. Fields of length 0 are not among them: they never have a
 * value.
 */
final class Template {
  /** The length of fields that say their own, in IPFIX. */
  static final int VARIABLE = 65535;

  /** The scope "interface" of an option in v9, whose scopes have numbers of their own. */
  private static final int V9_SCOPE_INTERFACE = 2;

  private final int version;
  private final int id;
  private final boolean options;
  private final byte[] definition;
  private final long[] enterprise;
  private final int[] element;
  private final int[] length;
  private final int[] offset;
  private final boolean variable;
  private final int minLength;

  /**
   * What is done, in order: for each step the field, the column or register, the {@link Kind}, and whether it is an
   * alternative.
   */
  final int[] stepField;
  final int[] stepColumn;
  final int[] stepKind;
  final boolean[] stepAlternative;

  /** A bit for each column that has two fields, one of an IPv4 address and one of an IPv6 address. */
  final long dual;

  /** Whether records name the sampler that chose their packets. */
  final boolean namesSampler;

  /** What its options are said of. */
  final OptionScope scope;

  /**
   * @param definition the bytes that defined it, by which a repetition is known
   * @param scopes how many of the first fields say what an option is about
   */
  Template(int version, int id, boolean options, byte[] definition, Fields fields, int scopes, Needs needs) {
    this.version = version;
    this.id = id;
    this.options = options;
    this.definition = definition;
    enterprise = fields.enterprises();
    element = fields.elements();
    length = fields.lengths();
    offset = new int[length.length];
    int sum = 0;
    boolean anyVariable = false;
    for (int i = 0; i < length.length; i++) {
      boolean own = version == 10 && length[i] == VARIABLE;
      anyVariable |= own;
      offset[i] = sum;
      sum += own ? 1 : length[i];
    }
    variable = anyVariable;
    minLength = sum;

    int n = element.length;
    int[] kind = new int[n];
    int[] column = new int[n];
    for (int i = 0; i < n; i++) {
      if (version == 9 && i < scopes) {
        boolean interfaces = element[i] == V9_SCOPE_INTERFACE;
        kind[i] = interfaces ? Kind.REGISTER : Kind.OTHER;
        column[i] = interfaces ? Kind.Register.INTERFACE : 0;
      } else {
        kind[i] = ElementMap.kind(enterprise[i], element[i]);
        column[i] = kind[i] == Kind.OTHER ? 0 : ElementMap.column(element[i]);
        if (options && kind[i] == Kind.NUMBER && column[i] == Flows.INPUT) {
          kind[i] = Kind.REGISTER;
          column[i] = Kind.Register.INTERFACE;
        }
      }
    }
    scope = options ? OptionScope.of(version, fields, scopes) : OptionScope.SYSTEM;
    namesSampler = IntStream.range(0, n)
        .anyMatch(i -> kind[i] == Kind.REGISTER && column[i] == Kind.Register.SAMPLER);
    dual = addresses(kind, column, false) & addresses(kind, column, true);
    boolean peers = dual != 0 && needs.family;
    stepField = IntStream.range(0, n)
        .filter(i -> needs.field(kind[i], column[i]) || peers && isPeer(kind[i], column[i])).boxed()
        .sorted(Comparator.comparingInt(i -> order(kind[i], element[i]))).mapToInt(i -> i).toArray();
    stepColumn = Arrays.stream(stepField).map(i -> column[i]).toArray();
    stepKind = Arrays.stream(stepField).map(i -> kind[i]).toArray();
    stepAlternative = new boolean[stepField.length];
    boolean[] taken = new boolean[Flows.COUNT];
    // The packet that carries a record knows best who sent it.
    taken[Flows.EXPORTER] = true;
    for (int i = 0; i < stepField.length; i++) {
      if (stepKind[i] <= Kind.UPTIME) {
        stepAlternative[i] = taken[stepColumn[i]];
        taken[stepColumn[i]] = true;
        int fixed = version == 10 && length[stepField[i]] == VARIABLE ? 0 : length[stepField[i]];
        stepKind[i] = stepAlternative[i] ? stepKind[i] : Kind.plain(stepKind[i], stepColumn[i], fixed);
      }
    }
  }

  /** Registers first, as other fields are read by them; alternatives by rank. */
  private static int order(int kind, int element) {
    switch (kind) {
      case Kind.REGISTER:
        return -1;
      case Kind.OTHER:
        return 0;
      default:
        return ElementMap.rank(element);
    }
  }

  /** The columns, a bit each, that have a field of an address of this family. */
  private long addresses(int[] kind, int[] column, boolean ipv6) {
    return IntStream.range(0, kind.length)
        .filter(i -> kind[i] == Kind.ADDRESS && ElementMap.isIpv6(element[i]) == ipv6)
        .mapToLong(i -> 1L << column[i]).reduce(0, (a, b) -> a | b);
  }

  private static boolean isPeer(int kind, int column) {
    return kind == Kind.ADDRESS && (column == Flows.SRCADDR || column == Flows.DSTADDR);
  }

  int version() {
    return version;
  }

  int id() {
    return id;
  }

  boolean options() {
    return options;
  }

  /** Whether these bytes define what this template is. */
  boolean definedBy(byte[] b, int from, int to, boolean asOptions) {
    return options == asOptions && Arrays.equals(definition, 0, definition.length, b, from, to);
  }

  /** The bytes that defined it. */
  byte[] definition() {
    return definition;
  }

  /** The length of its shortest record, at least 1. */
  int minLength() {
    return minLength;
  }

  boolean variable() {
    return variable;
  }

  int fields() {
    return length.length;
  }

  /**
   * Where fields begin, counted from the begin of a record, and how long they are; of templates that are not variable.
   */
  int[] offsets() {
    return offset;
  }

  int[] lengths() {
    return length;
  }

  /**
   * Finds the fields of a record.
   *
   * @param at where each begins, counted from the record's begin, is written to
   * @param lengths how long each is, is written to
   * @return where the record ends, or -1 if that is beyond {@code end}
   */
  int walk(byte[] b, int from, int end, int[] at, int[] lengths) {
    int p = from;
    for (int i = 0; i < length.length; i++) {
      int n = length[i];
      if (n == VARIABLE) {
        if (p >= end) {
          return -1;
        }
        n = b[p++] & 0xff;
        if (n == 255) {
          if (p + 2 > end) {
            return -1;
          }
          n = Bytes.u16(b, p);
          p += 2;
        }
      }
      if (n > end - p) {
        return -1;
      }
      at[i] = p - from;
      lengths[i] = n;
      p += n;
    }
    return p;
  }

  String fieldName(int field) {
    return ElementNames.of(enterprise[field], element[field]);
  }

  /** About how much memory it takes. */
  int bytes() {
    return 400 + definition.length + 33 * length.length;
  }

  /** Elements, lengths and enterprises of the fields that a template has. */
  record Fields(long[] enterprises, int[] elements, int[] lengths) {}
}
