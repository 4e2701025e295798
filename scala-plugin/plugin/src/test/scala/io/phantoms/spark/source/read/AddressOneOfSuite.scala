package io.phantoms.spark.source.read

import scala.jdk.CollectionConverters._
import scala.util.Random

import io.phantoms.spark.source.ip.Subnet
import io.phantoms.spark.source.wire.WireRecord

import org.scalatest.funsuite.AnyFunSuite

/** One of many addresses is what is equal to any of them. */
class AddressOneOfSuite extends AnyFunSuite {
  private val column = new RecordColumn(ColumnForm.ADDRESS_BINARY, 0)

  private final class Address(length: Int, high: Long, low: Long) extends WireRecord {
    override def isNull(field: Int): Boolean = length == 0
    override def number(field: Int): Long = 0
    override def bytes(field: Int): Array[Byte] = null
    override def addressLength(field: Int): Int = length
    override def addressHigh(field: Int): Long = high
    override def addressLow(field: Int): Long = low
    override def map(field: Int): java.util.Map[String, Array[Byte]] = null
    override def problem(): String = null
  }

  private def one(text: String): Subnet = Subnet.parse(text)

  private def test(condition: Condition, text: String): Int = {
    val s = one(text)
    condition.test(new Address(s.length, s.high, s.low))
  }

  test("as a list of equalities, for lists of all sizes") {
    val random = new Random(5)
    def text() = {
      val n = random.nextInt(60)
      if (random.nextBoolean()) s"10.0.0.$n" else f"2001:db8::$n%x"
    }
    Seq(0, 1, 2, 3, 7, 8, 9, 100).foreach { size =>
      val some = Seq.fill(size)(text())
      val hashed = new AddressOneOf(column, some.map(one).asJava)
      val each = new Condition.Any(new java.util.ArrayList[Condition](
        some.map(t => new Condition.InSubnet(column, one(t))).asJava
      ))
      Seq.fill(300)(text()).foreach(t => assert(test(hashed, t) == test(each, t), s"$t in $some"))
      assert(hashed.test(new Address(0, 0, 0)) == Condition.UNKNOWN)
    }
  }

  test("families are apart, equality does not hang on order, and it survives serialization") {
    val condition = new AddressOneOf(column, Seq("0.0.0.1", "10.0.0.1").map(one).asJava)
    assert(test(condition, "0.0.0.1") == Condition.TRUE && test(condition, "::1") == Condition.FALSE)
    val turned = new AddressOneOf(column, Seq("10.0.0.1", "0.0.0.1", "10.0.0.1").map(one).asJava)
    assert(turned == condition && turned.hashCode == condition.hashCode)
    assert(new AddressOneOf(column, Seq("10.0.0.1").map(one).asJava) != condition)
    val bytes = new java.io.ByteArrayOutputStream
    new java.io.ObjectOutputStream(bytes).writeObject(condition)
    val copy = new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(bytes.toByteArray)).readObject()
    assert(copy == condition && test(copy.asInstanceOf[Condition], "10.0.0.1") == Condition.TRUE)
  }

  test("fifty thousand addresses in the time of a few") {
    val all = (0 until 50000).map(i => one(s"10.${i >> 16}.${i >> 8 & 255}.${i & 255}"))
    val condition = new AddressOneOf(column, all.asJava)
    val begun = System.nanoTime()
    val found = (0 until 200000).count(i => condition.test(new Address(4, 0, 0x0a000000L + i)) == Condition.TRUE)
    assert(found == 50000)
    // A list takes 200,000 times 40,000 comparisons, minutes.
    assert(System.nanoTime() - begun < 10e9)
  }
}
