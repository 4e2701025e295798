package io.phantoms.spark.source.ip

import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Addresses as text against the JDK's parser, and RFC 5952's own examples. */
class IpTextSuite extends AnyFunSuite {
  private def written(text: String): String = new String(IpText.of(IpText.parse(text)), UTF_8)

  test("RFC 5952") {
    Seq(
      "2001:0db8::0001" -> "2001:db8::1", // 4.1
      "2001:db8:0:0:0:0:2:1" -> "2001:db8::2:1", // 4.2.1
      "2001:db8:0:1:1:1:1:1" -> "2001:db8:0:1:1:1:1:1", // 4.2.2
      "2001:0:0:1:0:0:0:1" -> "2001:0:0:1::1", // 4.2.3, the longest
      "2001:db8:0:0:1:0:0:1" -> "2001:db8::1:0:0:1", // 4.2.3, the first
      "2001:DB8::ABCD" -> "2001:db8::abcd", // 4.3
      "::ffff:c000:0201" -> "::ffff:192.0.2.1", // 5
      "0:0:0:0:0:0:0:0" -> "::",
      "0:0:0:0:0:0:0:1" -> "::1",
      "1:0:0:0:0:0:0:0" -> "1::",
      "1:2:3:4:5:6:7::" -> "1:2:3:4:5:6:7:0",
      "::2:3:4:5:6:7:8" -> "0:2:3:4:5:6:7:8",
      "64:ff9b::192.0.2.33" -> "64:ff9b::c000:221",
      "255.255.255.255" -> "255.255.255.255",
      "0.0.0.0" -> "0.0.0.0"
    ).foreach { case (text, expected) => assert(written(text) == expected, text) }
  }

  test("what is no address") {
    Seq(
      "",
      "1.2.3",
      "1.2.3.4.5",
      "1.2.3.256",
      "1.2.3.04",
      "1..3.4",
      " 1.2.3.4",
      "1.2.3.4 ",
      "1.2.3.4/8",
      "-1.2.3.4",
      "1.2.3.",
      ":",
      ":::",
      "1",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1::2::3",
      "12345::",
      "g::",
      ":1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:",
      "1:2:3:4:5:6:7:8::",
      "fe80::1%eth0",
      "::1.2.3",
      "1:2:3:4:5:6:7:1.2.3.4",
      "::1.2.3.4:5",
      "1.2.3.4::",
      "0000000000000000000000000000000000000000000001.2.3.4"
    ).foreach(t => assert(IpText.parse(t) == null, t))
    assert(IpText.of(Array[Byte](1, 2, 3)) == null)
  }

  test("seeded addresses there and back, and as the JDK reads them") {
    val random = new Random(5)
    (1 to 20000).foreach { _ =>
      val bytes = new Array[Byte](if (random.nextBoolean()) 4 else 16)
      random.nextBytes(bytes)
      // Runs of zeros of every length at every place.
      if (bytes.length == 16) {
        val from = random.nextInt(16)
        java.util.Arrays.fill(bytes, from, math.min(16, from + random.nextInt(16)), 0.toByte)
      }
      val text = new String(IpText.of(bytes), UTF_8)
      assert(IpText.parse(text).sameElements(bytes), text)
      val isMapped = text.startsWith("::ffff:") && text.contains('.')
      if (!isMapped) assert(InetAddress.getByName(text).getAddress.sameElements(bytes), text)
    }
  }

  test("subnets") {
    def in(address: String, subnet: String) = Subnet.parse(subnet).contains(IpText.parse(address))
    assert(in("10.1.2.3", "10.0.0.0/8") && !in("11.1.2.3", "10.0.0.0/8"))
    assert(in("10.1.2.3", "10.9.9.9/8"), "bits behind the prefix do not count")
    assert(in("1.2.3.4", "0.0.0.0/0") && !in("::1", "0.0.0.0/0") && in("::1", "::/0") && !in("1.2.3.4", "::/0"))
    assert(in("1.2.3.4", "1.2.3.4/32") && in("1.2.3.4", "1.2.3.4") && !in("1.2.3.5", "1.2.3.4"))
    assert(in("2001:db8::5", "2001:db8::/32") && !in("2001:db9::5", "2001:db8::/32"))
    assert(in("2001:db8::8000:0:0:1", "2001:db8::8000:0:0:0/65") && !in("2001:db8::1", "2001:db8::8000:0:0:0/65"))
    assert(in("::5", "::4/127") && !in("::6", "::4/127") && in("::4", "::4/128") && in("::1", "::0/64"))
    assert(!in("::ffff:10.0.0.1", "10.0.0.0/8"))
    Seq("10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "::/129", "/8", "x/8", "10.0.0.0/8/8", "", "1.2.3.4/ 8")
      .foreach { t =>
        val e = intercept[IllegalArgumentException](Subnet.parse(t))
        assert(e.getMessage.contains(s"'$t'") && e.getMessage.contains("10.0.0.0/8"), t)
      }
  }
}
