package io.phantoms.spark.conf

import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import io.phantoms.spark.model.{Machine => MachineOfConstants}
import io.phantoms.spark.search.{Chooser => ChooserAlgorithms}

import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.types.UTF8String

/**
 * The confs of a session, read once per plan.
 *
 * @param lftaMemory bytes for all LFTA tables of one map task
 * @param minSavings least fraction of plain Spark's expected cost that sharing has to save; negative: always share
 * @param sampling how much of one input is read to estimate its statistics
 * @param observing whether executions are observed for later plans, and where what they find out is kept
 * @param verify which plans are run beside plain Spark's
 * @param machine what the chooser takes the machine for, but for parallelism and partitions
 */
final case class PhantomsSettings(
    enabled: Boolean,
    chooser: String,
    lftaMemory: Long,
    minSavings: Double,
    maxQueries: Int,
    strict: Boolean,
    exactFloatingPoint: Boolean,
    groupingSets: Boolean,
    multiAggregate: Boolean,
    windows: Boolean,
    predicates: Boolean,
    distinct: Boolean,
    sampling: SamplingOptions,
    machine: MachineOfConstants = MachineOfConstants(),
    secondTier: Boolean = true,
    observing: ObservingOptions = ObservingOptions.Off,
    verify: VerifyOptions = VerifyOptions.Off,
    approximate: Boolean = true
)

/** All confs of the plugin. `docs/configuration.md` is made from this list by [[ConfDocs]]. */
object PhantomsConf {
  val Prefix = "spark.phantoms."
  private val Since = "0.1.0"

  /** Values of `spark.phantoms.chooser`. */
  val Choosers: Seq[String] = ChooserAlgorithms.algorithms

  val Enabled = SQLConf.buildConf("spark.phantoms.enabled")
    .doc("Whether plans are looked at. When false, every plan is exactly plain Spark's.")
    .version(Since).booleanConf.createWithDefault(true)

  val Chooser = SQLConf.buildConf("spark.phantoms.chooser")
    .doc(
      "The algorithm that chooses which relations to maintain. 'auto': placement search over GC and SL; " +
        "'gc': greedy by increasing collision rates with supernode-linear space (SMAP, section 4); 'trees': the " +
        "greedy aggregate tree, 'steiner': the randomized one, by Wong's dual ascent (US 9,116,956, section 3.2); " +
        "'none': nothing is ever shared. SMAP's algorithms under its own cost, to compare: 'gcsl', 'gcsr', 'gcpl', 'gcpr' and 'gces' are " +
        "GC with each of its space allocations, 'gp' or 'gp(1.5)' is greedy by increasing space with phi buckets per " +
        "group, 'epes' tries everything (for a few queries; else it is 'gces')."
    )
    .version(Since).stringConf.transform(_.toLowerCase(Locale.ROOT))
    .checkValue(ChooserAlgorithms.accepts(_), s"Use one of ${Choosers.mkString("'", "', '", "'")}.")
    .createWithDefault("auto")

  val LftaMemory = SQLConf.buildConf("spark.phantoms.lfta.memory")
    .doc(
      "Memory for all LFTA tables of one map task (SMAP's M). Fixed: tables evict instead of growing. Up to 16m it is " +
        "taken even where Spark refuses it; beyond, a task that is refused runs with small tables. Never more than a quarter " +
        "of what an executor's heap has for each task that it runs at once."
    )
    .version(Since).bytesConf(ByteUnit.BYTE)
    .checkValue(m => m >= (64L << 10) && m <= (4L << 30), "Give a size between 64k and 4g, for example '8m'.")
    .createWithDefaultString("8m")

  val LftaAdaptive = SQLConf.buildConf("spark.phantoms.lfta.adaptive")
    .doc(
      "Whether an LFTA table that hardly ever finds a group again is passed by, and tried again later. Decided in each " +
        "map task from its own rows."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val LftaSecondChance = SQLConf.buildConf("spark.phantoms.lfta.secondChance")
    .doc(
      "Whether a group that finds another one in its bucket of an LFTA table looks into a second bucket; where both are " +
        "taken the group in the first is evicted (second chance, Holistic UDAFs at streaming speeds, section 6). A table " +
        "then needs fewer buckets for the same evictions; a collision costs one more look into memory."
    )
    .version(Since).booleanConf.createWithDefault(false)

  val LftaFused = SQLConf.buildConf("spark.phantoms.lfta.fused")
    .doc(
      "Whether the code of a whole stage (joins, projections and filters over them) feeds its rows to the LFTA itself, " +
        "without writing each into a row for an iterator. Where Spark generates no code for what is below, or it reads " +
        "batches there, this changes nothing."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val BlocksPacked = SQLConf.buildConf("spark.phantoms.blocks.packed")
    .doc(
      "Whether partial groups are packed into as few bits as their values take before they are shuffled. Measured " +
        "with spark.shuffle.compress on, it saves more than it costs."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val SecondTierEnabled = SQLConf.buildConf("spark.phantoms.secondTier.enabled")
    .doc(
      "Whether relations may be fed from the complete groups of a finer one after the first shuffle and cross a second " +
        "shuffle, where that is expected to cost less. Never where the first shuffle would run twice: without " +
        "spark.sql.exchange.reuse, over joins or groupBys of a cached table under adaptive execution, or over a connector " +
        "that is not Spark's."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val MinSavings = SQLConf.buildConf("spark.phantoms.minSavings")
    .doc(
      "Least fraction of plain Spark's expected cost that sharing has to save, below which a plan is left alone. " +
        "A negative value shares whatever can be shared."
    )
    .version(Since).doubleConf
    .checkValue(s => s < 1.0 && !s.isNaN, "Give a fraction below 1, for example 0.1; -1 shares always.")
    .createWithDefault(0.1)

  val MaxQueries = SQLConf.buildConf("spark.phantoms.maxQueries")
    .doc("Most groupBys of one workload; larger ones are left alone.")
    .version(Since).intConf
    .checkValue(_ >= 2, "Give a number of at least 2: sharing needs two groupBys.")
    .createWithDefault(256)

  val Strict = SQLConf.buildConf("spark.phantoms.strict")
    .doc(
      "Whether a bug of the plugin at planning time fails the query instead of leaving its plan alone, and a generated " +
        "class that does not compile fails it instead of being interpreted. For tests."
    )
    .version(Since).booleanConf.createWithDefault(false)

  val ExactFloatingPoint = SQLConf.buildConf("spark.phantoms.exactFloatingPoint")
    .doc("Whether sums and averages of float and double, and deviations and covariances of any " +
      "numbers, are left alone, because sharing adds floats in another order.")
    .version(Since).booleanConf.createWithDefault(false)

  val GroupingSetsEnabled = SQLConf.buildConf("spark.phantoms.groupingSets.enabled")
    .doc("Whether GROUPING SETS, CUBE and ROLLUP are shared.")
    .version(Since).booleanConf.createWithDefault(true)

  val MultiAggregateEnabled = SQLConf.buildConf("spark.phantoms.multiAggregate.enabled")
    .doc(
      "Whether several groupBys that read one input are shared: those of a union, and those in other places of a query."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val WindowsEnabled = SQLConf.buildConf("spark.phantoms.windows.enabled")
    .doc(
      "Whether sliding windows are put together from slices: a row is aggregated once, not once for each window that it " +
        "is in."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val PredicatesEnabled = SQLConf.buildConf("spark.phantoms.predicates.enabled")
    .doc("Whether groupBys of one union that read one input under different filters are shared, " +
      "and conditional aggregates of one groupBy.")
    .version(Since).booleanConf.createWithDefault(true)

  val DistinctEnabled = SQLConf.buildConf("spark.phantoms.distinct.enabled")
    .doc(
      "Whether DISTINCT aggregates are computed from groupBys by the keys and the distinct columns, which are shared among " +
        "themselves and with others."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val ApproximateEnabled = SQLConf.buildConf("spark.phantoms.approximate.enabled")
    .doc(
      "Whether percentile_approx and HLL and theta sketches are shared: functions whose result is near, and another one in " +
        "another order of rows, in plain Spark as here. When shared they keep their bounds of error. approx_count_distinct " +
        "gives the very same result, and is shared at any rate."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val SampleEnabled = SQLConf.buildConf("spark.phantoms.stats.sample.enabled")
    .doc("Whether a bounded sample of an input may be read while planning, to estimate rows and groups.")
    .version(Since).booleanConf.createWithDefault(true)

  val SampleRows = SQLConf.buildConf("spark.phantoms.stats.sample.rows")
    .doc("Most rows kept of one sample; fewer where it has so many keys that more than 3 million values were kept.")
    .version(Since).intConf
    .checkValue(r => r >= 1000 && r <= 10000000, "Give a number of rows between 1000 and 10000000.")
    .createWithDefault(SamplingOptions.DefaultRows)

  val SampleTime = SQLConf.buildConf("spark.phantoms.stats.sample.time")
    .doc(
      "Most time that planning waits for one sample. What was read by then is the sample; where that is nothing, other " +
        "statistics have to do."
    )
    .version(Since).timeConf(TimeUnit.MILLISECONDS)
    .checkValue(t => t >= 1 && t <= SamplingOptions.MostMillis, "Give a time between 1ms and 1h, such as 1s.")
    .createWithDefault(SamplingOptions.DefaultMillis)

  val ObserveStats = SQLConf.buildConf("spark.phantoms.stats.observe")
    .doc(
      "Whether what executions find out about an input (rows, groups, flow lengths) is used for later plans over the " +
        "same input in the same state, and scaled by the rows where it has changed a little."
    )
    .version(Since).booleanConf.createWithDefault(true)

  val ObserveMinGain = SQLConf.buildConf("spark.phantoms.stats.observe.minGain")
    .doc(
      "Numbers that were observed replace the plan in use when another is expected to take less time by this fraction at " +
        "least: the code of a new plan has to be compiled first. 0 always takes the best plan by the newest numbers. Each " +
        "application starts with the best."
    )
    .version(Since).doubleConf
    .checkValue(v => v >= 0 && v < 1, "Give a fraction from 0 to below 1.")
    .createWithDefault(ObservingOptions.MinGain)

  val StatsPath = SQLConf.buildConf("spark.phantoms.stats.path")
    .doc(
      "A directory on the driver where observed statistics are kept for later applications, a JSON file per input, " +
        "readable by their owner only: they hold the filters of queries. '~/' is the home directory. When empty they are " +
        "kept in memory, as long as the application runs."
    )
    .version(Since).stringConf.transform(ObservingOptions.checkedPath).createWithDefault("")

  val Machine = SQLConf.buildConf(MachineConf.Key)
    .doc(
      "Constants of the cost model, in nanoseconds, as phantoms.calibrate measures them: 'c1=12,c2=140', the same as a " +
        "JSON object, or a file on the driver that holds either (Calibration.save writes one). Constants that are not " +
        "named, and all when it is empty, have their defaults; none may be given twice."
    )
    .version(Since).stringConf.transform(MachineConf.checked).createWithDefault("")

  val Verify = SQLConf.buildConf("spark.phantoms.verify")
    .doc(
      "Whether plain Spark's plan is run beside the plugin's, and their rows are compared: 'full' wherever the plugin acts, " +
        "'sample' for a part of the plans, 'off' never. The rows of plain Spark are those that are returned and written. A " +
        "difference is a warning in the log and an event for listeners. Not for streams. See docs/verify.md."
    )
    .version(Since).stringConf.transform(_.toLowerCase(Locale.ROOT))
    .checkValue(VerifyOptions.Modes.contains(_), s"Use one of ${VerifyOptions.Modes.mkString("'", "', '", "'")}.")
    .createWithDefault(VerifyOptions.NoMode)

  val VerifyFraction = SQLConf.buildConf("spark.phantoms.verify.fraction")
    .doc("The part of the plans in which the plugin acts that spark.phantoms.verify=sample verifies, evenly spread.")
    .version(Since).doubleConf
    .checkValue(f => f > 0 && f <= 1, "Give a fraction above 0 and up to 1, for example 0.1.")
    .createWithDefault(VerifyOptions.Fraction)

  /** Switches that the design has and that nothing reads yet, with what is left alone meanwhile. */
  private val later = Map("streaming.enabled" -> "streaming plans").map { case (key, what) => s"$Prefix$key" -> what }

  /** One line of the generated documentation. */
  final case class Described(key: String, default: String, doc: String, since: String)

  val all: Seq[Described] = Seq(
    Enabled,
    Chooser,
    LftaMemory,
    LftaAdaptive,
    LftaSecondChance,
    LftaFused,
    BlocksPacked,
    SecondTierEnabled,
    MinSavings,
    MaxQueries,
    Strict,
    ExactFloatingPoint,
    GroupingSetsEnabled,
    MultiAggregateEnabled,
    WindowsEnabled,
    PredicatesEnabled,
    DistinctEnabled,
    ApproximateEnabled,
    SampleEnabled,
    SampleRows,
    SampleTime,
    ObserveStats,
    ObserveMinGain,
    StatsPath,
    Machine,
    Verify,
    VerifyFraction
  ).map(e => Described(e.key, e.defaultValueString, e.doc, e.version))

  private val keys: Seq[String] = all.map(_.key)

  /** What a session says; a value that cannot be read is WARNed about by `warn` and counts as not set. */
  def read(conf: SQLConf, warn: String => Unit): PhantomsSettings = {
    def value[T](key: String, read: => T, fallback: T): T =
      try read
      catch {
        case NonFatal(e) =>
          warn(s"$key: ${e.getMessage} Until then it is ignored, as if it were $fallback.")
          fallback
      }
    PhantomsSettings(
      // Whoever mistyped this one wanted something else than the default.
      enabled = value(Enabled.key, conf.getConf(Enabled), false),
      chooser = value(Chooser.key, conf.getConf(Chooser), "auto"),
      lftaMemory = value(LftaMemory.key, conf.getConf(LftaMemory).longValue, 8L << 20),
      minSavings = value(MinSavings.key, conf.getConf(MinSavings), 0.1),
      maxQueries = value(MaxQueries.key, conf.getConf(MaxQueries), 256),
      strict = value(Strict.key, conf.getConf(Strict), false),
      exactFloatingPoint = value(ExactFloatingPoint.key, conf.getConf(ExactFloatingPoint), false),
      groupingSets = value(GroupingSetsEnabled.key, conf.getConf(GroupingSetsEnabled), true),
      multiAggregate = value(MultiAggregateEnabled.key, conf.getConf(MultiAggregateEnabled), true),
      windows = value(WindowsEnabled.key, conf.getConf(WindowsEnabled), true),
      predicates = value(PredicatesEnabled.key, conf.getConf(PredicatesEnabled), true),
      distinct = value(DistinctEnabled.key, conf.getConf(DistinctEnabled), true),
      sampling = SamplingOptions(
        value(SampleEnabled.key, conf.getConf(SampleEnabled), true),
        value(SampleRows.key, conf.getConf(SampleRows), SamplingOptions.DefaultRows),
        value(SampleTime.key, conf.getConf(SampleTime).longValue, SamplingOptions.DefaultMillis)
      ),
      machine = machine(conf, warn),
      secondTier = value(SecondTierEnabled.key, conf.getConf(SecondTierEnabled), true),
      observing = ObservingOptions(
        value(ObserveStats.key, conf.getConf(ObserveStats), true),
        value(StatsPath.key, conf.getConf(StatsPath), ""),
        value(ObserveMinGain.key, conf.getConf(ObserveMinGain), ObservingOptions.MinGain)
      ),
      verify = VerifyOptions(
        value(Verify.key, conf.getConf(Verify), VerifyOptions.NoMode),
        value(VerifyFraction.key, conf.getConf(VerifyFraction), VerifyOptions.Fraction)
      ),
      approximate = value(ApproximateEnabled.key, conf.getConf(ApproximateEnabled), true)
    )
  }

  private def machine(conf: SQLConf, warn: String => Unit): MachineOfConstants = {
    // The text as it stands: reading it is what may fail.
    MachineConf.read(conf.getConfString(Machine.key, "")).fold(
      why => {
        warn(s"${Machine.key}: $why Until then the defaults are used.")
        MachineOfConstants()
      },
      identity
    )
  }

  /** Keys of the session under the prefix that mean nothing, each with a sentence for the user. */
  def unknown(conf: SQLConf): Seq[(String, String)] =
    conf.getAllConfs.keys.filter(k => k.startsWith(Prefix) && !keys.contains(k)).toSeq.sorted.map {
      key =>
        val near = keys.minBy(distance(_, key))
        val hint = if (distance(near, key) <= 4) s"did you mean $near?" else s"known keys: ${keys.mkString(", ")}"
        key -> later.get(key).fold(s"The conf $key is unknown and has no effect; $hint") { what =>
          s"The conf $key has no effect yet: $what are left alone"
        }
    }

  private def distance(a: String, b: String): Int =
    UTF8String.fromString(a).levenshteinDistance(UTF8String.fromString(b))
}
