package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._

/**
 * How often a total of 64 bits has wrapped around once `left + right` is added up, upwards less downwards: the total is
 * `left + right + 2^64` times this. No operand is NULL.
 *
 * Hardly any total wraps. So the test is the one that `Math.addExact` makes, and nothing else is done where it fails.
 *
 * @param carry of `left`
 * @param more of `right`
 */
final case class Carry(carry: Expression, more: Expression, left: Expression, right: Expression) extends Expression {
  override def children: Seq[Expression] = Seq(carry, more, left, right)
  override def dataType: DataType = IntegerType
  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = {
    val both = KernelSupport.carry(carry.eval(row).asInstanceOf[Int], more.eval(row).asInstanceOf[Int])
    KernelSupport.carried(both, left.eval(row).asInstanceOf[Long], right.eval(row).asInstanceOf[Long])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (c, m, l, r) = (carry.genCode(ctx), more.genCode(ctx), left.genCode(ctx), right.genCode(ctx))
    val support = classOf[KernelSupport].getName
    val before = more match {
      case Literal(0, _) => s"${c.value}"
      case _ => s"(${m.value} == 0 ? ${c.value} : $support.carry(${c.value}, ${m.value}))"
    }
    val sum = ctx.freshName("sum")
    ev.copy(
      code = code"""${c.code}
                   |${m.code}
                   |${l.code}
                   |${r.code}
                   |final long $sum = ${l.value} + ${r.value};
                   |int ${ev.value} = $before;
                   |if (((${l.value} ^ $sum) & (${r.value} ^ $sum)) < 0L) {
                   |  ${ev.value} = $support.carried(${ev.value}, ${l.value}, ${r.value});
                   |}""".stripMargin,
      isNull = FalseLiteral
    )
  }

  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): Carry = Carry(c(0), c(1), c(2), c(3))
}

/** An integer, or the number of units (months, microseconds) of an interval, as a bigint. */
final case class WholeNumber(child: Expression) extends UnaryExpression {
  override def dataType: DataType = LongType
  override def nullable: Boolean = child.nullable
  override def nullIntolerant: Boolean = true
  override protected def nullSafeEval(value: Any): Any = value.asInstanceOf[Number].longValue
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    defineCodeGen(ctx, ev, c => s"(long) $c")
  override protected def withNewChildInternal(c: Expression): WholeNumber = copy(child = c)
}

/** The interval of so many units, which have to be in range. */
final case class OfWholeNumber(child: Expression, dataType: DataType) extends UnaryExpression {
  override def nullable: Boolean = child.nullable
  override def nullIntolerant: Boolean = true
  override protected def nullSafeEval(value: Any): Any = dataType match {
    case _: YearMonthIntervalType => value.asInstanceOf[Long].toInt
    case _ => value
  }
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    defineCodeGen(ctx, ev, c => s"(${CodeGenerator.javaType(dataType)}) $c")
  override protected def withNewChildInternal(c: Expression): OfWholeNumber = copy(child = c)
}
