package io.phantoms.spark.verify

import scala.util.Random

import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.CalendarInterval
import org.scalatest.funsuite.AnyFunSuite

/** What a fingerprint sees, and what it does not. */
class FingerprintSuite extends AnyFunSuite {

  private def column(t: DataType, form: ColumnForm = ColumnForm.Exact): ComparedColumn = ComparedColumn("c", t, form)

  private def of(columns: ComparedColumn*)(rows: Seq[Any]*): Fingerprint = {
    val digest = new RowDigest(columns.toIndexedSeq)
    val made = digest.empty
    val convert = columns.map(c => CatalystTypeConverters.createToCatalystConverter(c.dataType))
    rows.foreach(r => digest.add(InternalRow.fromSeq(r.zip(convert).map { case (v, to) => to(v) }), made))
    made
  }

  private def one(t: DataType, form: ColumnForm = ColumnForm.Exact)(values: Any*): Fingerprint =
    of(column(t, form))(values.map(Seq(_)): _*)

  test("rows in another order, and dealt to parts, have the same fingerprint") {
    val random = new Random(5)
    val rows = Seq.fill(300)(Seq[Any](random.nextInt(9), "s" + random.nextInt(50)))
    val columns = Seq(column(IntegerType), column(StringType))
    val all = of(columns: _*)(rows: _*)
    val parts = random.shuffle(rows).grouped(70).map(of(columns: _*)(_: _*)).toSeq
    val sum = parts.reduce { (a, b) => a.add(b); a }
    assert(sum.text == all.text && sum.differing(all) == 0 && sum.rows == 300)
    assert(all.text.length == 32 && Fingerprint.of(all.toBytes).text == all.text)
  }

  test("a lost, a doubled, a changed row, and values that change columns or rows") {
    val columns = Seq(column(IntegerType), column(IntegerType))
    val rows = Seq.tabulate(200)(i => Seq[Any](i, 1000 + i))
    val all = of(columns: _*)(rows: _*)
    assert(of(columns: _*)(rows.tail: _*).differing(all) == 1)
    assert(of(columns: _*)(rows.head +: rows: _*).differing(all) == 1)
    assert((1L to 2L).contains(of(columns: _*)(Seq[Any](-1, 1000) +: rows.tail: _*).differing(all)))
    assert(of(columns: _*)(rows.map(_.reverse): _*).differing(all) > 50)
    val swapped = Seq(Seq[Any](0, 1001), Seq[Any](1, 1000)) ++ rows.drop(2)
    assert(of(columns: _*)(swapped: _*).differing(all) >= 1)
  }

  test("NULL is not zero, not empty and not nothing") {
    assert(one(IntegerType)(null).text != one(IntegerType)(0).text)
    assert(one(StringType)(null).text != one(StringType)("").text)
    val two = of(column(IntegerType), column(IntegerType)) _
    assert(two(Seq(Seq(null, 1))).text != two(Seq(Seq(1, null))).text)
    assert(one(ArrayType(IntegerType))(Seq(1, null)).text != one(ArrayType(IntegerType))(Seq(1)).text)
    assert(one(ArrayType(IntegerType))(Seq()).text != one(ArrayType(IntegerType))(null).text)
  }

  test("zeros of both signs count as one where the form says so, and NaN is one value") {
    val otherNaN = java.lang.Double.longBitsToDouble(0x7ff8000000000001L)
    assert(one(DoubleType)(Double.NaN).text == one(DoubleType)(otherNaN).text)
    assert(one(DoubleType)(0.0).text != one(DoubleType)(-0.0).text)
    assert(one(DoubleType, ColumnForm.Signless)(0.0).text == one(DoubleType, ColumnForm.Signless)(-0.0).text)
    assert(one(FloatType, ColumnForm.Signless)(0.0f).text == one(FloatType, ColumnForm.Signless)(-0.0f).text)
    val nested = StructType(Seq(StructField("x", ArrayType(DoubleType))))
    def struct(x: Double) = one(nested, ColumnForm.Signless)(org.apache.spark.sql.Row(Seq(x))).text
    assert(struct(0.0) == struct(-0.0) && struct(0.0) != struct(1.0))
  }

  test("maps have no order, collated strings their equality") {
    val map = MapType(StringType, IntegerType)
    val entries = (1 to 20).map(i => s"k$i" -> i)
    assert(one(map)(entries.toMap).text == one(map)(scala.collection.immutable.ListMap(entries.reverse: _*)).text)
    assert(one(map)(Map("a" -> 1, "b" -> 2)).text != one(map)(Map("a" -> 2, "b" -> 1)).text)
    val lower = StringType("UTF8_LCASE")
    assert(one(lower)("Abc").text == one(lower)("aBC").text && one(lower)("abc").text != one(lower)("abd").text)
    assert(one(StringType)("Abc").text != one(StringType)("aBC").text)
  }

  test("values of every type, one of which changes") {
    val types: Seq[(DataType, Any, Any)] = Seq(
      (BooleanType, true, false),
      (ByteType, 1.toByte, 2.toByte),
      (ShortType, 1.toShort, 2.toShort),
      (LongType, 1L << 40, 1L << 41),
      (FloatType, 1.5f, 1.25f),
      (DecimalType(10, 2), new java.math.BigDecimal("1.10"), new java.math.BigDecimal("1.11")),
      (DecimalType(38, 4), new java.math.BigDecimal("12345678901234567890.1234"), new java.math.BigDecimal("1.0000")),
      (BinaryType, Array[Byte](1, 2), Array[Byte](2, 1)),
      (DateType, java.sql.Date.valueOf("2024-01-01"), java.sql.Date.valueOf("2024-01-02")),
      (CalendarIntervalType, new CalendarInterval(1, 2, 3), new CalendarInterval(2, 1, 3)),
      (StructType(Seq(StructField("a", LongType))), org.apache.spark.sql.Row(1L), org.apache.spark.sql.Row(2L)),
      (ArrayType(StringType), Seq("a", "b"), Seq("ab"))
    )
    types.foreach { case (t, a, b) =>
      assert(one(t)(a, null, a).text == one(t)(a, a, null).text, t)
      assert(one(t)(a).text != one(t)(b).text, t)
    }
    assert(ValueHash.of(ObjectType(classOf[String]), signless = false).isEmpty)
  }

  private val sums = Seq(column(IntegerType), column(DoubleType, ColumnForm.Rounded))
  private val tolerances = new RowDigest(sums.toIndexedSeq).tolerances

  private def apart(a: Seq[(Int, Any)], b: Seq[(Int, Any)]): (Boolean, Boolean) = {
    def made(rows: Seq[(Int, Any)]) = of(sums: _*)(rows.map { case (k, v) => Seq[Any](k, v) }: _*)
    val (x, y) = (made(a), made(b))
    (x.differing(y) > 0, x.differingFloats(y, tolerances).nonEmpty)
  }

  test("sums of floats: last digits are free, others are not, nor may sums change places") {
    val random = new Random(3)
    val values = Seq.tabulate(1000)(k => (k, random.nextDouble() * 1e6 - 3e5))
    val noisy = values.map { case (k, v) => (k, v * (1 + 1e-15 * random.nextInt(9))) }
    assert(apart(values, random.shuffle(noisy)) == ((false, false)))
    assert(apart(values, (0, values.head._2 + 10.0) +: values.tail) == ((false, true)))
    val exchanged = values.map { case (k, v) => (if (k == 3) 7 else if (k == 7) 3 else k, v) }
    assert(apart(values, exchanged) == ((false, true)))
  }

  test("sums of floats: NULL, NaN and infinities are exact, and no sum of sums overflows") {
    val rest = Seq.tabulate(10)(k => (k, Double.MaxValue: Any))
    assert(apart(rest, rest.reverse) == ((false, false)))
    Seq(null, Double.NaN, Double.PositiveInfinity, Double.NegativeInfinity, 0.0).combinations(2).foreach {
      case Seq(a, b) =>
        assert(apart((99, a) +: rest, rest :+ ((99, a))) == ((false, false)), s"$a")
        assert(apart((99, a) +: rest, (99, b) +: rest)._1, s"$a $b")
      case _ =>
    }
  }

  test("partitions count once, whatever runs again, and the end is told once") {
    var told = Seq.empty[Long]
    val driver = PartitionFingerprints(2, 0)(all => told :+= all.rows)
    def task(partition: Int, rows: Int): PartitionFingerprints = {
      val t = driver.copy()
      t.reset()
      t.add(partition -> one(IntegerType)(0 until rows: _*))
      t
    }
    driver.merge(task(1, 5))
    driver.merge(task(1, 5))
    assert(told.isEmpty && driver.value == 1)
    driver.merge(task(0, 3))
    driver.merge(task(0, 3))
    assert(told == Seq(8L) && driver.value == 2)
    PartitionFingerprints(0, 0)(all => told :+= all.rows)
    assert(told == Seq(8L, 0L))
  }

  test("draws take the fraction, evenly, from a start by chance") {
    def drawn(start: Double, fraction: Double, n: Int) = {
      val draws = new Draws(start)
      Seq.fill(n)(draws.next(fraction))
    }
    assert(drawn(0.0, 0.25, 8) == Seq(false, false, false, true, false, false, false, true))
    assert(drawn(0.9, 0.25, 5) == Seq(true, false, false, false, true))
    assert(drawn(0.3, 1.0, 5).forall(identity))
    Seq(0.0, 0.5, 0.99).foreach(s => assert((9 to 11).contains(drawn(s, 0.1, 100).count(identity))))
  }
}
