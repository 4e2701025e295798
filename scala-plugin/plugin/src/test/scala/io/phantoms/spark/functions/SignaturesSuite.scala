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

  for (count <- Seq(1, 9, 63, 64, 65, 130))
    test(s"generated code says what evaluation says: $count random predicates") {
      val rng = new Random(count)
      for (_ <- 0 until math.max(1, 20 / count)) {
        val signature = SignatureWords(Seq.fill(count)(random(rng)))
        val words = (0 to (count - 1) / 64).map(SignatureWord(signature, _))
        val bits = (0 until count).map(SignatureBit(signature, _))
        val some = bits(rng.nextInt(count))
        val compiled = GenerateMutableProjection.generate(Seq(signature, some) ++ words)
        for (_ <- 0 until 300) {
          val r = row(rng)
          val expected = signature.children.map(PredicateParts.isTrue(_, r))
          val found = compiled(r)
          assert(found.isNullAt(0) == !expected.contains(true))
          assert(found.getBoolean(1) == expected(some.bit))
          val said = (0 until count).map(i => (found.getLong(2 + i / 64) >>> i & 1) == 1)
          assert(said == expected, r)
          assert(
            words.indices.forall(w => words(w).eval(r) == found.getLong(2 + w)) && some.eval(r) == expected(some.bit)
          )
        }
      }
    }
}
