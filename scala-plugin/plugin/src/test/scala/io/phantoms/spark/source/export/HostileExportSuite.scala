package io.phantoms.spark.source.`export`

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.{Policy, WireCounters}

/** Templates and data made to cost memory or time. */
class HostileExportSuite extends AnyFunSuite {
  import Exports._

  test("forty fields of length 0") {
    val none = template(256, Seq.fill(40)(1 -> 0): _*)
    Seq(v9(set(0, none), set(256, u32(1))), ipfix(set(2, none), set(256, u32(1)))).foreach { datagram =>
      val decoded = receive(Policy.PERMISSIVE, Sent(datagram))
      assert(decoded.flows.isEmpty)
      assert(decoded.problems.head.text.contains("the records of template 256 have no length"))
      assert(decoded.counters.withoutTemplate == 1)
    }
  }

  test("fields of length 0 beside others have no value") {
    val some = template(256, Seq.fill(40)(1 -> 0) ++ Seq(7 -> 2) ++ Seq.fill(40)(82 -> 0): _*)
    Seq(v9(set(0, some), set(256, u16(1, 2))), ipfix(set(2, some), set(256, u16(1, 2)))).foreach { datagram =>
      val decoded = receive(Policy.FAILFAST, Sent(datagram))
      assert(decoded.column("srcport") == Seq(1, 2))
      assert(decoded.flows.forall(f => !f.contains("octets") && !f.contains("other")))
    }
  }

  test("a redefinition that is refused takes the old definition with it") {
    val file = bytes(
      v9(set(0, template(256, 7 -> 2)), set(256, u16(1))),
      v9(set(0, template(256, 7 -> 0)), set(256, u16(2)))
    )
    val decoded = read(file)
    assert(decoded.column("srcport") == Seq(1))
    assert(decoded.counters.withoutTemplate == 1 && decoded.counters.malformed == 1)
  }

  test("forty fields of length 65535") {
    val wide = template(256, Seq.fill(40)(82 -> 65535): _*)
    val v9Decoded = receive(Policy.PERMISSIVE, Sent(v9(set(0, wide), set(256, Array.fill(4000)(1.toByte)))))
    assert(v9Decoded.flows.isEmpty && v9Decoded.problem.contains("4000 bytes at the end of a set"))
    // In IPFIX they have a length each of their own.
    val decoded = receive(Policy.FAILFAST, Sent(ipfix(set(2, wide), set(256, Array.fill(80)(1.toByte)))))
    assert(decoded.flow("other").asInstanceOf[Map[String, String]].size == 40)
    val cut = receive(Policy.PERMISSIVE, Sent(ipfix(set(2, wide), set(256, Array.fill(79)(1.toByte)))))
    assert(cut.flows.isEmpty && cut.problem.contains("79 bytes"))
    val beyond = receive(Policy.PERMISSIVE, Sent(ipfix(set(2, wide), set(256, u8(255), u16(0xffff), zeros(50)))))
    assert(beyond.flows.isEmpty && beyond.problem.contains("53 bytes"))
  }

  test("as many templates as numbers allow, of as many domains as there are: the oldest go, and are counted") {
    val domains = 20
    val each = 6000
    val data = (domains: Long) => ipfixWith(domain = domains)(set(256, u16(5)), set(256 + each - 1, u16(6)))
    val counted = new WireCounters
    val datagrams = (1 to domains).flatMap { d =>
      (0 until each).grouped(3000).map { ids =>
        Sent(ipfixWith(domain = d)(set(2, ids.map(i => template(256 + i, 7 -> 2)): _*)))
      }
    } ++ Seq(Sent(data(1)), Sent(data(domains)))
    val reader = new ExportReader("udp", new Wire(datagrams), counted, Policy.PERMISSIVE, All)
    val decoded = drain(reader)
    assert(reader.droppedTemplates >= domains * each - Templates.MAX_TEMPLATES)
    assert(decoded.column("srcport") == Seq(5, 6), "those of the last domain are known")
    assert(decoded.counters.withoutTemplate == 2, "those of the first are not")
  }

  test("templates: bounds of number, of memory, of domains") {
    val needs = new Needs(All)
    val templates = new Templates
    val many = new Template.Fields(Array.fill(16000)(0L), Array.fill(16000)(1), Array.fill(16000)(1))
    (0 until 200).foreach { d =>
      val domain = templates.findOrAdd(new Origin(0, d, 4, 1, 10, 1))
      templates.define(domain, new Template(10, 256, false, zeros(64000), many, 0, needs))
      assert(templates.bytes <= Templates.MAX_BYTES)
    }
    assert(templates.size > 1 && templates.dropped == 200 - templates.size)
    (0 until 20000).foreach(d => templates.findOrAdd(new Origin(0, d, 4, 1, 10, 2)))
    assert(templates.size == 0 && templates.bytes == 0)
    assert(templates.find(new Origin(0, 19999, 4, 1, 10, 2)) != null)
    assert(templates.find(new Origin(0, 0, 4, 1, 10, 2)) == null)
  }

  test("a template that is repeated stays when others go") {
    val templates = new Templates
    val fields = new Template.Fields(Array(0L), Array(1), Array(4))
    val mine = templates.findOrAdd(new Origin(0, 1, 4, 1, 10, 1))
    val kept = new Template(10, 256, false, zeros(8), fields, 0, new Needs(All))
    templates.define(mine, kept)
    (0 until 120000).foreach { i =>
      val other = templates.findOrAdd(new Origin(0, 2, 4, 1, 10, i / 60000))
      templates.define(other, new Template(10, 256 + i % 60000, false, zeros(8), fields, 0, new Needs(All)))
      if (i % 10000 == 0) templates.repeated(templates.find(mine.origin), kept)
    }
    assert(templates.dropped > 0 && mine.template(256) == kept)
  }

  test("samplers are bounded, in a domain and in all") {
    val templates = new Templates
    (0 until 1000).foreach { d =>
      val domain = templates.findOrAdd(new Origin(0, d, 4, 1, 10, 1))
      (0 until 300).foreach(s => templates.sampling(domain, s, -1, 10, true))
      assert(domain.samplers == Domain.MAX_SAMPLERS)
      assert(domain.samplingOf(299, -1) == 10 && domain.samplingOf(0, -1) == 0)
    }
    val left = (0 until 1000).count(d => templates.find(new Origin(0, d, 4, 1, 10, 1)) != null)
    assert(left == Templates.MAX_SAMPLERS / Domain.MAX_SAMPLERS)
  }

  test("data that wait are bounded: in number, in bytes, for each template") {
    val big = zeros(60000)
    val datagrams = Seq.fill(1000)(Sent(ipfix(set(256, big)))) ++ Seq(Sent(ipfix(set(257, u16(1))))) ++
      Seq(Sent(ipfix(set(2, template(257, 7 -> 2), template(256, 82 -> 60000)))))
    val decoded = receive(Policy.DROPMALFORMED, datagrams: _*)
    assert(decoded.column("srcport").head == 1, "it is not put out by those of the other template")
    val waited = WaitingSets.MAX_BYTES_EACH / (60000 + 200)
    assert(decoded.flows.size == 1 + waited)
    assert(decoded.counters.withoutTemplate == 1000 - waited)

    val many = (0 until 40000).map(i => Sent(ipfix(set(256 + i % 20000, u16(1)))))
    val lost = receive(Policy.PERMISSIVE, many: _*)
    assert(lost.counters.withoutTemplate == 40000 && lost.problems.size == 40000 && lost.flows.isEmpty)
  }

  test("a record of one byte with thousands of fields costs what its bytes cost") {
    val fields = template(256, Seq.fill(16000)(1 -> 0) :+ (4 -> 65535): _*)
    val data = ipfix(set(256, zeros(60000)))
    val decoded = receive(Policy.FAILFAST, Sent(ipfix(set(2, fields))), Sent(data), Sent(data))
    assert(decoded.flows.size == 120000)
    // What each record goes through.
    val templates = new Templates
    val domain = templates.findOrAdd(new Origin(0, 1, 4, 1, 10, 1))
    assert(new TemplateSets(templates, new Needs(All)).read(fields, 0, fields.length, domain, false, _ => ()) == null)
    assert(domain.template(256).fields == 1 && domain.template(256).stepField.length == 1)
  }

  test("one element a thousand times in a record") {
    val datagram = ipfix(set(2, template(256, Seq.fill(10000)(82 -> 1): _*)), set(256, Array.fill(10000)(7.toByte)))
    val other = receive(Policy.FAILFAST, Sent(datagram)).flow("other").asInstanceOf[Map[String, String]]
    assert(other.size == 10000 && other.contains("interfaceName") && other.contains("interfaceName#10000"))
  }

  test("withdrawals of everything, by the thousand") {
    val define = Sent(ipfix(set(2, (0 until 5000).map(i => template(256 + i, 7 -> 2)): _*)))
    val withdraw = Sent(ipfix(set(3, Seq.fill(15000)(u16(3, 0)): _*)))
    val decoded = receive(Policy.FAILFAST, define +: Seq.fill(20)(withdraw) :+ Sent(ipfix(set(256, u16(4)))): _*)
    assert(decoded.column("srcport") == Seq(4), "of options all were withdrawn, and there were none")
    val both = Sent(ipfix(set(2, template(256, 7 -> 2), u16(2, 0))))
    val none = receive(Policy.PERMISSIVE, define +: Seq.fill(20)(both) :+ Sent(ipfix(set(256, u16(4)))): _*)
    assert(none.flows.isEmpty && none.counters.withoutTemplate == 1)
  }

  test("withdrawals of everything go through what is there, not through what was there once") {
    var walks = 0
    class Walked extends java.util.HashMap[Integer, Template] {
      override def values(): java.util.Collection[Template] = {
        walks += 1
        super.values()
      }
    }
    val templates = new Templates
    val domain = templates.findOrAdd(new Origin(0, 1, 4, 1, 10, 1))
    domain.records = new Walked
    val sets = new TemplateSets(templates, new Needs(All))
    def send(parts: Array[Byte]*): Unit = {
      val all = bytes(parts: _*)
      assert(sets.read(all, 0, all.length, domain, false, _ => ()) == null)
      ()
    }
    send((0 until 5000).map(i => template(256 + i, 7 -> 2)): _*)
    (1 to 3).foreach(_ => send(Seq.fill(5000)(bytes(template(256, 7 -> 2), u16(2, 0))): _*))
    assert(walks == 1 && templates.size == 0 && templates.bytes == 0)
  }
}
