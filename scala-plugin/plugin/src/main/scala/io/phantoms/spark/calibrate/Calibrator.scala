package io.phantoms.spark.calibrate

import java.nio.file.Files
import java.util.UUID

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec

import io.phantoms.spark.cost.{MachineFit, PlainRun, Regression, SharedRun}
import io.phantoms.spark.model.Machine
import io.phantoms.spark.physical.{LftaExec, SharedMergeExec}
import io.phantoms.spark.stats.supplied.StatisticsException

/**
 * @param rows of the generated input
 * @param repeat measured runs of each job, after one to warm up
 * @param seed of the generated input
 * @param directory where the input may be written; it has to be seen by all executors. None: a temporary directory of
 *   the driver, for local masters only
 */
final case class CalibrationOptions(
    rows: Long = 1000000,
    repeat: Int = 3,
    seed: Long = 1,
    directory: Option[String] = None
)

/** @param jobs names by regression, in the order of its observations */
final case class CalibrationResult(
    fit: MachineFit,
    jobs: Map[String, Seq[String]],
    options: CalibrationOptions,
    cores: Int,
    seconds: Double
)

/**
 * Measures the constants of a [[Machine]] on a running session: jobs with known configurations over generated data, their
 * operators' counts, and the CPU time of their stages, brought together by [[MachineFit]].
 *
 * Jobs run in a session of their own, which has this one's confs, save that the plugin's rule and adaptive execution are
 * off: each job is then one map and one reduce stage.
 */
final class Calibrator(user: SparkSession, options: CalibrationOptions) {
  private val context = user.sparkContext
  private val cores = math.max(1, context.defaultParallelism)
  private val session = user.newSession()
  private val times = new StageTimes(context)

  def run(): CalibrationResult = {
    val start = System.nanoTime()
    user.conf.getAll.foreach { case (k, v) => if (session.conf.isModifiable(k)) session.conf.set(k, v) }
    Calibrator.Confs.foreach { case (k, v) => session.conf.set(k, v) }
    val folder = new Path(directory, s"phantoms-calibration-${UUID.randomUUID()}")
    val files = folder.getFileSystem(session.sessionState.newHadoopConf())
    context.addSparkListener(times)
    try {
      CalibrationTable.all.foreach(write(_, folder))
      val (shared, plain) = (CalibrationJob.shared, CalibrationJob.plain)
      // Round by round: whatever else the machine is doing meanwhile meets every job alike.
      val rounds = (0 to options.repeat).map(_ => (shared.map(runShared), plain.map(runPlain))).tail
      val sharedRuns = shared.indices.map { i =>
        val of = rounds.map(_._1(i))
        of.head.copy(
          mapNanos = Regression.median(of.map(_.mapNanos)),
          reduceNanos = Regression.median(of.map(_.reduceNanos))
        )
      }
      val plainRuns = plain.indices.map { i =>
        val of = rounds.map(_._2(i))
        of.head.copy(nanos = Regression.median(of.map(_.nanos)))
      }
      val fit = MachineFit(sharedRuns, plainRuns, fixed())
      val names = Map("map" -> shared, "reduce" -> shared, "plain" -> plain).view.mapValues(_.map(_.name)).toMap
      CalibrationResult(fit, names, options, cores, (System.nanoTime() - start) / 1e9)
    } finally {
      context.removeSparkListener(times)
      val _ = files.delete(folder, true)
    }
  }

  private def directory: String = options.directory.getOrElse {
    if (context.isLocal) {
      val made = Files.createTempDirectory("phantoms")
      made.toFile.deleteOnExit()
      made.toUri.toString
    } else
      throw new StatisticsException(
        "PHANTOMS_NO_DIRECTORY",
        s"the executors of ${context.master} cannot read the driver's disk: name a directory they all see"
      )
  }

  private def write(table: CalibrationTable, folder: Path): Unit = {
    val path = new Path(folder, table.name).toString
    // Work is counted over all tasks: more of them would only add to what starting them costs.
    session.range(
      0,
      table.rows(options.rows),
      1,
      math.min(cores, Calibrator.MostFiles)
    )
      .selectExpr(CalibrationJob.columns(options.seed): _*).write.parquet(path)
    session.read.parquet(path).createOrReplaceTempView(table.name)
  }

  private def runShared(job: CalibrationJob): SharedRun = {
    val (df, expected) = shared(job)
    val plan = df.queryExecution.executedPlan
    val stages = times.of(Calibrator.consume(df))
    if (stages.size != 2) throw new IllegalStateException(s"'${job.name}' ran in ${stages.size} stages, not in 2")
    val lfta = plan.collectFirst { case l: LftaExec => l.metrics }.get
    val merge = plan.collectFirst { case m: SharedMergeExec => m.metrics }.get
    def mapSide(name: String): Double = lfta(name).value.toDouble
    def reduceSide(name: String): Double = merge(name).value.toDouble
    val shipped = mapSide("externalEvictions")
    SharedRun(
      rows = mapSide("rows"),
      probes = mapSide("probes"),
      bypassed = mapSide("bypassed"),
      inputBytes = mapSide("rows") * expected.inputBytes,
      shipped = shipped,
      extraBytes = shipped * expected.extraBytes,
      mapTasks = stages.head.tasks,
      mapNanos = stages.head.nanos,
      received = reduceSide("received"),
      merges = reduceSide("received") * expected.received + reduceSide("derived") * expected.derived,
      emitted = reduceSide("numOutputRows"),
      reduceTasks = stages.last.tasks,
      reduceNanos = stages.last.nanos
    )
  }

  private def runPlain(job: CalibrationJob): PlainRun = {
    val df = planned(session.sql(job.sql))
    val stages = times.of(Calibrator.consume(df))
    val partial = df.queryExecution.executedPlan.collect { case a: HashAggregateExec => a }.last
    PlainRun(
      job.table.rows(options.rows).toDouble,
      partial.metrics("numOutputRows").value.toDouble,
      stages.map(_.tasks).sum,
      stages.map(_.nanos).sum
    )
  }

  /** A job's query planned under its configuration, and what the cost model expects of that. */
  private def shared(job: CalibrationJob): (DataFrame, SharedRun.Expected) = {
    val rule = new ForcedConfiguration(job, job.table.rows(options.rows).toDouble, Machine(parallelism = cores))
    session.experimental.extraOptimizations = Seq(rule)
    val df =
      try planned(session.sql(job.sql))
      finally session.experimental.extraOptimizations = Nil
    val plan = df.queryExecution.executedPlan
    if (!plan.exists(_.isInstanceOf[SharedMergeExec]))
      throw new IllegalStateException(s"the calibration job '${job.name}' was not shared:\n$plan")
    (df, rule.expected.get)
  }

  private def planned(df: DataFrame): DataFrame = {
    val _ = df.queryExecution.executedPlan
    df
  }

  /**
   * Elapsed time of the smallest shared job, beyond that of reading its input in one stage. Waiting has no CPU time, and
   * neighbours only ever make it longer: the shortest of many runs counts.
   */
  private def fixed(): Double = {
    def elapsed(df: DataFrame): Double = {
      val start = System.nanoTime()
      Calibrator.consume(df)
      (System.nanoTime() - start).toDouble
    }
    val job = CalibrationJob.least
    val runs = (1 to Calibrator.FixedRuns)
      .map(_ => (elapsed(shared(job)._1), elapsed(planned(session.table(job.table.name)))))
    math.max(0.0, runs.map(_._1).min - runs.map(_._2).min)
  }
}

private object Calibrator {
  val Confs: Seq[(String, String)] = Seq(
    "spark.phantoms.enabled" -> "false",
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.codegen.wholeStage" -> "true"
  )

  val MostFiles: Int = 4

  val FixedRuns: Int = 16

  /** Runs a query to its last row, in one job. In an object: what executors get must not hold the calibrator. */
  def consume(df: DataFrame): Unit = df.queryExecution.toRdd.foreach(_ => ())
}
