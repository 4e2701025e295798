package io.phantoms.spark.fuzz

import org.apache.spark.sql.types._

/** What may fail in a query. One kind at most: which of several errors comes first depends on the order of rows. */
object Failing extends Enumeration {
  val Nothing, Overflow, Division, Cast = Value
}

/**
 * A column that expressions may name.
 *
 * @param isExact whether its values are the same in whatever order rows were added up
 */
final case class Column(name: String, dataType: DataType, values: Values, isExact: Boolean = true) {
  def isTame: Boolean = values == Values.Tame
}

object Column {
  def of(c: TableColumn): Column = Column(c.name, c.dataType, c.values)
}

/** An expression over a row and its type. */
final case class Typed(sql: String, dataType: DataType, values: Values = Values.Tame)

/** Expressions over the rows of one input. */
final class Expressions(d: Draw, columns: Vector[Column], failing: Failing.Value) {
  import Expressions._

  val exact: Vector[Column] = columns.filter(_.isExact)
  val times: Vector[Column] =
    exact.filter(c => c.isTame && (c.dataType == TimestampType || c.dataType == TimestampNTZType))

  /** A grouping key. */
  def key(): Typed = {
    val c = d.pick(exact)
    val plain = Typed(c.name, c.dataType, c.values)
    if (!c.isTame || !d.chance(4)) plain
    else c.dataType match {
      case IntegerType => d.pick(Vector(
          Typed(s"${c.name} % 3", IntegerType),
          Typed(s"-${c.name}", IntegerType),
          Typed(s"${c.name} > 4", BooleanType),
          Typed(s"case when ${c.name} > 9 then 'many' when ${c.name} > 0 then 'few' end", StringType)
        ))
      case LongType => d.pick(Vector(Typed(s"${c.name} % 5", LongType), Typed(s"pmod(${c.name}, 7L)", LongType)))
      case StringType =>
        d.pick(Vector(Typed(s"upper(${c.name})", StringType), Typed(s"length(${c.name})", IntegerType), cast(c)))
      case DoubleType => d.pick(Vector(Typed(s"-${c.name}", DoubleType), Typed(s"abs(${c.name})", DoubleType)))
      case DateType =>
        d.pick(Vector(Typed(s"month(${c.name})", IntegerType), Typed(s"date_add(${c.name}, 1)", DateType)))
      case TimestampType => d.pick(Vector(
          Typed(s"date_trunc('hour', ${c.name})", TimestampType),
          Typed(s"hour(${c.name})", IntegerType),
          Typed(s"to_date(${c.name})", DateType)
        ))
      case TimestampNTZType => Typed(s"hour(${c.name})", IntegerType)
      case s: StructType if s.fieldNames.contains("q") =>
        d.pick(Vector(Typed(s"${c.name}.p", IntegerType), Typed(s"${c.name}.q", StringType)))
      case ArrayType(IntegerType, _) => Typed(s"size(${c.name})", IntegerType)
      case t if isWhole(t) => division(c)
      case _ => Typed(s"${c.name} is null", BooleanType)
    }
  }

  private def cast(c: Column): Typed =
    if (failing == Failing.Cast) Typed(s"cast(${c.name} as int)", IntegerType)
    else Typed(s"substr(${c.name}, 1, 2)", StringType)

  private def division(c: Column): Typed =
    if (failing == Failing.Division) Typed(s"100 div ${c.name}", LongType) else Typed(s"${c.name} is null", BooleanType)

  /** A window over a time: tumbling or sliding. */
  def window(): Option[Typed] = if (times.isEmpty) None
  else {
    val time = d.pick(times)
    val slide = 1 + d.upTo(120)
    val range = if (d.chance(3)) slide else slide * (2 + d.upTo(4)) - d.pick(Vector(0, 0, d.upTo(slide)))
    val offset = d.maybe(3)(s", '${d.upTo(slide)} minutes'").getOrElse("")
    val form =
      if (range == slide && offset.isEmpty) s"'$range minutes'" else s"'$range minutes', '$slide minutes'$offset"
    Some(Typed(s"window(${time.name}, $form).${d.pick(Vector("start", "end"))}", time.dataType))
  }

  /** A condition on a row. */
  def predicate(depth: Int = 0): Predicate = d.upTo(if (depth > 1) 5 else 9) match {
    case 5 => Parts("and", Vector(predicate(depth + 1), predicate(depth + 1)))
    case 6 => Parts("or", Vector(predicate(depth + 1), predicate(depth + 1)))
    case 7 => Not(predicate(depth + 1))
    case 8 =>
      val c = d.pick(exact)
      Parts("or", Vector(Condition(s"${c.name} is null"), test(c)))
    case _ => test(d.pick(exact))
  }

  private def test(c: Column): Predicate = Condition(c.dataType match {
    case _: NumericType =>
      def number: Int = d.upTo(14) - 3
      d.pick(Vector(
        s"${c.name} ${d.pick(Vector("<", "<=", ">", ">=", "=", "<>", "<=>"))} $number",
        s"$number < ${c.name}",
        s"${c.name} in ($number, $number, $number)",
        s"${c.name} in ($number, null)",
        s"${c.name} not between $number and ${number + 4}",
        mayFail(c).fold(s"${c.name} is not null")(e => s"${e.sql} > $number")
      ))
    case StringType => d.pick(Vector(
        s"${c.name} >= 's${d.upTo(4)}'",
        s"${c.name} like '%1'",
        s"length(${c.name}) > 2",
        mayFail(c).fold(s"${c.name} <> ''")(e => s"${e.sql} > 3")
      ))
    case BooleanType => d.pick(Vector(c.name, s"not ${c.name}", s"${c.name} is not true"))
    case DateType => d.pick(Vector(s"${c.name} < date'1970-01-05'", s"year(${c.name}) = 1969"))
    case TimestampType =>
      d.pick(Vector(s"${c.name} >= timestamp'1970-01-01 00:00:00'", s"${c.name} is not null"))
    case BinaryType => s"${c.name} > X'05'"
    case ArrayType(IntegerType, _) => d.pick(Vector(s"size(${c.name}) > 1", s"array_contains(${c.name}, 3)"))
    case _ => d.pick(Vector(s"${c.name} is null", s"${c.name} is not null"))
  })

  /** An expression over a column that may fail in the query's way. */
  def mayFail(c: Column): Option[Typed] = (failing, c.dataType) match {
    case (Failing.Division, t) if isWhole(t) && c.isTame => Some(Typed(s"100 div ${c.name}", LongType))
    case (Failing.Cast, StringType) => Some(Typed(s"cast(${c.name} as int)", IntegerType))
    case _ => None
  }

  /** What a function of a column's type reads: the type stays. */
  def input(c: Column): String = {
    def guarded = s"case when ${predicate(1).sql} then ${c.name} end"
    if (d.chance(2)) c.name
    else c.dataType match {
      case IntegerType | LongType | DoubleType if c.isTame =>
        d.pick(Vector(s"${c.name} * 2", s"coalesce(${c.name}, 1)", s"${c.name} + 1", guarded))
      case _: NumericType => d.pick(Vector(s"coalesce(${c.name}, cast(1 as ${c.dataType.sql}))", guarded))
      case StringType => d.pick(Vector(s"concat(${c.name}, 'x')", s"lower(${c.name})", guarded))
      case _ => guarded
    }
  }
}

object Expressions {
  def isWhole(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType | LongType => true
    case _ => false
  }

  def isFloat(t: DataType): Boolean = t == FloatType || t == DoubleType

  /** Whether values can be compared with `<`, and which one of equal ones is meant does not show. */
  def isOrdered(t: DataType): Boolean = t match {
    case f if isFloat(f) => false
    case s: StructType => s.forall(f => isOrdered(f.dataType))
    case a: ArrayType => isOrdered(a.elementType)
    case _ => true
  }
}
