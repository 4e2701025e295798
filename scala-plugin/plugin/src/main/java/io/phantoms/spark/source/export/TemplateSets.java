package io.phantoms.spark.source.export;

import java.util.Arrays;
import java.util.function.IntConsumer;

import io.phantoms.spark.source.wire.Bytes;

/** Reads sets of templates: v9's of RFC 3954, whose options have lengths in bytes, and IPFIX's of RFC 7011. */
final class TemplateSets {
  private static final int FIRST_ID = 256;
  private static final int TEMPLATE_SET = 2;
  private static final int OPTIONS_SET = 3;
  private static final int ENTERPRISE = 0x8000;

  private final Templates templates;
  private final Needs needs;
  private final Needs needsOfOptions = Needs.ofOptions();

  TemplateSets(Templates templates, Needs needs) {
    this.templates = templates;
    this.needs = needs;
  }

  /**
   * Reads the body of a set.
   *
   * @param defined is told the number of each template that is new or has changed
   * @return what was wrong with it, or null
   */
  String read(byte[] b, int from, int end, Domain domain, boolean options, IntConsumer defined) {
    boolean ipfix = domain.origin.version() == 10;
    int p = from;
    // Less than a template's header, or nothing but zeros: padding.
    while (end - p >= 4 && !Bytes.allZero(b, p, end)) {
      int id = Bytes.u16(b, p);
      int count = Bytes.u16(b, p + 2);
      if (ipfix && count == 0) {
        if (!withdraw(domain, id, options)) {
          return "a template with the number " + id + " is withdrawn: numbers begin at 256";
        }
        p += 4;
        continue;
      }
      Definition definition = ipfix ? ipfix(b, p, end, options) : v9(b, p, end, options);
      String wrong = id < FIRST_ID ? "a template has the number " + id + ": numbers begin at 256" : definition.wrong;
      if (wrong != null) {
        // Whatever it was to say, what it said before no longer holds.
        templates.forget(domain, id);
        return wrong;
      }
      Template known = domain.template(id);
      if (known != null && known.definedBy(b, p, definition.end, options)) {
        templates.repeated(domain, known);
      } else {
        byte[] bytes = Arrays.copyOfRange(b, p, definition.end);
        templates.define(domain, new Template(domain.origin.version(), id, options, bytes,
            definition.fields(), definition.scopes, options ? needsOfOptions : needs));
        defined.accept(id);
      }
      p = definition.end;
    }
    return null;
  }

  /** Takes back one template or, under the number of the set, all of its kind; whether it is a number of either. */
  private boolean withdraw(Domain domain, int id, boolean options) {
    if (id == (options ? OPTIONS_SET : TEMPLATE_SET)) {
      templates.forgetAll(domain, options);
      return true;
    }
    if (id >= FIRST_ID) {
      templates.forget(domain, id);
    }
    return id >= FIRST_ID;
  }

  /** Templates: number, count of fields, fields. Options: number, bytes of scopes, bytes of other fields, fields. */
  private static Definition v9(byte[] b, int from, int end, boolean options) {
    if (options && end - from < 6) {
      return Definition.wrong("a set ends within the header of an options template");
    }
    int id = Bytes.u16(b, from);
    int scopeBytes = options ? Bytes.u16(b, from + 2) : 0;
    int bytes = options ? scopeBytes + Bytes.u16(b, from + 4) : 4 * Bytes.u16(b, from + 2);
    int p = from + (options ? 6 : 4);
    if (scopeBytes % 4 != 0 || bytes % 4 != 0) {
      return Definition.wrong("options template " + id + " has fields of " + scopeBytes + " and "
          + (bytes - scopeBytes) + " bytes: fields have 4 bytes each");
    }
    if (bytes > end - p) {
      return Definition.wrong("template " + id + " has " + bytes / 4 + " fields, more than its set has room for");
    }
    Definition definition = new Definition(bytes / 4);
    for (int i = 0; i < bytes / 4; i++) {
      definition.add(0, Bytes.u16(b, p), Bytes.u16(b, p + 2), i < scopeBytes / 4);
      p += 4;
    }
    return definition.done(id, p);
  }

  /**
   * Number, count of fields, of options the count of those that are scopes, fields; those of enterprises have 8 bytes.
   */
  private static Definition ipfix(byte[] b, int from, int end, boolean options) {
    if (options && end - from < 6) {
      return Definition.wrong("a set ends within the header of an options template");
    }
    int id = Bytes.u16(b, from);
    int count = Bytes.u16(b, from + 2);
    int scopes = options ? Bytes.u16(b, from + 4) : 0;
    int p = from + (options ? 6 : 4);
    if (options && (scopes == 0 || scopes > count)) {
      return Definition.wrong("options template " + id + " has " + scopes + " scopes among " + count + " fields");
    }
    if (4 * count > end - p) {
      return Definition.wrong("template " + id + " has " + count + " fields, more than its set has room for");
    }
    Definition definition = new Definition(count);
    for (int i = 0; i < count; i++) {
      int element = end - p < 4 ? 0 : Bytes.u16(b, p);
      int size = (element & ENTERPRISE) != 0 ? 8 : 4;
      if (size > end - p) {
        return Definition.wrong("template " + id + " has " + count + " fields, more than its set has room for");
      }
      long enterprise = size == 8 ? enterprise(Bytes.u32(b, p + 4)) : 0;
      definition.add(enterprise, element & ~ENTERPRISE, Bytes.u16(b, p + 2), i < scopes);
      p += size;
    }
    return definition.done(id, p);
  }

  private static long enterprise(long number) {
    return number == 0 ? ElementNames.ENTERPRISE_0 : number;
  }

  /** The fields of a template while they are read; those of length 0 are left out. */
  private static final class Definition {
    private final long[] enterprises;
    private final int[] elements;
    private final int[] lengths;
    private int count;
    private int scopes;
    private int end;
    private String wrong;

    Definition(int fields) {
      enterprises = new long[fields];
      elements = new int[fields];
      lengths = new int[fields];
    }

    static Definition wrong(String what) {
      Definition none = new Definition(0);
      none.wrong = what;
      return none;
    }

    void add(long enterprise, int element, int length, boolean scope) {
      if (length > 0) {
        enterprises[count] = enterprise;
        elements[count] = element;
        lengths[count++] = length;
        scopes += scope ? 1 : 0;
      }
    }

    Definition done(int id, int to) {
      end = to;
      wrong = count == 0 ? "the records of template " + id + " have no length" : null;
      return this;
    }

    Template.Fields fields() {
      return new Template.Fields(
          Arrays.copyOf(enterprises, count), Arrays.copyOf(elements, count), Arrays.copyOf(lengths, count));
    }
  }
}
