package io.phantoms.spark.source.wire

import io.phantoms.spark.source.wire.Wire._

import org.scalatest.funsuite.AnyFunSuite

/** Headers of packets, down to what a capture cut off and what contradicts itself. */
class PacketDecoderSuite extends AnyFunSuite {
  private def some(row: Map[String, Any], names: String*): Seq[Any] = names.map(row.getOrElse(_, null))

  test("a TCP packet in Ethernet, byte by byte as RFC 894, 791 and 793 draw them") {
    val row = decode(hex("""
      001b2165a1b2 00c09f32418c 0800
      45 b8 0034 beef 4000 40 06 0000 c0a80102 c6336407
      c350 01bb 12345678 9abcdef0 80 18 7210 0000 0000 0101080a 00000001 00000002
    """))
    assert(row == Map(
      "time" -> 1700000000123456L,
      "time_nanos" -> 1700000000123456000L,
      "interface" -> 0,
      "caplen" -> 66,
      "length" -> 66,
      "link_type" -> 1,
      "src_mac" -> "00c09f32418c",
      "dst_mac" -> "001b2165a1b2",
      "ether_type" -> 0x800,
      "ip_version" -> 4,
      "srcip" -> "c0a80102",
      "dstip" -> "c6336407",
      "prot" -> 6,
      "tos" -> 0xb8,
      "ttl" -> 64,
      "ip_length" -> 52,
      "ip_id" -> 0xbeef,
      "fragment_offset" -> 0,
      "more_fragments" -> 0,
      "srcport" -> 50000,
      "dstport" -> 443,
      "tcp_flags" -> 0x18,
      "tcp_seq" -> 0x12345678L,
      "tcp_ack" -> 0x9abcdef0L,
      "tcp_window" -> 0x7210,
      "payload_length" -> 0,
      "payload" -> "",
      "_file_offset" -> 24
    ))
  }

  test("IPv6 with UDP: traffic class, flow label, lengths") {
    val row = decode(ethernet(0x86dd, ipv6(17, udp(53, 40000, hex("c0ffee")))))
    assert(some(row, "ip_version", "tos", "flow_label", "ip_length", "ttl", "prot", "srcport", "dstport") ==
      Seq(6, 0xb8, 0xabcde & 0xfffff, 51, 61, 17, 53, 40000))
    assert(some(row, "srcip", "dstip", "payload", "payload_length") ==
      Seq("20010db8000000000000000000000001", "20010db8fffffffffffffffffffffffe", "c0ffee", 3))
    assert(some(row, "ip_id", "fragment_offset", "problem") == Seq(null, null, null))
  }

  test("addresses as two halves of 64 bits") {
    def reader(bytes: Array[Byte]) =
      CaptureFiles.open(new Memory(pcap(Seq(Kept(1, 1, bytes)))), 0, Long.MaxValue, Policy.FAILFAST, null)
    val six = reader(ethernet(0x86dd, ipv6(59, Array.emptyByteArray)))
    assert(six.next())
    val r = six.record()
    assert((r.addressLength(Packets.DSTIP), r.addressHigh(Packets.DSTIP), r.addressLow(Packets.DSTIP)) ==
      ((16, 0x20010db8ffffffffL, -2L)))
    val four = reader(ethernet(0x800, ipv4(17, udp(1, 2, Array.emptyByteArray), src = "ff000001")))
    assert(four.next())
    val f = four.record()
    assert((f.addressLength(Packets.SRCIP), f.addressHigh(Packets.SRCIP), f.addressLow(Packets.SRCIP)) ==
      ((4, 0L, 0xff000001L)))
    assert(f.number(Packets.SRCIP) == 0xff000001L)
    assert(f.isNull(Packets.FLOW_LABEL) && f.number(Packets.FLOW_LABEL) == 0 && f.bytes(Packets.FLOW_LABEL) == null)
  }

  test("VLAN tags of any depth and kind") {
    val ip = join(hex("0800"), ipv4(17, udp(1, 2, hex("aa"))))
    def tagged(tags: String) = decode(join(Macs, hex(tags), ip))
    assert(some(tagged("8100 e064"), "vlan", "inner_vlan", "ether_type", "srcport") == Seq(100, null, 0x800, 1))
    assert(some(tagged("88a8 0fff 8100 0001"), "vlan", "inner_vlan", "ether_type", "srcport") ==
      Seq(4095, 1, 0x800, 1))
    val deep = tagged("9100 0003 88a8 0004 8100 0005 8100 0006 8100 0007")
    assert(some(deep, "vlan", "inner_vlan", "ether_type", "dstport") == Seq(3, 4, 0x800, 2))
  }

  test("packets that are not IP are rows of their link layer") {
    val arp = decode(ethernet(0x806, new Array[Byte](46)))
    assert(some(arp, "ether_type", "src_mac", "ip_version", "prot", "payload_length", "problem") ==
      Seq(0x806, "020000000001", null, null, null, null))
    val spanningTree = decode(ethernet(38, hex("424203" + "00" * 35)))
    assert(some(spanningTree, "ether_type", "dst_mac", "problem") == Seq(null, "020000000002", null))
    val snap = decode(ethernet(36, join(hex("aaaa03 000000 0800"), ipv4(17, udp(7, 8, Array.emptyByteArray)))))
    assert(some(snap, "ether_type", "srcport", "problem") == Seq(0x800, 7, null))
    val unknown = decode(hex("0102030405"), link = 147)
    assert(unknown.keySet ==
      Set("time", "time_nanos", "interface", "caplen", "length", "link_type", "_file_offset"))
  }

  test("link layers without Ethernet") {
    val four = ipv4(17, udp(1111, 2222, hex("00")))
    val six = ipv6(17, udp(3333, 4444, hex("00")))
    for (link <- Seq(12, 14, 101)) {
      assert(some(decode(four, link), "ip_version", "srcport", "problem") == Seq(4, 1111, null))
      assert(some(decode(six, link), "ip_version", "srcport", "problem") == Seq(6, 3333, null))
      assert(decode(hex("f000"), link)("problem") == "IP version 15")
    }
    assert(decode(four, 228)("dstport") == 2222)
    assert(decode(six, 229)("dstport") == 4444)
    assert(decode(six, 228)("problem") == "IP version 6 where the link layer says 4")
    for (
      (family, packet, port) <- Seq(
        ("00000002", four, 1111),
        ("02000000", four, 1111),
        ("1e000000", six, 3333),
        ("0000001c", six, 3333),
        ("18000000", six, 3333),
        ("0a000000", six, 3333)
      ); link <- Seq(0, 108)
    )
      assert(some(decode(join(hex(family), packet), link), "srcport", "problem") == Seq(port, null))
    assert(some(decode(hex("07000000 00"), 0), "ip_version", "problem") == Seq(null, null))
    val cooked = decode(join(hex("0004 0001 0006 0a0b0c0d0e0f 0000 0800"), four), 113)
    assert(some(cooked, "src_mac", "dst_mac", "ether_type", "srcport") == Seq("0a0b0c0d0e0f", null, 0x800, 1111))
    val cookedTagged = decode(join(hex("0000 0001 0006 0a0b0c0d0e0f 0000 8100 0042 86dd"), six), 113)
    assert(some(cookedTagged, "vlan", "srcport") == Seq(0x42, 3333))
    val loopback = decode(join(hex("0000 0304 0000 000000000000 0000 0800"), four), 113)
    assert(some(loopback, "src_mac", "srcport") == Seq(null, 1111))
    val cooked2 = decode(join(hex("86dd 0000 00000003 0001 04 06 0a0b0c0d0e0f 0000"), six), 276)
    assert(some(cooked2, "src_mac", "ether_type", "dstport") == Seq("0a0b0c0d0e0f", 0x86dd, 4444))
  }

  test("Ethernet's padding is no payload") {
    val row = decode(ethernet(0x800, ipv4(17, udp(1, 2, hex("abcd")))).padTo(60, 0x55.toByte))
    assert(some(row, "length", "ip_length", "payload_length", "payload", "problem") == Seq(60, 30, 2, "abcd", null))
    val ack = decode(ethernet(0x800, ipv4(6, tcp(1, 2, 16, Array.emptyByteArray))).padTo(60, 0.toByte))
    assert(some(ack, "payload_length", "payload", "problem") == Seq(0, "", null))
  }

  test("options of IPv4 and TCP") {
    val segment = tcp(80, 90, 0x12, hex("01020304"), options = hex("020405b4 01010402"))
    val row = decode(ethernet(0x800, ipv4(6, segment, options = hex("94040000 01010101"))))
    assert(some(row, "srcport", "dstport", "tcp_flags", "tcp_seq", "tcp_ack", "tcp_window", "payload", "problem") ==
      Seq(80, 90, 0x12, 0xfffffff0L, 0x80000001L, 0xfffe, "01020304", null))
  }

  test("ICMP and ICMPv6, SCTP, others") {
    val echo = decode(ethernet(0x800, ipv4(1, hex("0800 0000 0001 0002 616263"))))
    assert(some(echo, "icmp_type", "icmp_code", "payload", "srcport") == Seq(8, 0, "616263", null))
    val unreachable = decode(ethernet(0x86dd, ipv6(58, hex("0104 0000 00000000") ++ new Array[Byte](48))))
    assert(some(unreachable, "icmp_type", "icmp_code", "payload_length", "problem") == Seq(1, 4, 48, null))
    for (kind <- Seq(152, 153)) {
      val discovery = decode(ethernet(0x86dd, ipv6(58, hex(f"$kind%02x00beef"))))
      assert(
        some(discovery, "icmp_type", "icmp_code", "payload", "payload_length", "problem") ==
          Seq(kind, 0, "", 0, null),
        "multicast router discovery is four bytes"
      )
    }
    val short = decode(ethernet(0x86dd, ipv6(58, hex("9700beef"))))
    assert(short("problem") == "the IP packet's 44 bytes end in the ICMP header", "but its advertisement has eight")
    val sctp = decode(ethernet(0x800, ipv4(132, hex("0b59 0b5a 00000000 00000000 00"))))
    assert(some(sctp, "srcport", "dstport", "payload_length") == Seq(2905, 2906, 1))
    val gre = decode(ethernet(0x800, ipv4(47, hex("00000800"))))
    assert(some(gre, "prot", "payload", "srcport", "problem") == Seq(47, "00000800", null, null))
    val coverage = decode(ethernet(0x800, ipv4(136, hex("0001 0002 ffff 0000"))))
    assert(some(coverage, "srcport", "problem") == Seq(1, null))
  }

  test("fragments: ports in the first one only") {
    val first = decode(ethernet(0x800, ipv4(17, hex("1000 2000 0100 0000 0102030405060708"), fragment = 0x2000)))
    assert(some(first, "more_fragments", "fragment_offset", "srcport", "payload_length", "problem") ==
      Seq(1, 0, 4096, 8, null))
    val later = decode(ethernet(0x800, ipv4(17, hex("1000 2000"), fragment = 0x2002)))
    assert(some(later, "more_fragments", "fragment_offset", "srcport", "prot", "payload", "problem") ==
      Seq(1, 16, null, 17, "10002000", null))
    // RFC 791 allows a first fragment of 8 bytes, which ends in TCP's header.
    val tiny = decode(ethernet(0x800, ipv4(6, hex("0050 0051 00000007"), fragment = 0x2000)))
    assert(some(tiny, "srcport", "dstport", "tcp_seq", "tcp_flags", "problem") == Seq(80, 81, 7, null, null))
    val six = decode(ethernet(0x86dd, ipv6(44, hex("11 00 0001 deadbeef 1000 2000 0100 0000 00"))))
    assert(some(six, "more_fragments", "fragment_offset", "srcport", "prot", "problem") == Seq(1, 0, 4096, 17, null))
    val sixLater = decode(ethernet(0x86dd, ipv6(44, hex("11 00 05a8 deadbeef 1000 2000"))))
    assert(some(sixLater, "more_fragments", "fragment_offset", "srcport", "prot", "payload_length", "problem") ==
      Seq(0, 1448, null, 17, 4, null))
  }

  test("IPv6's extension headers in a row, ESP at their end") {
    val udpPacket = udp(5, 6, hex("77"))
    val all = join(
      hex("2b 00 0000 00000000"), // hop-by-hop, then routing
      hex("3c 01 0000 00000000 0000000000000000"), // routing of 16 bytes, then destination
      hex("33 00 0000 00000000"), // destination, then authentication
      hex("2c 04 0000 00000001 00000002 000000000000000000000000"), // authentication of 24 bytes, then fragment
      hex("11 00 0000 00000009"), // fragment, the only one, then UDP
      udpPacket
    )
    val row = decode(ethernet(0x86dd, ipv6(0, all)))
    assert(some(row, "prot", "srcport", "payload", "fragment_offset", "problem") == Seq(17, 5, "77", 0, null))
    val esp = decode(ethernet(0x86dd, ipv6(60, join(hex("32 00 0000 00000000"), new Array[Byte](20)))))
    assert(some(esp, "prot", "srcport", "payload_length", "problem") == Seq(50, null, 20, null))
    val nothing = decode(ethernet(0x86dd, ipv6(59, Array.emptyByteArray)).padTo(60, 0.toByte))
    assert(some(nothing, "prot", "ip_length", "payload_length") == Seq(59, 40, 0))
  }

  test("packets captured before segmentation have length 0") {
    val segment = tcp(1, 2, 16, Array.fill(3000)(1.toByte))
    val four = decode(ethernet(0x800, ipv4(6, segment, length = 0)))
    assert(some(four, "ip_length", "payload_length", "problem") == Seq(3040, 3000, null))
    val six = decode(ethernet(0x86dd, ipv6(6, segment, length = 0)))
    assert(some(six, "ip_length", "payload_length", "problem") == Seq(3060, 3000, null))
  }

  test("whatever the snaplen cuts off is NULL, never wrong, never a problem") {
    val packets = Seq(
      1 -> ethernet(0x800, ipv4(6, tcp(80, 90, 0x12, hex("01020304")), options = hex("94040000"))),
      1 -> join(Macs, hex("88a8 0001 8100 0002 86dd"), ipv6(0, hex("06 00 0000 00000000") ++ tcp(1, 2, 3, hex("05")))),
      1 -> ethernet(0x800, ipv4(17, udp(1, 2, hex("0102")))),
      1 -> ethernet(0x86dd, ipv6(58, hex("8000 0000 0001 0002 61"))),
      113 -> join(hex("0004 0001 0006 0a0b0c0d0e0f 0000 0800"), ipv4(1, hex("0800 0000 0001 0002 61"))),
      276 -> join(hex("0800 0000 00000003 0001 04 06 0a0b0c0d0e0f 0000"), ipv4(132, new Array[Byte](13))),
      0 -> join(hex("02000000"), ipv4(17, udp(1, 2, hex("0102")))),
      101 -> ipv6(44, hex("11 00 0001 deadbeef 1000 2000 0100 0000 00"))
    )
    for ((link, bytes) <- packets; keep <- 0 to bytes.length) {
      val (whole, cut) = (decode(bytes, link), decode(bytes, link, keep))
      val same = (cut - "caplen" - "payload").toSet
      assert(same.subsetOf(whole.toSet), s"link $link, $keep of ${bytes.length} bytes")
      cut.get("payload").foreach(p => assert(whole("payload").toString.startsWith(p.toString)))
      assert(keep < bytes.length || cut == whole)
      // More bytes, no fewer fields.
      if (keep > 0) assert(decode(bytes, link, keep - 1).keySet.subsetOf(cut.keySet))
    }
  }

  test("truncated packets are counted when headers were cut") {
    val bytes = ethernet(0x800, ipv4(6, tcp(80, 90, 0x12, hex("01020304"))))
    def truncated(keep: Int) = {
      val c = read(pcap(Seq(Kept(1, 1, bytes.take(keep), bytes.length.toLong)))).counters
      assert(c.packets == 1 && c.decoded == 1 && c.malformed == 0)
      c.truncated
    }
    assert(truncated(bytes.length) == 0)
    assert(truncated(54) == 0, "all headers, no payload")
    assert(truncated(53) == 1)
    assert(truncated(20) == 1)
    assert(truncated(0) == 1)
  }

  test("headers that contradict themselves keep what is known and say what is wrong") {
    def problem(bytes: Array[Byte], link: Int = 1) = decode(bytes, link).getOrElse("problem", null)
    val plain = ipv4(17, udp(1, 2, hex("0102")))
    def changed(at: Int, value: Int) = ethernet(0x800, plain.updated(at, value.toByte))
    assert(problem(changed(0, 0x44)) == "an IPv4 header of 16 bytes")
    assert(problem(changed(0, 0x55)) == "IP version 5 where the link layer says 4")
    assert(problem(changed(3, 19)) == "an IPv4 packet of 19 bytes with a header of 20")
    assert(problem(changed(3, 27)) == "the IP packet's 27 bytes end in the UDP header")
    assert(problem(changed(3, 31)) == "an IP packet of 31 bytes where the packet has 30")
    assert(decode(changed(3, 31))("srcport") == 1)
    assert(problem(changed(25, 7)) == "a UDP datagram of 7 bytes where IP has 10")
    assert(problem(changed(25, 11)) == "a UDP datagram of 11 bytes where IP has 10")
    assert(problem(changed(25, 0)) == null)
    val segment = tcp(1, 2, 3, hex("05"))
    def tcpOf(offset: Int) = ethernet(0x800, ipv4(6, segment.updated(12, (offset << 4).toByte)))
    assert(problem(tcpOf(4)) == "a TCP header of 16 bytes in a segment of 21")
    assert(problem(tcpOf(6)) == "a TCP header of 24 bytes in a segment of 21")
    assert(decode(tcpOf(6))("tcp_seq") == 0xfffffff0L)
    assert(problem(ethernet(0x800, ipv4(1, hex("080000")))) == "the IP packet's 23 bytes end in the ICMP header")
    assert(problem(ethernet(0x86dd, ipv6(0, hex("2b00000000000000")))) ==
      "IPv6's extension headers end in the middle: header 43 beyond 48 bytes")
    assert(problem(ethernet(0x86dd, ipv6(0, hex("0601000000000000")))) ==
      "IPv6's extension header 0 of 16 bytes where 8 are left")
    assert(!decode(ethernet(0x86dd, ipv6(0, hex("2b00000000000000")))).contains("prot"))
    assert(problem(ethernet(0x86dd, ipv6(6, segment, length = 22))) ==
      "an IP packet of 62 bytes where the packet has 61")
    assert(problem(hex("010203")) == "the packet's 3 bytes end in the Ethernet header")
    assert(problem(join(Macs, hex("8100 00"))) == "the packet's 15 bytes end in the VLAN header")
    assert(problem(ethernet(0x800, hex("45"))) == "the packet's 15 bytes end in the IPv4 header")
    assert(problem(ethernet(0x86dd, Array.emptyByteArray)) == "the packet's 14 bytes end in the IPv6 header")
    assert(problem(hex("0000"), 113) == "the packet's 2 bytes end in the Linux cooked header")
  }

  test("the schema's places are the constants, and the columns that were not asked for cost no decoding") {
    val names = Packets.SCHEMA.fields
    assert(names.size == Packets.COUNT)
    assert(Packets.SCHEMA.ordinal("srcip") == Packets.SRCIP && Packets.SCHEMA.ordinal("payload") == Packets.PAYLOAD)
    assert(Packets.SCHEMA.ordinal("_file_offset") == Packets.FILE_OFFSET && Packets.SCHEMA.ordinal("nonsense") == -1)
    val file = new Memory(pcap(Seq(Kept(5, 7, hex("0102")))))
    def counters(wanted: Array[Boolean]) = {
      val result = readAll(CaptureFiles.open(file, 0, file.length, Policy.PERMISSIVE, wanted))
      assert(result.rows.map(_("time")) == Seq(5000007L))
      (result.counters.decoded, result.counters.malformed)
    }
    val timeOnly = Array.tabulate(Packets.COUNT + 1)(_ == Packets.TIME)
    assert(counters(timeOnly) == ((1, 0)))
    assert(counters(timeOnly.init) == ((0, 1)), "who does not say whether problems are wanted, wants them")
    assert(counters(timeOnly.updated(Packets.COUNT, true)) == ((0, 1)))
    assert(counters(timeOnly.updated(Packets.PROT, true)) == ((0, 1)))
    assert(counters(null) == ((0, 1)))
  }
}
