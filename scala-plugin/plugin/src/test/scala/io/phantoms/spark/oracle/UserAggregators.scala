package io.phantoms.spark.oracle

import java.util.{Collections, TreeSet}

import org.apache.spark.sql.{Encoder, Encoders, SparkSession}
import org.apache.spark.sql.expressions.Aggregator
import org.apache.spark.sql.functions.udaf

/** Functions of users' own, as `functions.udaf` registers them. */
private[spark] object UserAggregators {

  def register(spark: SparkSession): Unit = Seq(
    "added" -> udaf(Added, Encoders.scalaLong),
    "spread" -> udaf(Spread, Encoders.DOUBLE),
    "longest" -> udaf(Longest, Encoders.STRING),
    "weighed" -> udaf(Weighed, Encoders.product[Pair]),
    "picky" -> udaf(Picky, Encoders.LONG),
    "latest" -> udaf(Latest, Encoders.STRING)
  ).foreach { case (name, function) => spark.udf.register(name, function) }

  /** Adds longs up. */
  object Added extends Aggregator[Long, Long, Long] {
    override def zero: Long = 0L
    override def reduce(sum: Long, value: Long): Long = sum + value
    override def merge(a: Long, b: Long): Long = a + b
    override def finish(sum: Long): Long = sum
    override def bufferEncoder: Encoder[Long] = Encoders.scalaLong
    override def outputEncoder: Encoder[Long] = Encoders.scalaLong
  }

  /** A buffer that is changed in place, and changed again by the result that is made of it. */
  final class Seen(val values: TreeSet[String]) extends Serializable

  private val ByLength: Ordering[String] = Ordering.by(v => (v.length, v))

  /** The longest of the strings, the last of these, and how many different ones there are. */
  object Longest extends Aggregator[String, Seen, String] {
    override def zero: Seen = new Seen(new TreeSet)
    override def reduce(seen: Seen, value: String): Seen = {
      if (value != null) seen.values.add(value): Unit
      seen
    }
    override def merge(a: Seen, b: Seen): Seen =
      // Whichever is larger takes the other one in: both are the function's own by contract.
      if (a.values.size < b.values.size) merge(b, a)
      else {
        a.values.addAll(b.values): Unit
        a
      }
    override def finish(seen: Seen): String = {
      val count = seen.values.size
      val longest = if (count == 0) null else Collections.max(seen.values, ByLength)
      seen.values.clear()
      if (longest == null) null else s"$longest of $count"
    }
    override def bufferEncoder: Encoder[Seen] = Encoders.kryo[Seen]
    override def outputEncoder: Encoder[String] = Encoders.STRING
  }

  case class Limits(low: java.lang.Double, high: java.lang.Double, count: Long)

  /** A buffer of several columns, some of them NULL. */
  object Spread extends Aggregator[java.lang.Double, Limits, Limits] {
    override def zero: Limits = Limits(null, null, 0L)
    override def reduce(l: Limits, v: java.lang.Double): Limits = if (v == null) l else merge(l, Limits(v, v, 1L))
    override def merge(a: Limits, b: Limits): Limits =
      if (a.count == 0) b
      else if (b.count == 0) a
      else Limits(math.min(a.low, b.low), math.max(a.high, b.high), a.count + b.count)
    override def finish(l: Limits): Limits = l
    override def bufferEncoder: Encoder[Limits] = Encoders.product[Limits]
    override def outputEncoder: Encoder[Limits] = Encoders.product[Limits]
  }

  case class Pair(value: java.lang.Long, weight: java.lang.Integer)

  /** Two columns; no buffer at all before the first row that counts. */
  object Weighed extends Aggregator[Pair, java.lang.Long, java.lang.Long] {
    override def zero: java.lang.Long = null
    override def reduce(sum: java.lang.Long, p: Pair): java.lang.Long =
      if (p.value == null || p.weight == null) sum else merge(sum, p.value * p.weight)
    override def merge(a: java.lang.Long, b: java.lang.Long): java.lang.Long =
      if (a == null) b else if (b == null) a else a + b
    override def finish(sum: java.lang.Long): java.lang.Long = sum
    override def bufferEncoder: Encoder[java.lang.Long] = Encoders.LONG
    override def outputEncoder: Encoder[java.lang.Long] = Encoders.LONG
  }

  /** Fails on a row. */
  object Picky extends Aggregator[java.lang.Long, java.lang.Long, java.lang.Long] {
    override def zero: java.lang.Long = 0L
    override def reduce(sum: java.lang.Long, v: java.lang.Long): java.lang.Long =
      if (v == null) sum else if (v > 100) throw new ArithmeticException("too much for me") else sum + v
    override def merge(a: java.lang.Long, b: java.lang.Long): java.lang.Long = a + b
    override def finish(sum: java.lang.Long): java.lang.Long = sum
    override def bufferEncoder: Encoder[java.lang.Long] = Encoders.LONG
    override def outputEncoder: Encoder[java.lang.Long] = Encoders.LONG
  }

  final case class Last(value: String)

  /** The last of the strings by their order; there is no state before the first. */
  object Latest extends Aggregator[String, Last, String] {
    override def zero: Last = null
    override def reduce(last: Last, value: String): Last = merge(last, Last(if (value == null) "" else value))
    override def merge(a: Last, b: Last): Last =
      if (a == null) b else if (b == null || a.value >= b.value) a else b
    override def finish(last: Last): String = last.value
    override def bufferEncoder: Encoder[Last] = Encoders.product[Last]
    override def outputEncoder: Encoder[String] = Encoders.STRING
  }
}
