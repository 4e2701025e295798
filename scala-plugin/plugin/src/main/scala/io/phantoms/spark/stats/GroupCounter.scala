package io.phantoms.spark.stats

import scala.collection.immutable.BitSet

import io.phantoms.spark.stats.input.LinearInput
import io.phantoms.spark.stats.observed.ObservedInput
import io.phantoms.spark.stats.supplied.StatisticsException

import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.util.QuotingUtils
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.functions.{count => rowCount, hll_sketch_agg, hll_sketch_estimate, lit, xxhash64}

/**
 * Reads an input once and counts its rows and the groups of any number of groupings, by a HyperLogLog sketch each
 * (those of Spark's `hll_sketch_agg`), for observed statistics.
 *
 * A sample has to guess how many groups it missed; a pass over all rows only has the error of the sketch, at a price that is
 * the same however many groups there are.
 */
private[spark] object GroupCounter {

  // Sketches have 2^4 to 2^21 registers; 2^18 of them, a quarter of a megabyte for each grouping, is as far as this goes.
  private val LeastDeviation = 0.002
  private val MostDeviation = 0.2

  /** Binary logarithm of the registers of a sketch with this relative standard deviation: 1.04 / sqrt(registers). */
  private def lgRegisters(deviation: Double): Int =
    math.ceil(2 * math.log(1.04 / deviation) / math.log(2)).toInt

  /** @param groups of each grouping, as sets of ordinals into the keys of the input */
  final case class Counts(input: ObservedInput, rows: Double, groups: Map[BitSet, Double])

  /**
   * @param groupings columns of the DataFrame, none of them empty
   * @param deviation relative standard deviation of a count
   * @param directory where observations are kept, empty: in memory
   */
  def count(df: Dataset[_], groupings: Seq[Seq[String]], deviation: Double, directory: String): Counts = {
    val session: SparkSession = df.sparkSession
    if (!(deviation >= LeastDeviation && deviation <= MostDeviation))
      throw new StatisticsException(
        "PHANTOMS_BAD_NUMBER",
        s"deviation of $deviation: it has to be between $LeastDeviation and $MostDeviation"
      )
    if (groupings.isEmpty || groupings.exists(_.isEmpty))
      throw new StatisticsException("PHANTOMS_NO_COLUMNS", "groups of no columns: name at least one in each grouping")
    val plan = df.queryExecution.optimizedPlan
    val input = LinearInput.of(plan).getOrElse(refuse(StatisticsProvider.NotLinear))
    val columns = plan.output.toIndexedSeq
    val resolver = session.sessionState.conf.resolver
    val sets = groupings.map(names => BitSet.fromSpecific(names.map(ordinal(columns, resolver, _)))).distinct
    val used = sets.foldLeft(BitSet.empty)(_ | _).toIndexedSeq
    // Taken before the rows are read: should the input change meanwhile, the counts are of the older state.
    val observed = StatisticsProvider.observedInput(session, input, used.map(columns), directory)
      .getOrElse(refuse("the state of its source cannot be told, or reading it again need not give the same rows"))
    val distinct = sets.map { set =>
      val hashed = set.toSeq.flatMap { i =>
        val column = df.col(QuotingUtils.quoteIdentifier(columns(i).name))
        // The hash passes NULLs over: without this, (NULL, 1) and (1, NULL) would be one group.
        if (columns(i).nullable) Seq(column, column.isNull) else Seq(column)
      }
      hll_sketch_estimate(hll_sketch_agg(xxhash64(hashed: _*), lgRegisters(deviation)))
    }
    val row = df.agg(rowCount(lit(1)), distinct: _*).head()
    val rows = row.getLong(0).toDouble
    val groups = sets.indices.map(i => sets(i).map(used.indexOf(_)) -> math.min(rows, row.getLong(i + 1).toDouble))
    Counts(observed, rows, groups.toMap)
  }

  private def ordinal(columns: IndexedSeq[Attribute], resolver: Resolver, name: String): Int =
    columns.indices.filter(i => resolver(columns(i).name, name)) match {
      case Seq(i) if StatisticsProvider.isHashable(columns(i)) => i
      case Seq(i) => refuse(s"column $name is of type ${columns(i).dataType.sql}, which is no key of a grouping")
      case Seq() =>
        throw new StatisticsException(
          "PHANTOMS_UNKNOWN_COLUMN",
          s"the DataFrame has no column $name; it has ${columns.map(_.name).mkString(", ")}"
        )
      case _ => refuse(s"it has several columns $name")
    }

  private def refuse(why: String): Nothing =
    throw new StatisticsException("PHANTOMS_CANNOT_COUNT", s"the DataFrame's groups cannot be counted: $why")
}
