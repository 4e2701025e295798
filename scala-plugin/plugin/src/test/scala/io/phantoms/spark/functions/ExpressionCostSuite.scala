package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class ExpressionCostSuite extends AnyFunSuite {
  private def column(t: DataType) = AttributeReference("c", t)()
  private val (int, double) = (column(IntegerType), column(DoubleType))

  private def fails(e: Expression): Boolean = ExpressionCost.canFail(e)

  test("what may fail inside of what cannot") {
    assert(fails(Add(int, int)))
    assert(fails(Cast(Add(int, int), DoubleType)))
    assert(fails(Multiply(Cast(Add(int, int), DoubleType), double)))
    assert(fails(GreaterThan(Cast(UnaryMinus(int), DoubleType), double)))
    assert(!fails(Multiply(Cast(int, DoubleType), double)))
  }

  test("decimals fit into a type that was not cut") {
    val d = column(DecimalType(7, 2))
    assert(!fails(Subtract(d, d)) && !fails(Multiply(Add(d, d), d)) && !fails(UnaryMinus(d)))
    assert(fails(Add(column(DecimalType(38, 2)), d)) && fails(Multiply(column(DecimalType(30, 2)), d)))
  }

  test("texts of numbers, not numbers of texts") {
    assert(!fails(Cast(int, StringType)) && !fails(Cast(column(DecimalType(20, 3)), StringType)))
    assert(fails(Cast(column(StringType), IntegerType)))
  }
}
