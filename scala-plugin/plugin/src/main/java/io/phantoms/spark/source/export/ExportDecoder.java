package io.phantoms.spark.source.export;

import java.util.ArrayDeque;
import java.util.Arrays;

import io.phantoms.spark.source.export.WaitingSets.Account;
import io.phantoms.spark.source.export.WaitingSets.WaitingSet;
import io.phantoms.spark.source.wire.Bytes;
import io.phantoms.spark.source.wire.Policy;
import io.phantoms.spark.source.wire.WireCounters;
import io.phantoms.spark.source.wire.WireException;

/**
 * Flow records of datagrams, one input's decoder: {@link #decode} takes a datagram, {@link #nextFlow} goes through its
 * records, and through those of earlier data sets whose template it brought.
 *
 * <p>What can be read of a malformed datagram is read: the sets that are whole, the records that are whole. Then comes
 * one problem, by {@link Policy} a record that says what was wrong, nothing, or an error. Memory is bounded whatever is
 * sent.
 */
public final class ExportDecoder {
  private static final int FIRST_DATA_SET = 256;
  private static final String REMEDY =
      "Mode PERMISSIVE reads on and makes a row of it, DROPMALFORMED reads on and counts it";

  private final String name;
  private final Policy policy;
  private final WireCounters counters;
  private final Templates templates = new Templates();
  private final TemplateSets templateSets;
  private final WaitingSets waiting = new WaitingSets();
  private final Template v5;
  private final RecordDecoder records;
  private final RecordDecoder options = new RecordDecoder(Needs.ofOptions());
  private final FlowRecord record = new FlowRecord();
  private final FlowRecord option = new FlowRecord();

  /**
   * The datagram: its sets from {@code next} to {@code end} are still to be read. How many records a v9 header
   * announced is of interest until there is a set: exporters do not agree on what to count.
   */
  private boolean inDatagram;
  private DatagramHeader header;
  private Domain domain;
  private byte[] bytes;
  private long offset;
  private int next;
  private int end;
  private int announced;
  private String wrong;
  private int moreWrong;

  /** Shared by the datagram's sets that wait; null if none does. */
  private Account account;

  /** The data set: records from {@code at} to {@code setEnd} are still to be read; no template where there is none. */
  private Template template;
  private DatagramHeader setHeader;
  private Domain setDomain;
  private byte[] setBytes;
  private int at;
  private int setEnd;
  private boolean noneYet;

  /** Of a set that has waited; else null. */
  private Account waited;
  private int[] fieldAt = new int[32];
  private int[] fieldLength = new int[32];

  private final ArrayDeque<WaitingSet> ready = new ArrayDeque<>();
  private final ArrayDeque<WaitingSet> lost = new ArrayDeque<>();
  private boolean refused;
  private boolean finishing;

  /**
   * @param name the file or address that messages name
   * @param wanted the columns of {@link Flows#SCHEMA} that are read, by ordinal; others may be NULL
   * @param counters where datagrams and records are counted
   */
  public ExportDecoder(String name, Policy policy, boolean[] wanted, WireCounters counters) {
    this.name = name;
    this.policy = policy;
    this.counters = counters;
    Needs needs = new Needs(wanted);
    templateSets = new TemplateSets(templates, needs);
    v5 = V5.template(needs);
    records = new RecordDecoder(needs);
  }

  /** One that knows what another knew: see {@link #state}. */
  public ExportDecoder(String name, Policy policy, boolean[] wanted, WireCounters counters, ExportState before) {
    this(name, policy, wanted, counters);
    before.domains().forEach(templates::resume);
    for (ExportState.Defined d : before.templates()) {
      Domain its = templates.findOrAdd(d.origin());
      templateSets.read(d.definition(), 0, d.definition().length, its, d.options(), id -> {});
    }
    waiting.resume(before, lost);
  }

  /** What exporters have said so far, and what waits; between datagrams. */
  public ExportState state() {
    return new ExportState(templates.said(), templates.defined(), waiting.waiting(), waiting.givenUp());
  }

  /** Takes a datagram. Its bytes must stay as they are until {@link #nextFlow} has answered that there is no more. */
  public void decode(Datagram d) {
    inDatagram = true;
    wrong = null;
    moreWrong = 0;
    announced = 0;
    account = null;
    offset = d.offset();
    bytes = d.bytes();
    next = d.from();
    end = next + d.length();
    int version = d.length() < 2 ? 0 : Bytes.u16(bytes, next);
    int headerLength = DatagramHeader.length(version);
    if (headerLength == 0 || d.length() < headerLength) {
      note(headerLength == 0
          ? "a datagram of " + d.length() + " bytes begins with " + Bytes.hex(bytes, next, Math.min(end, next + 4))
              + ": version 5, 9 or 10 is expected"
          : "a datagram of version " + version + " has only " + d.length() + " bytes");
      header = null;
      next = end;
      return;
    }
    header = DatagramHeader.of(d, header);
    if (version == 5) {
      decodeV5();
      return;
    }
    domain = templates.find(header.origin());
    int second = Bytes.u16(bytes, next + 2);
    announced = version == 9 ? second : 0;
    if (version == 10) {
      trimToLength(second);
    }
    next += headerLength;
  }

  private void decodeV5() {
    int count = Bytes.u16(bytes, next + 2);
    int from = next + DatagramHeader.V5_LENGTH;
    int whole = Math.min(count, (end - from) / V5.RECORD_LENGTH);
    if (whole < count) {
      note("a v5 datagram of " + (end - next) + " bytes says it has " + count + " records: there are " + whole);
    } else if (count > V5.MAX_RECORDS) {
      note("a v5 datagram has " + count + " records: there are at most " + V5.MAX_RECORDS);
    } else if (!Bytes.allZero(bytes, from + whole * V5.RECORD_LENGTH, end)) {
      note((end - from - whole * V5.RECORD_LENGTH) + " bytes follow the " + count + " records of a v5 datagram");
    }
    beginSet(v5, header, null, bytes, from, from + whole * V5.RECORD_LENGTH);
    next = end;
  }

  private void trimToLength(int length) {
    int present = end - next;
    if (length < DatagramHeader.IPFIX_LENGTH) {
      note("an IPFIX message says it has " + length + " bytes: its header alone has 16");
      end = next + DatagramHeader.IPFIX_LENGTH;
    } else if (length > present) {
      note("an IPFIX message says it has " + length + " bytes: there are " + present);
    } else {
      if (!Bytes.allZero(bytes, next + length, end)) {
        note((present - length) + " bytes follow an IPFIX message of " + length + " bytes");
      }
      end = next + length;
    }
  }

  /** Takes a place where there should be a datagram and is none. Nothing of it is counted here. */
  public void refuse(long fileOffset, String what) throws WireException {
    refused = complain(null, -1, fileOffset, what);
  }

  /** Says that no datagram will come any more: what still waits for a template has waited in vain. */
  public void finish() {
    finishing = true;
  }

  /** The record that the last {@link #nextFlow} went to; the same object every time. */
  public FlowRecord record() {
    return record;
  }

  /** Templates that were forgotten because there were too many of them. */
  public long droppedTemplates() {
    return templates.dropped();
  }

  /**
   * Goes to the next record, or the next problem.
   *
   * @return whether there is one; if not, another datagram can be taken
   */
  public boolean nextFlow() throws WireException {
    if (refused) {
      refused = false;
      return true;
    }
    while (true) {
      if (template != null) {
        if (nextRecord()) {
          return true;
        }
      } else if (!ready.isEmpty()) {
        beginWaiting(ready.poll());
      } else if (!lost.isEmpty()) {
        if (giveUp(lost.poll())) {
          return true;
        }
      } else if (inDatagram) {
        if (next < end) {
          nextSet();
        } else if (endDatagram()) {
          return true;
        }
      } else if (finishing && waiting.size() > 0) {
        lost.add(waiting.takeOldest());
      } else {
        return false;
      }
    }
  }

  private void nextSet() {
    if (end - next < 4) {
      if (!Bytes.allZero(bytes, next, end)) {
        note((end - next) + " bytes follow the last set");
      }
      next = end;
      return;
    }
    int id = Bytes.u16(bytes, next);
    int length = Bytes.u16(bytes, next + 2);
    if (length < 4 || length > end - next) {
      note("set " + id + " says it has " + length + " bytes: its header has 4, and " + (end - next) + " are left");
      next = end;
      return;
    }
    int from = next + 4;
    next += length;
    announced = 0;
    int firstOfTemplates = header.origin().version() == 9 ? 0 : 2;
    if (id >= FIRST_DATA_SET) {
      Template known = domain == null ? null : domain.template(id);
      if (known != null) {
        beginSet(known, header, domain, bytes, from, next);
      } else if (from < next) {
        account = account == null ? new Account() : account;
        waiting.add(new WaitingSet(header, id, Arrays.copyOfRange(bytes, from, next), account), lost);
      }
    } else if (id == firstOfTemplates || id == firstOfTemplates + 1) {
      domain = templates.findOrAdd(header.origin());
      String bad = templateSets.read(bytes, from, next, domain, id != firstOfTemplates, this::defined);
      if (bad != null) {
        note(bad);
      }
    } else {
      note("a set has the number " + id + ", which means nothing in "
          + (header.origin().version() == 9 ? "v9" : "IPFIX"));
    }
  }

  private void defined(int id) {
    ready.addAll(waiting.take(header.origin(), id));
  }

  private void beginWaiting(WaitingSet set) {
    Domain its = templates.find(set.header.origin());
    Template known = its == null ? null : its.template(set.template);
    if (known == null) {
      // Taken back by the very datagram that brought it.
      lost.add(set);
    } else {
      beginSet(known, set.header, its, set.bytes, 0, set.bytes.length);
      waited = set.account;
    }
  }

  private void beginSet(Template described, DatagramHeader of, Domain in, byte[] b, int from, int to) {
    template = described;
    setHeader = of;
    setDomain = in;
    setBytes = b;
    at = from;
    setEnd = to;
    noneYet = true;
    waited = null;
    (described.options() ? option : record).beginSet(of, described, b);
    if (described.variable() && described.fields() > fieldAt.length) {
      fieldAt = new int[described.fields()];
      fieldLength = new int[described.fields()];
    }
  }

  /** Goes to the next record of the set; options are taken note of and passed over. */
  private boolean nextRecord() throws WireException {
    boolean variable = template.variable();
    int[] places = variable ? fieldAt : template.offsets();
    int[] lengths = variable ? fieldLength : template.lengths();
    while (setEnd - at >= template.minLength()) {
      int to = variable ? template.walk(setBytes, at, setEnd, places, lengths) : at + template.minLength();
      if (to < 0) {
        break;
      }
      int from = at;
      at = to;
      noneYet = false;
      if (!template.options()) {
        record.beginRecord();
        records.decode(template, setBytes, from, places, lengths, setHeader, setDomain, record);
        counters.flows++;
        return true;
      }
      option.beginRecord();
      options.decode(template, setBytes, from, places, lengths, setHeader, null, option);
      OptionNotes.take(option, options, template, templates, setDomain);
    }
    return endSet();
  }

  /** Whether the set's end is a problem that is a record. */
  private boolean endSet() throws WireException {
    int rest = setEnd - at;
    int id = template.id();
    template = null;
    // Up to three bytes are padding, whatever is in them, unless they are all that there is.
    if (rest == 0 || rest <= 3 && !noneYet || Bytes.allZero(setBytes, at, setEnd)) {
      return false;
    }
    String what = rest + " bytes at the end of a set are no record of its template " + id;
    if (waited != null && waited != account) {
      waited.countMalformed(counters);
      return complain(setHeader, id, setHeader.fileOffset(), what);
    }
    note(what);
    return false;
  }

  private void note(String what) {
    if (wrong == null) {
      wrong = what;
    } else {
      moreWrong++;
    }
  }

  /** Whether the datagram's end is a problem that is a record. */
  private boolean endDatagram() throws WireException {
    inDatagram = false;
    if (announced > 0) {
      note("a v9 datagram says it has " + announced + " records: there is no set");
    }
    counters.packets++;
    if (wrong == null) {
      counters.decoded++;
      return false;
    }
    counters.malformed++;
    if (account != null) {
      account.malformed = true;
    }
    return complain(header, -1, offset, moreWrong == 0 ? wrong : wrong + " (and " + moreWrong + " more)");
  }

  private boolean giveUp(WaitingSet set) throws WireException {
    counters.withoutTemplate++;
    return complain(set.header, set.template, set.header.fileOffset(), set.givenUp().text());
  }

  /** Whether the problem is a record. */
  private boolean complain(DatagramHeader of, int templateId, long fileOffset, String what) throws WireException {
    if (policy == Policy.FAILFAST) {
      throw new WireException(name, fileOffset, what, REMEDY);
    }
    if (policy == Policy.DROPMALFORMED) {
      return false;
    }
    if (of == null) {
      record.describe(fileOffset, what);
    } else {
      record.describe(of, templateId, what);
    }
    return true;
  }
}
