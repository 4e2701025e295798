package io.phantoms.spark.fuzz

import org.apache.spark.sql.types._

/**
 * A column of results: calls of one type, another one in each branch of a union.
 *
 * @param isExact whether the result is the same in whatever order rows are added up
 */
final case class Measure(dataType: DataType, isExact: Boolean, isTame: Boolean, next: () => Item) {
  def column(name: String): Column = Column(name, dataType, if (isTame) Values.Tame else Values.Wild, isExact)
}

/** Aggregate functions over the rows of one input. What depends on the order of rows by its nature is not drawn. */
final class Calls(d: Draw, in: Expressions, failing: Failing.Value) {
  import Expressions._

  private val columns = in.exact
  private val whole = columns.filter(c => isWhole(c.dataType) && summable(c))
  private val floats = columns.filter(c => isFloat(c.dataType) && c.isTame)
  private val averaged = whole ++ floats

  private def summable(c: Column): Boolean = c.isTame || (c.values == Values.Huge && failing == Failing.Overflow)

  /** @param all whether functions that are not shared may be drawn */
  def measure(all: Boolean): Measure = d.weighted(
    4 -> (() => count(all)),
    5 -> (() => sum(all)),
    3 -> (() => average()),
    4 -> (() => extreme()),
    1 -> (() => extremeBy()),
    1 -> (() => bits()),
    1 -> (() => moments()),
    1 -> (() => truth()),
    (if (all) 1 else 0) -> (() => other())
  )

  private def of(t: DataType, isExact: Boolean = true, isTame: Boolean = true)(call: => String): Measure =
    Measure(t, isExact, isTame, () => Item(call, "", d.maybe(4)(in.predicate())))

  private def distinct(all: Boolean): String = if (all && d.chance(6)) "distinct " else ""

  private def count(all: Boolean): Measure = of(LongType)(d.pick(Vector(
    "count(*)",
    s"count(${distinct(all)}${d.pick(columns).name})",
    s"count_if(${in.predicate(1).sql})",
    s"sum(if(${in.predicate(1).sql}, 1, 0))"
  )))

  private def sum(all: Boolean): Measure = {
    val decimals = columns.filter(c => c.dataType.isInstanceOf[DecimalType] && summable(c))
    val intervals = columns.filter(c => isInterval(c.dataType) && c.isTame)
    val kind = d.pick(Vector(whole, whole, floats, decimals, intervals).filter(_.nonEmpty) :+ Vector.empty)
    def function = d.pick(Vector("sum", "sum", "try_sum"))
    kind.headOption.map(_ => d.pick(kind)) match {
      case None => count(all)
      case Some(c) if isWhole(c.dataType) =>
        val isTame = whole.forall(_.isTame)
        of(LongType, isTame = isTame)(s"$function(${distinct(all)}${summand(d.pick(whole))})")
      case Some(c) if isFloat(c.dataType) => of(DoubleType)(s"$function(${in.input(d.pick(floats))})")
      case Some(c) =>
        val t = c.dataType match {
          case decimal: DecimalType => DecimalType(math.min(38, decimal.precision + 10), decimal.scale)
          case other => other
        }
        of(t, isTame = c.isTame)(s"$function(${distinct(all)}${in.input(c)})")
    }
  }

  private def summand(c: Column): String = in.mayFail(c).filter(_ => d.chance(2)).fold(in.input(c))(_.sql)

  private def average(): Measure =
    if (averaged.isEmpty) count(all = false)
    else of(DoubleType, isExact = averaged.forall(_.isTame))(
      s"${d.pick(Vector("avg", "avg", "try_avg"))}(${summand(d.pick(averaged))})"
    )

  private def extreme(): Measure = {
    val t = d.pick(columns.filter(c => isFloat(c.dataType) || isOrdered(c.dataType)).map(_.dataType))
    val several = columns.filter(_.dataType == t)
    of(t, isTame = several.forall(_.isTame))(s"${d.pick(Vector("min", "max"))}(${in.input(d.pick(several))})")
  }

  /** Beside equal values there are equal ones. */
  private def extremeBy(): Measure = {
    val c = d.pick(columns)
    if (!isOrdered(c.dataType)) count(all = false)
    else of(c.dataType, isTame = c.isTame)(s"${d.pick(Vector("min_by", "max_by"))}(${c.name}, ${c.name})")
  }

  private def bits(): Measure = {
    val several = columns.filter(c => isWhole(c.dataType))
    if (several.isEmpty) count(all = false)
    else {
      val c = d.pick(several)
      of(c.dataType, isTame = false)(s"bit_${d.pick(Vector("and", "or", "xor"))}(${c.name})")
    }
  }

  /** Of small numbers, so that nothing cancels out. */
  private def moments(): Measure = of(DoubleType, isExact = false) {
    def small =
      s"abs(hash(${d.pick(columns.filter(c => !isFloat(c.dataType)) :+ Column("1", IntegerType, Values.Tame)).name})) % 7"
    d.pick(Vector(s"stddev($small)", s"var_pop($small)", s"covar_samp($small, $small)", s"regr_sxx($small, $small)"))
  }

  private def truth(): Measure = of(BooleanType)(s"${d.pick(Vector("bool_and", "bool_or"))}(${in.predicate(1).sql})")

  private def other(): Measure = {
    val ordered = columns.filter(c => isOrdered(c.dataType))
    if (ordered.isEmpty) count(all = true)
    else {
      val c = d.pick(ordered)
      d.weighted(
        1 -> (() =>
          of(LongType)(
            s"approx_count_distinct(${d.pick(columns.filterNot(c => isComplex(c.dataType)) :+ Column("1", IntegerType, Values.Tame)).name})"
          )
        ),
        1 -> (() =>
          Measure(
            ArrayType(c.dataType),
            isExact = true,
            isTame = false,
            () => Item(s"sort_array(collect_set(${c.name}))", "")
          )
        ),
        1 -> (() => if (whole.isEmpty) count(all = true) else of(DoubleType)(s"percentile(${d.pick(whole).name}, 0.5)"))
      )
    }
  }

  private def isInterval(t: DataType): Boolean =
    t.isInstanceOf[DayTimeIntervalType] || t.isInstanceOf[YearMonthIntervalType]
  private def isComplex(t: DataType): Boolean = t.isInstanceOf[StructType] || t.isInstanceOf[ArrayType]
}
