package io.phantoms.spark.functions

import scala.util.{Random, Try}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Results that are looked up, against the expression evaluated each time. */
class RememberedSuite extends AnyFunSuite {
  private val random = new Random(5)

  private def evaluated(e: Expression): Any => Any = {
    val projection = GenerateUnsafeProjection.generate(Seq(e))
    value => {
      val row = projection(InternalRowOf(value))
      if (row.isNullAt(0)) null else row.copy().get(0, e.dataType)
    }
  }

  private def check(e: Expression, values: Seq[Any]): Unit = {
    val kept = Remembered.in(e)
    assert(kept.isInstanceOf[Remembered], e)
    val (ours, plain) = (evaluated(kept), evaluated(e))
    values.foreach(v =>
      assert(Try(ours(v)).toEither.left.map(_.getMessage) == Try(plain(v)).toEither.left.map(_.getMessage))
    )
  }

  private def values(distinct: Int)(value: Int => Any): Seq[Any] =
    Seq.fill(20000)(if (random.nextInt(50) == 0) null else value(random.nextInt(distinct) - distinct / 2))

  private def ints(distinct: Int): Seq[Any] = values(distinct)(identity)

  private def texts(distinct: Int): Seq[Any] =
    values(distinct)(i => UTF8String.fromString(if (i % 7 == 0) "" else s"$i é" * (i & 3)))

  private val number = BoundReference(0, IntegerType, nullable = true)
  private val text = BoundReference(0, StringType, nullable = true)
  private def hash(e: Expression): Expression = Sha2(Cast(e, BinaryType), Literal(256))

  test("integers and texts, few and many distinct values, NULL in and out") {
    for (distinct <- Seq(1, 300, 5000, 1000000)) {
      check(hash(Cast(number, StringType)), ints(distinct))
      check(Crc32(Cast(hash(text), BinaryType)), texts(distinct))
      check(RLike(text, Literal("^-?[0-9]+ é$")), texts(distinct))
      check(RegExpReplace(text, Literal("[0-4]+"), Literal("x")), texts(distinct))
      check(If(LessThan(number, Literal(0)), Literal(null, StringType), hash(Cast(number, StringType))), ints(distinct))
    }
  }

  test("columns of every width, results of every width") {
    def column(t: DataType) = BoundReference(0, t, nullable = true)
    val columns = Seq[(DataType, Seq[Any])](
      ByteType -> values(200)(_.toByte),
      ShortType -> values(3000)(_.toShort),
      LongType -> values(3000)(_.toLong << 20),
      DateType -> values(3000)(identity),
      TimestampType -> values(3000)(_ * 1000003L),
      TimestampNTZType -> values(3000)(_ * 1000003L)
    )
    for ((t, all) <- columns) {
      check(new Murmur3Hash(Seq(hash(Cast(column(t), StringType, Some("UTC"))))), all)
      check(hash(Cast(column(t), StringType, Some("UTC"))), all)
    }
    val crc = Crc32(Cast(hash(Cast(number, StringType)), BinaryType))
    Seq(ByteType, ShortType, IntegerType, FloatType, DoubleType, BooleanType)
      .foreach(t => check(Cast(crc, t, None, EvalMode.LEGACY), ints(300)))
  }

  test("long texts are evaluated each time, and long results are not kept") {
    val sizes = Seq(0, 1, Remembered.Longest - 1, Remembered.Longest, Remembered.Longest + 1, 5000)
    val long = (0 until 600).map(i => UTF8String.fromString("x" * sizes(i % sizes.size) + i % 3))
    check(hash(text), long)
    check(StringRepeat(RegExpReplace(text, Literal("x"), Literal("yy")), Literal(2)), long)
    check(RegExpReplace(text, Literal("x"), Literal("y" * 9)), long)
  }

  test("an error is raised for every row that it comes of") {
    val failing = Cast(RegExpReplace(text, Literal("é"), Literal("")), IntegerType, None, EvalMode.ANSI)
    check(
      failing,
      Seq("1", "x", "1", "x", "x", null, "2é", "2é").map(s => if (s == null) null else UTF8String.fromString(s))
    )
  }

  test("a text that is overwritten after its row is not taken for another") {
    val e = Remembered.in(hash(text))
    val (ours, plain) = (evaluated(e), evaluated(hash(text)))
    val bytes = "first".getBytes
    val shared = UTF8String.fromBytes(bytes)
    assert(ours(shared) == plain(UTF8String.fromString("first")))
    "other".getBytes.copyToArray(bytes)
    assert(ours(shared) == plain(UTF8String.fromString("other")))
    assert(ours(UTF8String.fromString("first")) == plain(UTF8String.fromString("first")))
  }

  test("what is cheap, not deterministic, of several columns, or no plain value is evaluated each time") {
    val other = BoundReference(1, StringType, nullable = true)
    val pattern = Literal("[0-4]+")
    def keeps(e: Expression): Boolean = Remembered.in(e).exists(_.isInstanceOf[Remembered])
    assert(!keeps(Add(number, Literal(1))))
    assert(!keeps(Upper(text)))
    assert(!keeps(RegExpReplace(text, pattern, other)))
    assert(!keeps(new Rand(Literal(3L))))
    assert(!keeps(hash(BoundReference(0, BinaryType, nullable = true))))
    assert(!keeps(RegExpExtractAll(text, pattern, Literal(0))))
    assert(!keeps(ScalaUDF((x: Int) => x + random.nextInt(9), IntegerType, Seq(number), Nil)))
    // The part that is of one column.
    assert(keeps(Concat(Seq(RegExpReplace(text, pattern, Literal("")), other))))
  }

  test("values that do not come again are no longer looked up") {
    val rate = new Remembered.HitRate
    (0 until 4 * Remembered.Slots).foreach(_ => rate.miss())
    assert(!rate.looks)
    val often = new Remembered.HitRate
    (0 until 100 * Remembered.Slots).foreach(i => if (i % 3 == 0) often.miss() else often.hit())
    assert(often.looks)
  }
}
