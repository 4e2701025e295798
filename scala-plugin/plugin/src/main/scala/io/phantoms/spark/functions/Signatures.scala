package io.phantoms.spark.functions

import io.phantoms.spark.fragments.{PredicateIndex, Signature}
import io.phantoms.spark.shims.SparkInternals

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._

/**
 * Which of some predicates a row satisfies: a bit each, 64 a word, 1 where the predicate is TRUE (On-the-fly sharing,
 * section 4.1). NULL where none is.
 *
 * @param children the predicates
 */
private[spark] final case class SignatureWords(children: Seq[Expression]) extends ConditionalExpression {
  override def dataType: DataType = SignatureWords.Type
  override def nullable: Boolean = true
  override def prettyName: String = "signature"
  override def sql: String = s"signature of ${children.size} predicates"

  // Of hundreds nobody reads more.
  override def toString: String =
    s"signature(${children.head}${if (children.size > 1) s" and ${children.size - 1} more" else ""})"
  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): SignatureWords = copy(c)

  /** Nothing: what a predicate evaluates, and what may fail of it, is behind what it asks first. */
  override def alwaysEvaluatedInputs: Seq[Expression] = Nil
  override def withNewAlwaysEvaluatedInputs(inputs: Seq[Expression]): SignatureWords = this
  override def branchGroups: Seq[Seq[Expression]] = Nil

  @transient private lazy val parts = PredicateParts(children)

  /** Nanoseconds for a row: what is looked up is evaluated once, the rest where it is still open. */
  def nanos: Double = {
    val looked =
      (parts.early ++ parts.late.map(_.lookup)).map(l => SignatureWords.LookUp + ExpressionCost.nanos(l.subject))
    10 + looked.sum + parts.rest.flatMap(_.parts).map(ExpressionCost.nanos).sum / 2
  }

  /** Predicates that a row is spared, at least: what is looked up, or still open, is evaluated. */
  def evaluationsSaved: Long =
    math.max(0, children.size - parts.early.size - parts.late.size - parts.after.size - parts.rest.size).toLong

  override def eval(row: InternalRow): Any = {
    val words = new Array[Long](Signature.words(children.size))
    children.zipWithIndex.foreach { case (p, j) => if (PredicateParts.isTrue(p, row)) words(j >>> 6) |= 1L << j }
    if (words.forall(_ == 0)) null else UnsafeArrayData.fromPrimitiveArray(words)
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val n = children.size
    val signature = classOf[Signature].getName
    val array = classOf[UnsafeArrayData].getName
    def state(of: String, name: String, make: String): String =
      ctx.addMutableState(of, name, v => s"$v = $make;", forceInline = true)
    val s = state(signature, "signature", s"new $signature($n)")
    val empty = s"$array.fromPrimitiveArray(new long[${Signature.words(n)}])"
    val words = state(array, "signatureWords", empty)
    val pieces = parts.early.map(l => l.subject -> (() => lookedUp(ctx, s, l))) ++
      parts.late.map { l =>
        val asking = ctx.addReferenceObj("asking", l.asking, "long[]")
        l.lookup.subject -> (() => s"if ($s.mayHoldAny($asking)) { ${lookedUp(ctx, s, l.lookup)} }")
      } ++
      parts.after.map(l => l.subject -> (() => lookedUp(ctx, s, l))) ++
      parts.rest.map { r =>
        val all = r.parts.reduce(And(_, _))
        all -> (() => s"if ($s.mayHold(${r.predicate})) { ${evaluated(ctx, r, s)} }")
      }
    val code = SignatureWords.inMethods(ctx, pieces)
    val set = (0 until Signature.words(n)).map(w => s"$words.setLong($w, $s.holds[$w]);").mkString("\n")
    ev.copy(code = code"""
         |$s.start();
         |$code
         |final boolean ${ev.isNull} = !$s.any();
         |ArrayData ${ev.value} = null;
         |if (!${ev.isNull}) { $set ${ev.value} = $words; }""".stripMargin)
  }

  /** One part after the other, until one is not TRUE. */
  private def evaluated(ctx: CodegenContext, rest: PredicateParts.Rest, signature: String): String =
    rest.parts.map(_.genCode(ctx)).foldRight("") { (part, next) =>
      val otherwise = if (next.isEmpty) "" else s"else { $next }"
      s"${part.code}\nif (${part.isNull} || !${part.value}) { $signature.drop(${rest.predicate}); } $otherwise"
    }

  private def lookedUp(ctx: CodegenContext, signature: String, lookup: PredicateParts.Lookup): String = {
    val index = ctx.addReferenceObj("predicates", lookup.index, classOf[PredicateIndex].getName)
    val subject = lookup.subject.genCode(ctx)
    val value = lookup.subject.dataType match {
      case BooleanType => s"${subject.value} ? 1L : 0L"
      case t if PredicateParts.isIntegral(t) => s"(long) ${subject.value}"
      case t if PredicateParts.isFloating(t) => s"(double) ${subject.value}"
      case _ => s"(Object) ${subject.value}"
    }
    s"""${subject.code}
       |$signature.at($index, ${subject.isNull} ? $index.positionOfNull() : $index.position($value));""".stripMargin
  }
}

private[spark] object SignatureWords {
  private val Type = ArrayType(LongType, containsNull = false)

  /** Of a row for which these are evaluated. */
  def evaluationsSaved(of: Seq[Expression]): Long =
    of.flatMap(_.collect { case s: SignatureWords => s }).distinctBy(_.canonicalized).map(_.evaluationsSaved).sum

  /** Finding a value among constants, nanoseconds. */
  private val LookUp = 15.0

  /** Pieces of code a method. */
  private val InMethod = 8

  /** The pieces one after the other, in methods of a size that the JVM compiles; each with the expression that it evaluates. */
  private def inMethods(ctx: CodegenContext, pieces: Seq[(Expression, () => String)]): String =
    if (pieces.size <= InMethod) pieces.map(p => s"{ ${p._2()} }").mkString("\n")
    else pieces.grouped(InMethod).map { some =>
      // Spark's filter may have evaluated what parts have in common, into variables of its own.
      val inputs = some.map(p => CodeGenerator.getLocalInputVariableValues(ctx, p._1, SparkInternals.evaluated(ctx)))
      val first = inputs.flatMap(_._2).map(_.code.toString).mkString("\n")
      val variables = inputs.flatMap(_._1).distinctBy(_.variableName)
      val name = ctx.freshName("satisfies")
      val parameters = variables.map(v => s"${CodeGenerator.typeName(v.javaType)} ${v.variableName}").mkString(", ")
      val body = some.map(p => s"{ ${p._2()} }").mkString("\n")
      val method = ctx.addNewFunction(name, s"private void $name($parameters) {\n$body\n}")
      s"$first\n$method(${variables.map(_.variableName).mkString(", ")});"
    }.mkString("\n")
}

/** Something that a signature says; it is never NULL. */
private[spark] abstract class OfSignature extends UnaryExpression {
  override def nullable: Boolean = false

  /** Where no predicate holds. */
  protected def none: Any
  protected def said(words: ArrayData): Any

  /** Java text of [[said]]. */
  protected def saidBy(words: String): String

  override def eval(row: InternalRow): Any = child.eval(row) match {
    case words: ArrayData => said(words)
    case _ => none
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val words = child.genCode(ctx)
    val otherwise = Literal.create(none, dataType).genCode(ctx).value
    val value = s"${words.isNull} ? $otherwise : ${saidBy(words.value.toString)}"
    val declared = code"final ${CodeGenerator.javaType(dataType)} ${ev.value} = $value;"
    ev.copy(code = words.code + declared, isNull = FalseLiteral)
  }
}

/** One word of a signature; 0 where no predicate holds. */
private[spark] final case class SignatureWord(child: Expression, word: Int) extends OfSignature {
  override def dataType: DataType = LongType
  override def prettyName: String = "signature_word"
  override def sql: String = s"word $word of the ${child.sql}"
  override protected def none: Any = 0L
  override protected def said(words: ArrayData): Any = words.getLong(word)
  override protected def saidBy(words: String): String = s"$words.getLong($word)"
  override protected def withNewChildInternal(c: Expression): SignatureWord = copy(child = c)
}

/** Whether one of the predicates of a signature holds. */
private[spark] final case class SignatureBit(child: Expression, bit: Int) extends OfSignature {
  override def dataType: DataType = BooleanType
  override def prettyName: String = "satisfies"
  override def sql: String = s"predicate $bit of the ${child.sql}"
  override protected def none: Any = false
  override protected def said(words: ArrayData): Any = (words.getLong(bit >>> 6) >>> bit & 1L) != 0
  override protected def saidBy(words: String): String = s"($words.getLong(${bit >>> 6}) >>> ${bit & 63} & 1L) != 0L"
  override protected def withNewChildInternal(c: Expression): SignatureBit = copy(child = c)
}
