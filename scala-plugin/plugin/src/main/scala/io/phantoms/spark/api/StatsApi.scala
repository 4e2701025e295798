package io.phantoms.spark.api

import java.nio.file.Paths

import scala.collection.immutable.BitSet
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.json4s._
import org.json4s.jackson.JsonMethods

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{Dataset, SparkSession => AnySession}
import org.apache.spark.sql.classic.SparkSession

import io.phantoms.spark.conf.{ObservingOptions, PhantomsConf, SamplingOptions}
import io.phantoms.spark.decide.{Choosing, VersionGuard}
import io.phantoms.spark.files.{JsonFields, PrivateFiles, SmallFile, StrictJson}
import io.phantoms.spark.stats.input.LinearInput
import io.phantoms.spark.stats.observed.{ObservationJson, ObservationStore, StoredObservation}
import io.phantoms.spark.stats.sampled.Sampler
import io.phantoms.spark.stats.supplied.{StatisticsException, StatsRegistry, SuppliedLookup, SuppliedStatistics}
import io.phantoms.spark.stats.{GroupCounter, KnownStatistics, StatisticsProvider}

/**
 * What is called `stats.` there, see [[PhantomsCall]]. Every error is a [[StatisticsException]], an
 * IllegalArgumentException whose message begins with an error class.
 */
object StatsApi extends Logging {

  /** Bytes of a file that is loaded: what is observed of a thousand inputs has some millions. */
  private val MostBytes = 64 << 20

  /** @param n rows of the table, at least 0 */
  def statsSetRows(session: AnySession, table: String, n: Double): Unit = {
    VersionGuard.requireFitting()
    checkNumber("rows", n, 0)
    update(session, table, Nil)((e, _) => e.copy(rows = Some(n)))
  }

  /**
   * @param columns of the table
   * @param n distinct combinations of their values, at least 0
   */
  def statsSetGroups(session: AnySession, table: String, columns: java.util.List[String], n: Double): Unit = {
    VersionGuard.requireFitting()
    checkNumber("groups", n, 0)
    if (columns.isEmpty) throw new StatisticsException("PHANTOMS_NO_COLUMNS", "groups of no columns: name at least one")
    update(session, table, columns.asScala.toSeq)((e, c) => e.copy(groups = e.groups.updated(c, n)))
  }

  def statsSetGroups(session: AnySession, table: String, columns: Array[String], n: Double): Unit =
    statsSetGroups(session, table, java.util.Arrays.asList(columns: _*), n)

  /**
   * @param columns of the table; none: for every set of columns that has no length of its own
   * @param l effective flow length (SMAP's l_a): rows per run of one group, at least 1
   */
  def statsSetFlowLength(session: AnySession, table: String, columns: java.util.List[String], l: Double): Unit = {
    VersionGuard.requireFitting()
    checkNumber("flow length", l, 1)
    update(session, table, columns.asScala.toSeq)((e, c) => e.copy(flowLength = e.flowLength.updated(c, l)))
  }

  def statsSetFlowLength(session: AnySession, table: String, columns: Array[String], l: Double): Unit =
    statsSetFlowLength(session, table, java.util.Arrays.asList(columns: _*), l)

  /**
   * Forgets everything supplied, all samples and the choices made with them, and everything observed, the files of it in
   * `spark.phantoms.stats.path` as well.
   */
  def statsClear(session: AnySession): Unit = {
    VersionGuard.requireFitting()
    StatsRegistry.of(session.sparkContext).clear()
    Choosing.forget(session.sparkContext)
    ObservationStore.of(session.sparkContext).clear(directory(session))
  }

  /**
   * Everything observed: a JSON list of `{"source", "filters", "snapshot", "rows", "groups": [{"columns", "groups"}],
   * "flow_length": [{"columns", "rows"}]}`, one for each input, those in `spark.phantoms.stats.path` as well. Columns are
   * named as in the query that was observed; `rows` is null where no execution read all of them.
   */
  def statsObserved(session: AnySession): String = {
    VersionGuard.requireFitting()
    JsonMethods.compact(observed(session))
  }

  private def observed(session: AnySession): JArray =
    JArray(ObservationStore.of(session.sparkContext).all(directory(session)).toList.map { s =>
      def called(key: String) = s.names.getOrElse(key, key)
      JObject(
        "source" -> JString(s.key.source),
        "filters" -> JString(s.key.shape),
        "snapshot" -> JString(s.snapshot),
        "rows" -> s.observation.rows.fold[JValue](JNull)(JDouble(_)),
        "groups" -> ObservationJson.bySet(s.observation.groups, "columns", "groups")(called),
        "flow_length" -> ObservationJson.bySet(s.observation.flowLengths, "columns", "rows")(called)
      )
    })

  private def directory(session: AnySession): String =
    try session.asInstanceOf[SparkSession].sessionState.conf.getConf(PhantomsConf.StatsPath)
    catch {
      case e: IllegalArgumentException => throw new StatisticsException("PHANTOMS_STATISTICS_PATH", e.getMessage)
    }

  /** Everything supplied and observed, as JSON (format `phantoms-statistics`, version 1). */
  def statsToJson(session: AnySession): String = {
    VersionGuard.requireFitting()
    // What is only known in this application would mean nothing to another.
    val observed = ObservationStore.of(session.sparkContext).all(directory(session)).filter(_.key.isLasting)
    val more = if (observed.isEmpty) Nil else List("observed" -> JArray(observed.toList.map(ObservationJson.toJson)))
    JsonMethods.pretty(JObject(StatsRegistry.of(session.sparkContext).json.obj ++ more))
  }

  /** Writes everything supplied and observed to a file of the driver's file system; a new one is its owner's only. */
  def statsSaveJson(session: AnySession, path: String): Unit =
    PrivateFiles.write(Paths.get(path), statsToJson(session))

  /** Adds what [[statsSaveJson]] wrote; statistics of the same table or input are replaced. */
  def statsLoadJson(session: AnySession, path: String): Unit = {
    VersionGuard.requireFitting()
    val text = SmallFile.read(path, MostBytes).fold(
      {
        case SmallFile.Missing =>
          throw new StatisticsException("PHANTOMS_STATISTICS_NOT_FOUND", s"there is no file $path")
        case no => throw new StatisticsException("PHANTOMS_STATISTICS_UNREADABLE", s"the file $path ${no.why}")
      },
      identity
    )
    try {
      // Read as a whole before anything of it is kept.
      val observed = loadedObservations(text)
      val supplied = StatsRegistry.parse(text)
      StatsRegistry.of(session.sparkContext).add(supplied)
      observed.foreach(ObservationStore.of(session.sparkContext).add)
    } catch {
      case e if !NonFatal(e) && SmallFile.isFailure(e) =>
        throw new StatisticsException("PHANTOMS_STATISTICS_UNREADABLE", s"the file $path is too much for the driver")
    }
  }

  // What else may be wrong with the text, the registry says.
  private def loadedObservations(text: String): Seq[StoredObservation] =
    try {
      StrictJson.parse(text).map(_ \ "observed") match {
        case Right(JArray(items)) => items.map(ObservationJson.fromJson)
        case Right(JNothing) | Left(_) => Nil
        case Right(_) => throw new ObservationJson.Unreadable("it is no list")
      }
    } catch {
      case e: ObservationJson.Unreadable =>
        throw new StatisticsException("PHANTOMS_STATISTICS_FORMAT", s"observed statistics: ${e.getMessage}")
    }

  /**
   * Samples what a DataFrame reads: `{"rows", "source", "sampled", "partitions", "columns": {NAME: {"groups", "source",
   * "flow_length"}}, "notes"}`. The sample is kept for later planning over the same columns.
   */
  def statsSample(df: Dataset[_]): String = statsSample(df, SamplingOptions.DefaultRows)

  /** @param rows most rows to keep */
  def statsSample(df: Dataset[_], rows: Int): String = {
    VersionGuard.requireFitting()
    if (rows < 1) throw new StatisticsException("PHANTOMS_BAD_NUMBER", s"sample of $rows rows: at least 1 is needed")
    val dataset = df.asInstanceOf[org.apache.spark.sql.classic.Dataset[_]]
    val session: SparkSession = dataset.sparkSession
    val input = LinearInput.of(dataset.queryExecution.optimizedPlan)
      .getOrElse(refuse("it is more than projections and filters over one relation"))
    Sampler.refusal(input).foreach(refuse)
    val keys = dataset.queryExecution.optimizedPlan.output.toIndexedSeq
      .filter(StatisticsProvider.isHashable)
    val singles = keys.indices.map(i => BitSet(i))
    val found = StatisticsProvider.ofInput(
      session,
      input,
      keys,
      singles,
      SamplingOptions(enabled = true, rows),
      ObservingOptions.Off,
      KnownStatistics.of(session.sparkContext)
    )
    val statistics = found.statistics
    found.sample.left.foreach(refuse)
    val sampled = found.sample.map(_.size).getOrElse(0)
    val columns = StatisticsProvider.attributesOf(keys).zip(singles).map { case (a, set) =>
      val g = statistics.groupsOf(set)
      a.name -> JObject(
        "groups" -> JDouble(g.value),
        "source" -> JString(g.source.name),
        "flow_length" -> JDouble(statistics.flowLength(set))
      )
    }
    JsonMethods.compact(
      JObject(
        "rows" -> JDouble(statistics.rows),
        "source" -> JString(statistics.rowCount.source.name),
        "sampled" -> JInt(sampled),
        "partitions" -> JInt(found.partitions),
        "columns" -> JObject(columns.toList),
        "notes" -> JArray(statistics.notes.toList.map(JString(_)))
      )
    )
  }

  /**
   * Counts the rows a DataFrame reads and the groups of many groupings in one pass: `{"rows", "groups": [{"columns",
   * "groups"}]}`. Kept as observed statistics of the input.
   *
   * @param groupings names of columns, as a JSON list of lists
   * @param deviation relative standard deviation of a count of groups
   */
  def statsCount(df: Dataset[_], groupings: String, deviation: Double): String = {
    VersionGuard.requireFitting()
    val dataset = df.asInstanceOf[org.apache.spark.sql.classic.Dataset[_]]
    val session = dataset.sparkSession
    if (!session.sessionState.conf.getConf(PhantomsConf.ObserveStats))
      throw new StatisticsException(
        "PHANTOMS_NOT_OBSERVING",
        s"counts are kept with observed statistics, and ${PhantomsConf.ObserveStats.key} is false: set it to true"
      )
    val counts = GroupCounter.count(dataset, parsed(groupings), deviation, directory(session))
    ObservationStore.of(session.sparkContext).counted(counts.input, counts.rows, counts.groups)
    val groups = counts.groups.toList.map { case (set, n) => set.toList.map(counts.input.names) -> n }
    JsonMethods.compact(
      JObject(
        "rows" -> JDouble(counts.rows),
        "groups" -> JArray(groups.sortBy(g => (g._1.size, g._1.mkString(","))).map { case (names, n) =>
          JObject("columns" -> JArray(names.map(JString(_))), "groups" -> JDouble(n))
        })
      )
    )
  }

  private def parsed(groupings: String): Seq[Seq[String]] = {
    val fields = new JsonFields(what =>
      throw new StatisticsException(
        "PHANTOMS_STATISTICS_FORMAT",
        s"""$what: groupings are lists of column names, as [["a"], ["a", "b"]]"""
      )
    )
    fields.list(JsonMethods.parse(groupings), "groupings").map { g =>
      fields.list(g, "grouping").map(fields.text(_, "column"))
    }
  }

  private def refuse(why: String): Nothing =
    throw new StatisticsException("PHANTOMS_CANNOT_SAMPLE", s"the DataFrame cannot be sampled: $why")

  private def checkNumber(what: String, n: Double, least: Double): Unit =
    if (!(n >= least) || n.isInfinite)
      throw new StatisticsException("PHANTOMS_BAD_NUMBER", s"$what of $n: a finite number of at least $least is needed")

  private def update(anySession: AnySession, table: String, columns: Seq[String])(
      change: (SuppliedStatistics, Set[String]) => SuppliedStatistics
  ): Unit = {
    val session = anySession.asInstanceOf[SparkSession]
    val known = SuppliedLookup.columns(session, table)
    val resolver = session.sessionState.conf.resolver
    val named = columns.map { column =>
      known match {
        case Some(names) =>
          names.find(resolver(_, column)).getOrElse(
            throw new StatisticsException(
              "PHANTOMS_UNKNOWN_COLUMN",
              s"table $table has no column $column; it has ${names.mkString(", ")}"
            )
          )
        case None => column
      }
    }.toSet
    val resolved = SuppliedLookup.resolve(session, table)
    if (known.isEmpty && resolved.isEmpty)
      logWarning(s"spark-phantoms: statistics for $table, which is no table, view or path now; they wait for it")
    StatsRegistry.of(session.sparkContext).update(table) { e =>
      val at = resolved.fold(e) { r =>
        e.copy(source = Some(r.source), shape = r.shape.toSeq.sorted.mkString(" AND "), snapshot = r.snapshot)
      }
      change(at, named)
    }
  }
}
