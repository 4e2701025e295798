package io.phantoms.spark.functions

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Signatures without a plan: what is looked up, and that generated code says what plain evaluation does. */
class SignaturesSuite extends AnyFunSuite {
  private val long = BoundReference(0, LongType, nullable = true)
  private val double = BoundReference(1, DoubleType, nullable = true)
  private val text = BoundReference(2, StringType, nullable = true)
  private val flag = BoundReference(3, BooleanType, nullable = true)
  private val money = BoundReference(4, DecimalType(10, 2), nullable = true)

  private def all(parts: Expression*): Expression = parts.reduce(And(_, _))
  private def product: Expression = Multiply(long, Literal(3L))

  test("what is compared with constants is looked up, what may fail where it is asked for") {
    val predicates = Seq(
      all(IsNotNull(flag), IsNotNull(long), Not(flag), LessThan(long, Literal(100L))),
      all(IsNotNull(flag), flag, GreaterThan(product, Literal(118100L)), IsNotNull(text)),
      all(IsNotNull(double), flag, LessThan(Divide(Literal(1.0), double), Literal(0.0065))),
      GreaterThan(product, Literal(5L)),
      all(In(text, Seq(Literal("a"), Literal("b"))), Or(IsNull(long), EqualTo(long, Literal(1L)))),
      Literal.TrueLiteral
    )
    val parts = PredicateParts(predicates)
    assert(parts.early.map(_.subject).toSet == Set(flag, long, double, text))
    assert(parts.late.map(l => l.lookup.subject -> l.asking.toSeq).toSet ==
      Set(product -> Seq(10L), Divide(Literal(1.0), double) -> Seq(4L)))
    assert(parts.after.map(_.subject) == Seq(text))
    assert(parts.rest.isEmpty)
  }

  test("what compares two columns, and what stands behind what may fail, is evaluated for itself") {
    val predicates = Seq(
      all(flag, EqualTo(long, Cast(Length(text), LongType))),
      all(GreaterThan(product, Literal(1L)), flag),
      Like(text, Literal("a%"), '\\'),
      In(text, Seq(Literal("a"), Literal(null, StringType))),
      all(GreaterThan(product, Literal(1L)), GreaterThan(Divide(Literal(1.0), double), Literal(1.0)))
    )
    val parts = PredicateParts(predicates)
    assert(parts.early.map(_.subject) == Seq(flag))
    assert(parts.late.map(_.asking.toSeq) == Seq(Seq(2L)) && parts.after.map(_.subject) == Seq(flag))
    assert(parts.rest.map(r => r.predicate -> r.parts.size) == Seq(0 -> 1, 2 -> 1, 3 -> 1, 4 -> 2))
  }

  private def random(rng: Random, depth: Int = 0): Expression = {
    def longs = Literal(rng.nextInt(9).toLong - 4)
    def doubles = Literal(Seq(0.0, -0.0, Double.NaN, 1.5, Double.PositiveInfinity, -7.0)(rng.nextInt(6)))
    def texts = Literal(Seq("", "a", "b", "é", "zz")(rng.nextInt(5)))
    def decimals = Literal(Decimal(rng.nextInt(7), 10, 2))
    def compared(e: Expression, c: Expression): Expression = {
      val (a, b) = if (rng.nextBoolean()) (e, c) else (c, e)
      rng.nextInt(6) match {
        case 0 => EqualTo(a, b)
        case 1 => LessThan(a, b)
        case 2 => LessThanOrEqual(a, b)
        case 3 => GreaterThan(a, b)
        case 4 => GreaterThanOrEqual(a, b)
        case _ => EqualNullSafe(a, b)
      }
    }
    rng.nextInt(if (depth > 2) 8 else 13) match {
      case 0 => compared(long, longs)
      case 1 => compared(double, doubles)
      case 2 => compared(text, texts)
      case 3 => compared(money, decimals)
      case 4 => flag
      case 5 => Seq(IsNull(long), IsNotNull(double), IsNull(flag), IsNotNull(text))(rng.nextInt(4))
      case 6 => In(long, Seq.fill(1 + rng.nextInt(3))(longs))
      case 7 => InSet(text, Set(UTF8String.fromString("a"), UTF8String.fromString("é")))
      case 8 => Not(random(rng, depth + 1))
      case 9 => Or(random(rng, depth + 1), random(rng, depth + 1))
      case 10 => LessThan(long, Cast(Length(text), LongType))
      case _ => And(random(rng, depth + 1), random(rng, depth + 1))
    }
  }

  private def row(rng: Random): InternalRow = {
    def some(v: => Any): Any = if (rng.nextInt(5) == 0) null else v
    InternalRow(
      some(rng.nextInt(12).toLong - 6),
      some(Seq(0.0, -0.0, Double.NaN, 1.5, 2.0, Double.NegativeInfinity)(rng.nextInt(6))),
      some(UTF8String.fromString(Seq("", "a", "aa", "b", "é", "zz", "zzz")(rng.nextInt(7)))),
      some(rng.nextBoolean()),
      some(Decimal(rng.nextInt(9), 10, 2))
    )
  }

  for (count <- Seq(1, 9, 63, 64, 65, 200))
    test(s"generated code says what evaluation says: $count random predicates") {
      val rng = new Random(count)
      for (_ <- 0 until 4) {
        val words = SignatureWords(Seq.fill(count)(random(rng)))
        val bits = (0 until count).map(SignatureBit(words, _))
        val word = SignatureWord(words, (count - 1) / 64)
        val compiled = GenerateMutableProjection.generate(words +: word +: bits)
        for (_ <- 0 until 200) {
          val r = row(rng)
          val expected = words.children.map(PredicateParts.isTrue(_, r))
          val found = compiled(r)
          assert(found.isNullAt(0) == !expected.contains(true))
          assert((0 until count).map(i => found.getBoolean(i + 2)) == expected, r)
          val last = expected.drop((count - 1) / 64 * 64).zipWithIndex.collect { case (true, i) => 1L << i }.sum
          assert(found.getLong(1) == last)
          assert(word.eval(r) == last && bits.map(_.eval(r)) == expected)
        }
      }
    }
}
