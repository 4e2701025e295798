package io.phantoms.spark.verify

import io.phantoms.spark.functions.{ObjectAggregate, SharedFunction}
import io.phantoms.spark.verify.ColumnForm._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  AggregateFunction,
  Count,
  Max,
  MaxMinBy,
  Min
}
import org.apache.spark.sql.types._

/** How closely results of aggregate functions are compared. */
private object AggregateForms {

  /** @param input how closely what it is over is compared */
  def of(call: AggregateExpression, input: Expression => ColumnForm): ColumnForm = {
    val function = call.aggregateFunction
    val from = ColumnForm.loosest(function.children.map(input))
    if (from == LeftOut || call.filter.exists(f => input(f) == LeftOut)) LeftOut
    else function match {
      case _: Count if from != Rounded || !call.isDistinct => Exact
      case _ if from == Rounded && (call.isDistinct || !isFloat(function.dataType)) => LeftOut
      case _: Min | _: Max => if (holdsFloats(function.dataType)) ColumnForm.looser(Signless, from) else Exact
      // Of equal ones it is any.
      case _: MaxMinBy => LeftOut
      case _ => SharedFunction.of(function) match {
          case Some(shared) if dependsOnOrder(shared, function) => LeftOut
          case Some(shared) if shared.isExact(function) => from
          case Some(_) => if (isFloat(function.dataType)) Rounded else from
          // What is not known to be the same in any order of rows.
          case None => LeftOut
        }
    }
  }

  /** Whether plain Spark itself may answer otherwise in another order of rows, beyond sums of floats; or may, as far as known. */
  private def dependsOnOrder(shared: SharedFunction, function: AggregateFunction): Boolean =
    shared.isApproximate(function) || ObjectAggregate.isUsers(function) || SharedFunction.isUnordered(function)

  def holdsFloats(t: DataType): Boolean = t match {
    case s: StructType => s.fields.exists(f => holdsFloats(f.dataType))
    case a: ArrayType => holdsFloats(a.elementType)
    case m: MapType => holdsFloats(m.keyType) || holdsFloats(m.valueType)
    case u: UserDefinedType[_] => holdsFloats(u.sqlType)
    case other => isFloat(other)
  }

  private def isFloat(t: DataType): Boolean = t == FloatType || t == DoubleType
}
