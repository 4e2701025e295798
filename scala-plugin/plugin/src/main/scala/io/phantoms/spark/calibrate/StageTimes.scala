package io.phantoms.spark.calibrate

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.scheduler._

/**
 * Work of a finished stage.
 *
 * @param nanos over all tasks: CPU time, and the pauses of the garbage collector that the task waited through
 */
private[calibrate] final case class StageTime(stage: Int, tasks: Int, nanos: Double)

/**
 * Times of the stages of single jobs. CPU time, since neighbours on the machine change elapsed time much more.
 *
 * Jobs are told from others of the context by a local property, and are over when their end has come through the
 * listener bus: the ends of their stages come before it.
 */
private[calibrate] final class StageTimes(context: SparkContext) extends SparkListener {
  import StageTimes._

  private final class Run {
    val stages = new ConcurrentLinkedQueue[StageTime]
    val over = new CountDownLatch(1)
  }

  private val runs = new ConcurrentHashMap[String, Run]
  private val runOfJob = new ConcurrentHashMap[Int, Run]
  private val runOfStage = new ConcurrentHashMap[Int, Run]
  private var count = 0

  /** Runs an action of exactly one job; answers its stages, the one that makes the result last. */
  def of(action: => Unit): Seq[StageTime] = {
    count += 1
    val id = s"${System.identityHashCode(this)}-$count"
    val run = new Run
    runs.put(id, run)
    val before = context.getLocalProperty(Property)
    context.setLocalProperty(Property, id)
    try action
    finally context.setLocalProperty(Property, before)
    if (!run.over.await(60, TimeUnit.SECONDS))
      throw new IllegalStateException("Spark's listener bus did not report the end of a calibration job.")
    runs.remove(id)
    run.stages.asScala.toSeq.sortBy(_.stage)
  }

  private def runOf(properties: java.util.Properties): Option[Run] =
    Option(properties).flatMap(p => Option(p.getProperty(Property))).flatMap(id => Option(runs.get(id)))

  override def onJobStart(e: SparkListenerJobStart): Unit =
    runOf(e.properties).foreach(run => runOfJob.put(e.jobId, run))

  override def onStageSubmitted(e: SparkListenerStageSubmitted): Unit =
    runOf(e.properties).foreach(run => runOfStage.put(e.stageInfo.stageId, run))

  override def onStageCompleted(e: SparkListenerStageCompleted): Unit =
    Option(runOfStage.get(e.stageInfo.stageId)).foreach { run =>
      run.stages.add(StageTime(e.stageInfo.stageId, e.stageInfo.numTasks, nanos(e.stageInfo.taskMetrics)))
    }

  override def onJobEnd(e: SparkListenerJobEnd): Unit = Option(runOfJob.remove(e.jobId)).foreach(_.over.countDown())
}

private object StageTimes {
  private val Property = "phantoms.calibration.run"

  private def nanos(m: TaskMetrics): Double =
    if (m == null) 0.0
    else {
      // A JVM without CPU times per thread says 0.
      val work = if (m.executorCpuTime > 0) m.executorCpuTime.toDouble else m.executorRunTime * 1e6
      work + m.jvmGCTime * 1e6
    }
}
