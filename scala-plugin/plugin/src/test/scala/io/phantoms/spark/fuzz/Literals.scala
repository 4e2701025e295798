package io.phantoms.spark.fuzz

import java.time.{Duration, Instant, LocalDate, LocalDateTime, Period}
import java.util.HexFormat

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

/** Values as SQL that gives them back to the bit, each with its type. */
object Literals {

  /** A query whose rows are those of a table. */
  def rows(table: Table): String = {
    val names = table.columns.map(_.name)
    if (table.rows.isEmpty) names.zip(table.columns).map { case (n, c) => s"${of(null, c.dataType)} $n" }
      .mkString("select ", ", ", " where false")
    else table.rows.map { r =>
      table.columns.zipWithIndex.map { case (c, i) => of(r.get(i), c.dataType) }.mkString("  (", ", ", ")")
    }.mkString("select * from values\n", ",\n", s"\nas v(${names.mkString(", ")})")
  }

  def of(value: Any, t: DataType): String = (value, t) match {
    case (null, _) => s"cast(null as ${t.sql})"
    case (s: String, _) => "'" + s.flatMap(escaped) + "'"
    case (b: Boolean, _) => b.toString
    case (n @ (_: Byte | _: Short | _: Int), _) => s"cast('$n' as ${t.sql})"
    case (n: Long, _) => s"cast('$n' as bigint)"
    case (f: Float, _) => s"cast('$f' as float)"
    case (d: Double, _) => s"cast('$d' as double)"
    case (d: java.math.BigDecimal, _) => s"cast('${d.toPlainString}' as ${t.sql})"
    case (b: Array[Byte], _) => s"X'${HexFormat.of.formatHex(b)}'"
    case (d: LocalDate, _) => s"date_from_unix_date(${d.toEpochDay})"
    case (i: Instant, _) => s"timestamp_micros(${micros(i)})"
    case (l: LocalDateTime, _) => s"cast('$l' as timestamp_ntz)"
    case (d: Duration, _) => s"make_dt_interval(0, 0, 0, ${seconds(d)})"
    case (p: Period, _) => s"make_ym_interval(0, ${p.toTotalMonths})"
    case (r: Row, s: StructType) =>
      s.fields.zipWithIndex.map { case (f, i) => s"'${f.name}', ${of(r.get(i), f.dataType)}" }
        .mkString("cast(named_struct(", ", ", s") as ${t.sql})")
    case (s: Seq[_], ArrayType(element, _)) => s"cast(array(${s.map(of(_, element)).mkString(", ")}) as ${t.sql})"
    case _ => throw new IllegalArgumentException(s"$value of type ${t.sql}")
  }

  private def seconds(d: Duration): String =
    java.math.BigDecimal.valueOf(d.getSeconds).add(java.math.BigDecimal.valueOf(
      d.getNano.toLong / 1000,
      6
    )).toPlainString

  private def micros(i: Instant): BigInt = BigInt(i.getEpochSecond) * 1000000 + i.getNano / 1000

  private def escaped(c: Char): String = c match {
    case '\'' | '\\' => s"\\$c"
    case c if c < ' ' || c > '~' => f"\\u${c.toInt}%04x"
    case c => c.toString
  }
}
