package io.phantoms.spark.functions

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateFunction,
  DeclarativeAggregate,
  TypedImperativeAggregate
}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType, UserDefinedType}

/**
 * In which order Spark's compiled filters, and the FILTER clauses of its compiled aggregates, ask the parts of a condition:
 * until one is not TRUE. As an expression the same condition goes on behind NULL. Who fails where differs.
 */
private[spark] object FilterOrder extends PredicateHelper {

  /** The parts of a condition: each behind the checks for NULL of what it reads, checks that nothing reads last. */
  def parts(condition: Expression): Seq[Expression] = {
    val (checks, others) = splitConjunctivePredicates(condition).partition {
      case IsNotNull(e) => isNullIntolerant(e)
      case _ => false
    }
    if (checks.isEmpty) others
    else {
      val left = mutable.ArrayBuffer.from(checks)
      val checked = mutable.Set.empty[ExprId]
      val implied = AttributeSet(checks.flatMap(_.references))
      val asked = others.flatMap { other =>
        val before = other.references.toSeq.flatMap { r =>
          left.indexWhere { case IsNotNull(e) => e.semanticEquals(r); case _ => false } match {
            case -1 => Option.when(implied.contains(r) && !isChecked(checks, r) && checked.add(r.exprId))(IsNotNull(r))
            case i => Some(left.remove(i))
          }
        }
        before :+ other
      }
      asked ++ left
    }
  }

  /** What Spark's filter asks of a row, one after the other, until one is not TRUE. */
  def asked(condition: Expression): Seq[Expression] = if (compilesStages) parts(condition) else Seq(condition)

  private def isChecked(checks: Seq[Expression], attribute: Attribute): Boolean =
    checks.exists { case IsNotNull(e) => e.semanticEquals(attribute); case _ => false }

  /** A FILTER clause of a compiled aggregate as an expression: no part is evaluated behind one that is not TRUE. */
  def asExpression(filter: Expression): Expression = {
    if (!ExpressionCost.canFail(filter)) filter
    else parts(filter).foldRight[Expression](Literal.TrueLiteral)((part, rest) => If(part, rest, Literal.FalseLiteral))
  }

  /** The parts that [[asExpression]] put together. */
  def partsOf(filter: Expression): Option[Seq[Expression]] = filter match {
    case If(part, rest, Literal.FalseLiteral) => Some(part +: partsOf(rest).getOrElse(Seq(rest)))
    case _ => None
  }

  /**
   * What the compiled aggregate of these functions evaluates for every row, since several of them have it in common: neither
   * FILTER clauses nor conditions around it keep it from that.
   */
  def takenOut(
      functions: Seq[AggregateFunction],
      keys: Seq[Expression],
      filters: Seq[Expression]
  ): Seq[Expression] =
    if (!isCompiled(functions, keys, filters)) Nil
    else commonIn(functions.collect { case d: DeclarativeAggregate => d.updateExpressions }.flatten)

  /**
   * Likewise of an aggregate that hashes by a projection of its own, since a stage has no code for it: there FILTER clauses
   * are part of what is evaluated, and what several of them have in common is evaluated for every row.
   */
  def takenOutOfProjection(
      functions: Seq[(AggregateFunction, Option[Expression])],
      keys: Seq[Expression]
  ): Seq[Expression] = {
    val of = functions.map(_._1)
    val isCompiledApart = SQLConf.get.codegenFactoryMode != CodegenObjectFactoryMode.NO_CODEGEN && hashes(of) &&
      !isCompiled(of, keys, functions.flatMap(_._2))
    if (!isCompiledApart) Nil
    else commonIn(functions.collect { case (d: DeclarativeAggregate, filter) =>
      d.updateExpressions.zip(d.aggBufferAttributes).map { case (update, buffer) =>
        filter.fold(update)(If(_, update, buffer))
      }
    }.flatten)
  }

  /** What Spark takes out of expressions that it compiles together. */
  private def commonIn(expressions: Seq[Expression]): Seq[Expression] =
    if (!SQLConf.get.subexpressionEliminationEnabled) Nil
    else {
      val all = new EquivalentExpressions
      expressions.foreach(all.addExprTree(_))
      all.getCommonSubexpressions
    }

  /**
   * Whether Spark compiles an aggregate of these functions into the code of a stage: one that hashes, and neither reads nor
   * has too many columns.
   */
  def isCompiled(functions: Seq[AggregateFunction], keys: Seq[Expression], filters: Seq[Expression]): Boolean = {
    compilesStages && functions.forall(_.isInstanceOf[DeclarativeAggregate]) && hashes(functions) &&
    fits(keys.map(_.dataType) ++ functions.flatMap(_.aggBufferAttributes).map(_.dataType)) &&
    fits(AttributeSet(keys ++ functions ++ filters).toSeq.map(_.dataType))
  }

  /** Whether an aggregate of these functions is a hash aggregate, of objects or not, over expressions that have code. */
  private def hashes(functions: Seq[AggregateFunction]): Boolean = {
    def ofObjects =
      functions.exists(_.isInstanceOf[TypedImperativeAggregate[_]]) && SQLConf.get.useObjectHashAggregation
    def ofWords = functions.forall(_.aggBufferAttributes.forall(a => UnsafeRow.isMutable(a.dataType)))
    (ofObjects || ofWords) && !functions.exists(_.children.exists(_.exists(_.isInstanceOf[CodegenFallback])))
  }

  /** Whether a stage's code can have columns of these types. */
  def fits(types: Seq[DataType]): Boolean = types.map(fields).sum <= SQLConf.get.wholeStageMaxNumFields

  /** Columns as Spark counts them for what a stage's code can have. */
  private def fields(t: DataType): Int = t match {
    case s: StructType => s.map(f => fields(f.dataType)).sum
    case m: MapType => fields(m.keyType) + fields(m.valueType)
    case a: ArrayType => fields(a.elementType)
    case u: UserDefinedType[_] => fields(u.sqlType)
    case _ => 1
  }

  /** Whether Spark compiles stages at all. */
  def compilesStages: Boolean =
    SQLConf.get.wholeStageEnabled && SQLConf.get.codegenFactoryMode != CodegenObjectFactoryMode.NO_CODEGEN
}
