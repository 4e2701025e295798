package io.phantoms.spark.shims

import java.io.InterruptedIOException
import java.net.SocketTimeoutException
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.TimeoutException

import org.apache.spark.{SparkException, SparkThrowable}

/**
 * Errors by which somebody ends a query, as opposed to what fails in it: a cancelled job or job group, an interrupted
 * thread, a time that ran out, a context that was stopped. Planning may recover from its own failures, never from these.
 */
object Cancelled {
  private val Deepest = 30

  /** @return what ends plain Spark's query then */
  def unapply(error: Throwable): Option[Throwable] = {
    val chain = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(Deepest).toSeq
    // Below that are errors of a task: whatever interrupted it, or timed out in it, it is the task's failure.
    val here = chain.takeWhile(!isFailedStage(_))
    if (here.exists(isInterrupt)) Some(interruption(error))
    else Option.when(here.exists(isCancel))(error)
  }

  /** Whoever waits for a job is interrupted by that class, wherever else the interrupt was met. */
  private def interruption(error: Throwable): Throwable = error match {
    case e: InterruptedException => e
    case other =>
      val interrupted = new InterruptedException(other.getMessage)
      interrupted.initCause(other)
      interrupted
  }

  private def isInterrupt(e: Throwable): Boolean = e match {
    case _: SocketTimeoutException => false
    case _: InterruptedException | _: ClosedByInterruptException | _: InterruptedIOException => true
    case _ => false
  }

  private def isCancel(e: Throwable): Boolean = e match {
    case s: SparkThrowable if s.getCondition == "SPARK_JOB_CANCELLED" => true
    case s: SparkException => message(s).contains("cancelled because SparkContext was shut down")
    case _: TimeoutException => true
    case _ => false
  }

  private def isFailedStage(e: Throwable): Boolean = e match {
    case s: SparkException => message(s).startsWith("Job aborted due to stage failure")
    case _ => false
  }

  private def message(e: Throwable): String = Option(e.getMessage).getOrElse("")
}
