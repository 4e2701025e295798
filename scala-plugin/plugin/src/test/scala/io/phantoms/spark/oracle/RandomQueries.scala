package io.phantoms.spark.oracle

import scala.util.Random

import org.apache.spark.sql.types._

/** SQL over a [[RandomTable]]: grouping sets or unions of groupBys, drawn from a seed. */
final class RandomQueries(table: RandomTable, random: Random) {

  def next(): String = {
    var wraps = 8
    val query = random.nextInt(8) match {
      case 0 if times.nonEmpty => windows()
      case 1 | 2 => sets(random.nextInt(4) > 0)
      case 3 => shards()
      case 4 =>
        // Columns that nobody reads are conditions that nobody asks.
        wraps = 1
        conditionals()
      case 5 => scattered()
      case _ => union()
    }
    random.nextInt(8) % wraps match {
      case 0 if wraps == 8 || random.nextInt(8) == 0 => s"select * from ($query) where ${outerFilter(query)}"
      case 1 => s"select count(*) from ($query limit ${1 + random.nextInt(50)})"
      case _ => query
    }
  }

  private def pick[T](from: Vector[T]): T = RandomTables.pick(random, from)
  private def some[T](from: Vector[T], atMost: Int): Vector[T] = random.shuffle(from).take(1 + random.nextInt(atMost))
  private def maybe(one: Int)(text: => String): String = if (random.nextInt(one) == 0) text else ""

  // n is the last column of every query, of type long.
  private def outerFilter(query: String): String =
    if (query.isEmpty) "true" else pick(Vector("cnt > 1", "cnt % 2 = 1", "cnt is not null", "cnt < 100"))

  // ---- expressions -----------------------------------------------------------------------------------------------

  private def keyExpression(c: RandomColumn): String = if (random.nextInt(4) > 0) c.name
  else c.dataType match {
    case IntegerType | LongType | ShortType | ByteType =>
      pick(Vector(s"${c.name} % 3", s"-${c.name}", s"${c.name} > 4"))
        .replace(s"-${c.name}", if (c.dataType == ByteType) s"cast(${c.name} as int) * -1" else s"-${c.name}")
    case StringType => pick(Vector(s"upper(${c.name})", s"length(${c.name})", s"substr(${c.name}, 1, 2)"))
    case _: DecimalType => s"cast(${c.name} as int)"
    case DoubleType | FloatType => pick(Vector(s"-${c.name}", s"${c.name} * 2", s"abs(${c.name})"))
    case DateType => pick(Vector(s"month(${c.name})", s"date_add(${c.name}, 1)"))
    case TimestampType | TimestampNTZType =>
      pick(Vector(s"date_trunc('hour', ${c.name})", s"window(${c.name}, '2 hours')", s"hour(${c.name})"))
    case _: StructType => pick(Vector(s"${c.name}.p", s"${c.name}.q"))
    case _: ArrayType => s"size(${c.name})"
    case _ => s"${c.name} is null"
  }

  private def condition(): String = {
    val c = pick(table.columns)
    c.dataType match {
      case _: NumericType =>
        pick(Vector(s"${c.name} > 3", s"${c.name} <= 10", s"${c.name} is not null", s"${c.name} <> 1"))
      case StringType => pick(Vector(s"${c.name} > 's'", s"${c.name} is null", s"length(${c.name}) < 5"))
      case BooleanType => c.name
      case DateType => s"${c.name} < date'1970-01-05'"
      case TimestampType => s"${c.name} >= timestamp'1970-01-01 00:00:00'"
      case _ => pick(Vector(s"${c.name} is null", s"${c.name} is not null"))
    }
  }

  private def input(c: RandomColumn): String = c.dataType match {
    case _: NumericType => pick(Vector(
        c.name,
        c.name,
        c.name,
        s"${c.name} * 2",
        s"coalesce(${c.name}, 1)",
        s"if(${condition()}, ${c.name}, null)"
      ))
        .replace(s"${c.name} * 2", if (c.dataType == ShortType) s"cast(${c.name} as long) * 2" else s"${c.name} * 2")
    case StringType => pick(Vector(c.name, s"concat(${c.name}, 'x')", s"lower(${c.name})"))
    case _ => c.name
  }

  /** Functions whose results union well with their like: a family per column. */
  private def aggregate(family: String): String = {
    val numbers = table.columns.filter(c => c.dataType.isInstanceOf[NumericType] && c.dataType != ByteType)
    val exact = table.columns.filter(c => c.dataType != DoubleType && c.dataType != FloatType)
    val flat = table.columns.filter(c => !c.dataType.isInstanceOf[StructType] && !c.dataType.isInstanceOf[ArrayType])
    val whole = table.columns.filter(c => Seq(ByteType, ShortType, IntegerType, LongType).contains(c.dataType))
    val call = family match {
      case "sum" if numbers.nonEmpty => s"sum(${input(pick(numbers))})"
      case "try_sum" if numbers.nonEmpty => s"try_sum(${input(pick(numbers))})"
      case "avg" if numbers.nonEmpty => s"avg(${input(pick(numbers))})"
      case "min" => s"min(${input(pick(table.columns))})"
      case "max" => s"max(${input(pick(table.columns))})"
      case "bits" if whole.nonEmpty => s"bit_${pick(Vector("and", "or", "xor"))}(${pick(whole).name})"
      // Small numbers, so that nothing cancels out.
      case "moments" =>
        def small = s"abs(hash(${pick(table.columns).name})) % 7"
        pick(Vector(s"stddev($small)", s"var_pop($small)", s"covar_samp($small, $small)"))
      // Ties are of equal values.
      case "by" if exact.nonEmpty => { val c = pick(exact).name; s"${pick(Vector("max_by", "min_by"))}($c, $c)" }
      case "distinct" if flat.nonEmpty =>
        s"approx_count_distinct(${pick(flat).name}${pick(Vector("", ", 0.1", ", 0.3"))})"
      case "count" => s"count(${pick(table.columns).name})"
      case _ => "count(*)"
    }
    call + maybe(4)(s" filter (where ${condition()})")
  }

  private val families =
    Vector("sum", "sum", "try_sum", "avg", "min", "max", "count", "count(*)", "bits", "moments", "by", "distinct")

  private def where(): String = maybe(3)(s" where ${condition()}")

  // ---- shapes ----------------------------------------------------------------------------------------------------

  private def sets(many: Boolean): String = {
    val keys = some(table.keys, if (many) 4 else 2).map(keyExpression).distinct
    val grouping = random.nextInt(4) match {
      case 0 => s"cube(${keys.mkString(", ")})"
      case 1 => s"rollup(${keys.mkString(", ")})"
      case 2 if keys.size > 1 => s"${keys.head}, rollup(${keys.tail.mkString(", ")})"
      case _ =>
        val chosen = Vector.fill(2 + random.nextInt(5))(keys.filter(_ => random.nextBoolean()))
        // Every key has to occur somewhere to be selected.
        (chosen :+ keys).map(_.mkString("(", ", ", ")")).mkString("grouping sets (", ", ", ")")
    }
    val aggregates = Vector.fill(random.nextInt(5))(aggregate(pick(families)))
    val ids = maybe(2)("grouping_id() gid, ") + maybe(3)(s"grouping(${pick(keys)}) gk, ")
    val having = maybe(5)(" having " + pick(
      Vector(
        "count(*) > 1",
        "grouping_id() > 0",
        s"${pick(keys)} is not null",
        "grouping_id() % 2 = 1",
        "count(*) % 2 = 0"
      )
    ))
    val named = (keys ++ aggregates).zipWithIndex.map { case (e, i) => s"$e c$i" }
    s"select $ids${(named :+ "count(*) cnt").mkString(", ")} from ${table.view}${where()} group by $grouping$having"
  }

  private val times = table.columns.filter(c => c.dataType == TimestampType || c.dataType == TimestampNTZType)

  /** Sliding windows: one groupBy, or several over windows of their own and over none. */
  private def windows(): String = {
    val measures = Vector.fill(random.nextInt(4))(aggregate(pick(families)))
    val filter = where()
    val branches = Vector.fill(pick(Vector(1, 1, 1, 2, 3))) {
      val (time, slide) = (pick(times).name, 1 + random.nextInt(90))
      val range = slide * (2 + random.nextInt(4)) - pick(Vector(0, 0, random.nextInt(slide)))
      val offset = maybe(3)(s", '${random.nextInt(100) - 30} minutes'")
      val window = s"window($time, '$range minutes', '$slide minutes'$offset)"
      val keys = if (random.nextInt(3) == 0) Vector.empty
      else some(table.keys, 2).map(keyExpression).distinct
        .filterNot(_.startsWith("window("))
      val out = s"${pick(Vector("window.start", "window.end"))} c0" +: Vector.tabulate(2)(i =>
        if (i < keys.size) s"cast(${keys(i)} as string) k$i" else s"cast(null as string) k$i"
      )
      val shown = out ++ measures.zipWithIndex.map { case (m, i) => s"$m m$i" } :+ "count(*) cnt"
      val having = maybe(5)(" having " + pick(
        Vector("count(*) > 1", "window.start > timestamp'1970-01-02 00:00:00'", "hour(window.end) % 2 = 0")
      ))
      s"select ${shown.mkString(", ")} from ${table.view}$filter group by ${(window +: keys).mkString(", ")}$having"
    }
    branches.mkString(" union all ")
  }

  /** A filter of several parts, over constants that others are compared with, too. */
  private def predicate(depth: Int = 0): String = {
    val c = pick(table.columns)
    def number: Int = random.nextInt(14) - 3
    val part = c.dataType match {
      case _: NumericType => pick(Vector(
          s"${c.name} ${pick(Vector("<", "<=", ">", ">=", "=", "<>", "<=>"))} $number",
          s"$number < ${c.name}",
          s"${c.name} in ($number, $number, $number)",
          s"${c.name} not between $number and ${number + 4}",
          s"cast(${c.name} as double) * 2 > $number"
        ))
      case StringType =>
        pick(Vector(s"${c.name} >= 's${random.nextInt(4)}'", s"${c.name} like '%1'", s"length(${c.name}) > 2"))
      case BooleanType => pick(Vector(c.name, s"not ${c.name}", s"${c.name} is not true"))
      case _ => condition()
    }
    random.nextInt(if (depth > 1) 4 else 9) match {
      case 4 | 5 => s"$part and ${predicate(depth + 1)}"
      case 6 => s"($part or ${predicate(depth + 1)})"
      case 7 => s"not ($part)"
      case 8 => s"(${c.name} is null or $part)"
      case _ => part
    }
  }

  /** Some groupings of few, each under filters of many, by the same windows or by none. */
  private def shards(): String = {
    val measures = Vector.fill(random.nextInt(4))(aggregate(pick(families)))
    val time = random.shuffle(times).headOption.filter(_ => random.nextInt(3) > 0).map(_.name)
    val windows = Vector.fill(pick(Vector(1, 2, 4, 18))) {
      val slide = 1 + random.nextInt(60)
      s"'${slide * (2 + random.nextInt(3)) - pick(Vector(0, random.nextInt(slide)))} minutes', '$slide minutes'"
    }
    val groupings = Vector.fill(1 + random.nextInt(2))(
      if (random.nextInt(3) == 0) Vector.empty
      else some(table.keys, 2).map(keyExpression).distinct.filterNot(_.startsWith("window("))
    )
    val branches = Vector.fill(3 + random.nextInt(6) + (if (windows.size > 4) 17 else 0)) {
      val keys = pick(groupings)
      val window = time.map(t => s"window($t, ${pick(windows)})")
      val out = s"${window.fold("cast(null as timestamp)")(_ => pick(Vector("window.start", "window.end")))} c0" +:
        Vector.tabulate(2)(i => if (i < keys.size) s"cast(${keys(i)} as string) k$i" else s"cast(null as string) k$i")
      val shown = out ++ measures.zipWithIndex.map { case (m, i) => s"$m m$i" } :+ "count(*) cnt"
      val grouped = window ++ keys
      val group = if (grouped.isEmpty) "" else grouped.mkString(" group by ", ", ", "")
      val where = if (random.nextInt(8) == 0) "" else s" where ${predicate()}"
      s"select ${shown.mkString(", ")} from ${table.view}$where$group" + maybe(6)(" having count(*) > 1")
    }
    branches.mkString(" union all ")
  }

  /** One groupBy with many aggregates under predicates, in every way to write them. */
  private def conditionals(): String = {
    val keys = if (random.nextInt(5) == 0) Vector.empty else some(table.keys, 3).map(keyExpression).distinct
    val predicates = Vector.fill(8 + random.nextInt(6))(predicate())
    val numbers = table.columns.filter(_.dataType.isInstanceOf[NumericType])
    val measures = predicates.map { p =>
      def number = if (numbers.isEmpty) "1" else pick(numbers).name
      random.nextInt(7) match {
        case 0 => s"count_if($p)"
        case 1 => s"count(*) filter (where $p)"
        case 2 => s"sum(case when $p then $number else 0 end)"
        case 3 => s"sum(if($p, 1, 0))"
        case 4 => s"avg(case when $p then $number end)"
        case 5 => s"max(${pick(table.keys).name}) filter (where $p)"
        case _ => s"sum($number) filter (where $p)"
      }
    } ++ Vector.fill(random.nextInt(3))(aggregate(pick(families)))
    val shown = keys.zipWithIndex.map { case (k, i) => s"$k k$i" } ++ measures.zipWithIndex.map { case (m, i) =>
      s"$m m$i"
    }
    val group = if (keys.isEmpty) "" else keys.mkString(" group by ", ", ", "")
    s"select ${(shown :+ "count(*) cnt").mkString(", ")} from ${table.view}${where()}$group" + maybe(6)(
      " having count(*) > 1"
    )
  }

  /** A join of groupBys over one input, under filters in common or of their own. */
  private def scattered(): String = {
    val filter = where()
    val own = random.nextInt(3) == 0
    val sides = Vector.tabulate(2 + random.nextInt(2)) { i =>
      val keys = some(table.keys, 2).map(keyExpression).distinct.filterNot(_.startsWith("window("))
      val measures = Vector.fill(random.nextInt(3))(aggregate(pick(families)))
      val shown = keys.take(1).map(k => s"cast($k as string) k$i") ++
        measures.zipWithIndex.map { case (m, j) => s"$m m${i}_$j" } :+ s"count(*) cnt$i"
      val grouped = if (keys.isEmpty) Vector(table.keys.head.name) else keys
      val group = random.nextInt(6) match {
        case 0 => s"rollup(${grouped.mkString(", ")})"
        case _ => grouped.mkString(", ")
      }
      val key = if (keys.isEmpty) Vector(s"cast(${grouped.head} as string) k$i") else Vector.empty
      s"(select ${(key ++ shown).mkString(", ")} from ${table.view}${if (own) where() else filter} group by $group" +
        maybe(5)(" having count(*) > 1") + s") q$i"
    }
    val joined = sides.zipWithIndex.tail.foldLeft(sides.head) { case (left, (side, i)) =>
      val how = pick(Vector("join", "join", "left join", "full join", "left semi join"))
      // What a semi join hides cannot be named.
      if (how.contains("semi")) s"$left $how (select * from $side) s$i on s$i.k$i <=> q0.k0"
      else s"$left $how $side on q$i.k$i ${pick(Vector("=", "<=>"))} q0.k0"
    }
    s"select q0.*, q0.cnt0 cnt from $joined"
  }

  /** Keys are put out as strings, so that branches may have any. */
  private def union(): String = {
    val columns = 1 + random.nextInt(3)
    val measures = Vector.fill(random.nextInt(4))(pick(families))
    // One call per column for types that do not mix.
    val calls = measures.map(f => aggregate(f))
    val (same, filter) = (random.nextInt(3) > 0, where())
    val branches = Vector.fill(2 + random.nextInt(4)) {
      val own = if (same) filter else where()
      val keys = if (random.nextInt(6) == 0) Vector.empty else some(table.keys, columns).map(keyExpression).distinct
      val out = Vector.tabulate(columns)(i =>
        if (i < keys.size) s"cast(${keys(i)} as string)" else pick(Vector("cast(null as string)", "'all'"))
      )
      val functions = measures.zip(calls).map { case (_, call) =>
        if (random.nextInt(4) == 0) call.takeWhile(_ != '~').split(" filter ").head else call
      }
      val shown = (out ++ functions).zipWithIndex.map { case (e, i) => s"$e c$i" } :+ "count(*) cnt"
      val group = if (keys.isEmpty) ""
      else if (keys.size > 1 && random.nextInt(5) == 0) s" group by rollup(${keys.mkString(", ")})"
      else s" group by ${keys.mkString(", ")}"
      val having = maybe(6)(" having " + pick(Vector("count(*) > 1", "count(*) < 20", "count(*) is not null")))
      s"select ${shown.mkString(", ")} from ${table.view}$own$group$having"
    }
    branches.mkString(" union all ")
  }
}
