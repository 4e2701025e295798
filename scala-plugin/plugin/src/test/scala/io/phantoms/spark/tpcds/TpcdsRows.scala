package io.phantoms.spark.tpcds

import java.math.{BigDecimal => JBigDecimal}
import java.sql.Date
import java.time.LocalDate

import scala.util.Random

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

/**
 * Few rows for each table of TPC-DS, seeded: keys join, lines of sales have orders in common, what is returned was sold, and
 * other columns have values that queries ask for, or a few others, or NULL.
 *
 * @param schemas the tables' columns; CHAR(n) is padded
 */
final class TpcdsRows(schemas: Map[String, StructType], asked: AskedValues, seed: Long) {
  import TpcdsRows._

  def table(name: String): Seq[Row] = made(name)

  private lazy val made: Map[String, Seq[Row]] = {
    val sold = (schemas.keySet -- Returns.keySet).map(t => t -> rows(t, Sizes(t))).toMap
    sold ++ Returns.map { case (returns, (sales, share)) => returns -> returned(returns, sales, sold(sales), share) }
  }

  private def rows(table: String, count: Int): Seq[Row] = {
    val random = new Random(seed ^ table.hashCode)
    (0 until count).map { i =>
      if (table == "date_dim") ofDay(i, random)
      else if (table == "time_dim") ofTime(i, random)
      else Row.fromSeq(schemas(table).map(f => value(table, f, i, random)))
    }
  }

  private def value(table: String, f: StructField, i: Int, random: Random): Any = {
    val isFact = Facts.contains(table)
    val isKey = !isFact && schemas(table).head.name == f.name
    if (isKey) f.dataType match {
      case _: IntegerType => i + 1
      case t => text(t, s"K$i")
    }
    else if (f.name.endsWith("_number") && isFact) i / 3 + 1
    else if (f.name.endsWith("_id") && f.dataType.isInstanceOf[CharType])
      // Items, stores and the like are known under one name over the years.
      text(f.dataType, f"AAAA${if (table == "customer") i else i / 2}%08d")
    else if (random.nextInt(30) == 0 && !Whole(f.name)) null
    else if (f.name.endsWith("_sk")) reference(f.name, random)
    else plain(f, random)
  }

  private def reference(column: String, random: Random): Int = {
    val dimension = References.collectFirst { case (end, table) if column.endsWith(end) => table }
      .getOrElse(sys.error(s"$column refers to nothing"))
    dimension match {
      case "date_dim" => FirstDay + dayOf(askedDate(random))
      case "time_dim" => random.nextInt(Sizes("time_dim")) * SecondsApart
      case other => 1 + random.nextInt(Sizes(other))
    }
  }

  /** Most in the years, and many in the months that queries ask for. */
  private def askedDate(random: Random): LocalDate = {
    val years = asked.of("d_year").flatMap(_.toIntOption).filter(y => y >= First.getYear && y < Last.getYear)
    val year = if (random.nextInt(4) > 0) pick(years, random) else First.getYear + random.nextInt(5)
    val moy = asked.of("d_moy").flatMap(_.toIntOption).filter(m => m >= 1 && m <= 12)
    val month = if (random.nextBoolean()) pick(moy, random) else 1 + random.nextInt(12)
    LocalDate.of(year, month, 1 + random.nextInt(28))
  }

  private def plain(f: StructField, random: Random): Any = {
    val values = asked.of(f.name)
    f.dataType match {
      case t @ (_: CharType | _: VarcharType | _: StringType) =>
        text(
          t,
          if (values.nonEmpty && random.nextInt(6) > 0) pick(values, random) else s"${f.name.last}${random.nextInt(6)}"
        )
      case _: IntegerType =>
        val numbers = values.flatMap(_.toIntOption)
        if (numbers.nonEmpty && random.nextInt(3) > 0) pick(numbers, random) else random.nextInt(40)
      case d: DecimalType =>
        val numbers = values.flatMap(v => scala.util.Try(new JBigDecimal(v)).toOption).filter(_.precision <= 5)
        val number =
          if (numbers.nonEmpty && random.nextBoolean()) pick(numbers, random)
          else JBigDecimal.valueOf(random.nextInt(26000) - (if (f.name.endsWith("profit")) 8000L else 0L), 2)
        number.setScale(d.scale, java.math.RoundingMode.HALF_UP)
      case _: DateType => Date.valueOf(First.plusDays(random.nextInt(Days).toLong))
      case other => sys.error(s"${f.name}: $other")
    }
  }

  private def ofDay(i: Int, random: Random): Row = {
    val day = First.plusDays(i.toLong)
    val months = (day.getYear - 1900) * 12 + day.getMonthValue - 1
    val dayName = day.getDayOfWeek.toString.toLowerCase.capitalize
    Row.fromSeq(schemas("date_dim").map { f =>
      f.name match {
        case "d_date_sk" => FirstDay + i
        case "d_date" => Date.valueOf(day)
        case "d_month_seq" => months
        case "d_week_seq" => 5100 + (i + 4) / 7
        case "d_quarter_seq" => months / 3
        case "d_year" | "d_fy_year" => day.getYear
        case "d_dow" => day.getDayOfWeek.getValue % 7
        case "d_moy" => day.getMonthValue
        case "d_dom" => day.getDayOfMonth
        case "d_qoy" => (day.getMonthValue + 2) / 3
        case "d_day_name" => text(f.dataType, dayName)
        case "d_quarter_name" => text(f.dataType, s"${day.getYear}Q${(day.getMonthValue + 2) / 3}")
        case _ => value("date_dim", f, i, random)
      }
    })
  }

  private def ofTime(i: Int, random: Random): Row = {
    val second = i * SecondsApart
    val hour = second / 3600
    Row.fromSeq(schemas("time_dim").map { f =>
      f.name match {
        case "t_time_sk" | "t_time" => second
        case "t_hour" => hour
        case "t_minute" => second / 60 % 60
        case "t_second" => second % 60
        case "t_am_pm" => text(f.dataType, if (hour < 12) "AM" else "PM")
        case "t_meal_time" =>
          val meal = if (hour / 2 == 3) "breakfast" else if (hour / 2 == 9) "dinner" else ""
          text(f.dataType, meal)
        case _ => value("time_dim", f, i, random)
      }
    })
  }

  /** Returns of some of the sales: what identifies a line of an order is the same, the customer often, the day is later. */
  private def returned(returns: String, sales: String, sold: Seq[Row], share: Double): Seq[Row] = {
    val random = new Random(seed ^ returns.hashCode)
    val columns = schemas(sales).fieldNames.map(AskedValues.bare).zipWithIndex.toMap
    def of(sale: Row, column: String): Any = sale.get(columns(column))
    sold.filter(_ => random.nextDouble() < share).map { sale =>
      Row.fromSeq(schemas(returns).map { f =>
        val bare = AskedValues.bare(f.name)
        bare match {
          case "item_sk" | "ticket_number" | "order_number" => of(sale, bare)
          case "customer_sk" => of(sale, bare)
          case "returning_customer_sk" | "refunded_customer_sk" if random.nextInt(3) > 0 => of(sale, "bill_customer_sk")
          case "returned_date_sk" => of(sale, "sold_date_sk") match {
              case day: Int if random.nextInt(20) > 0 => day + random.nextInt(60)
              case _ => null
            }
          case "return_quantity" => 1 + random.nextInt(20)
          case _ => value(returns, f, 0, random)
        }
      })
    }
  }
}

object TpcdsRows {
  private val First = LocalDate.of(1998, 1, 1)
  private val Last = LocalDate.of(2003, 3, 31)
  private val Days = (Last.toEpochDay - First.toEpochDay).toInt
  private val FirstDay = 2450815
  private val SecondsApart = 900

  private val Returns = Map(
    "store_returns" -> ("store_sales" -> 0.25),
    "catalog_returns" -> ("catalog_sales" -> 0.25),
    "web_returns" -> ("web_sales" -> 0.3)
  )
  private val Facts = Set("store_sales", "catalog_sales", "web_sales", "inventory") ++ Returns.keySet

  private val Sizes = Map(
    "date_dim" -> Days,
    "time_dim" -> 86400 / SecondsApart,
    "customer" -> 60,
    "customer_address" -> 40,
    "customer_demographics" -> 80,
    "household_demographics" -> 40,
    "income_band" -> 20,
    "item" -> 60,
    "store" -> 8,
    "call_center" -> 4,
    "catalog_page" -> 10,
    "web_site" -> 5,
    "web_page" -> 12,
    "warehouse" -> 4,
    "promotion" -> 10,
    "reason" -> 8,
    "ship_mode" -> 6,
    "store_sales" -> 3000,
    "catalog_sales" -> 2000,
    "web_sales" -> 1500,
    "inventory" -> 2500
  )

  /** Ends of columns that refer to a table. */
  private val References = Seq(
    "date_sk" -> "date_dim",
    "time_sk" -> "time_dim",
    "item_sk" -> "item",
    "customer_sk" -> "customer",
    "cdemo_sk" -> "customer_demographics",
    "hdemo_sk" -> "household_demographics",
    "income_band_sk" -> "income_band",
    "addr_sk" -> "customer_address",
    "store_sk" -> "store",
    "promo_sk" -> "promotion",
    "call_center_sk" -> "call_center",
    "catalog_page_sk" -> "catalog_page",
    "ship_mode_sk" -> "ship_mode",
    "warehouse_sk" -> "warehouse",
    "web_page_sk" -> "web_page",
    "site_sk" -> "web_site",
    "reason_sk" -> "reason"
  )

  /** Columns that are never NULL: what sales are identified by. */
  private val Whole = Set("ss_item_sk", "cs_item_sk", "ws_item_sk", "inv_item_sk", "inv_date_sk", "inv_warehouse_sk")

  private def pick[T](from: IndexedSeq[T], random: Random): T = from(random.nextInt(from.size))

  private def text(t: DataType, value: String): String = t match {
    case CharType(n, _) => value.take(n).padTo(n, ' ')
    case VarcharType(n, _) => value.take(n)
    case _ => value
  }

  private def dayOf(day: LocalDate): Int = (day.toEpochDay - First.toEpochDay).toInt
}
