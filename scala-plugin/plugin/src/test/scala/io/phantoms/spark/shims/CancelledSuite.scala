package io.phantoms.spark.shims

import java.io.{IOException, InterruptedIOException}
import java.net.SocketTimeoutException
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.TimeoutException

import org.apache.spark.SparkException
import org.scalatest.funsuite.AnyFunSuite

class CancelledSuite extends AnyFunSuite {
  private val cancelled = new SparkException("SPARK_JOB_CANCELLED", Map("jobId" -> "1", "reason" -> "asked"), null)

  private def in(message: String, cause: Throwable) = new SparkException(message, cause)

  test("who ends a query ends its planning") {
    val timeout = in("Exception thrown in awaitResult: ", new TimeoutException("too long"))
    Seq(
      cancelled,
      in("planning failed", new RuntimeException(cancelled)),
      in("Job 3 cancelled because SparkContext was shut down", null),
      timeout
    ).foreach(e => assert(Cancelled.unapply(e).exists(_ eq e), e))
  }

  test("an interrupt is one, whatever it was wrapped in") {
    val plain = new InterruptedException("asked")
    assert(Cancelled.unapply(plain).exists(_ eq plain))
    Seq[Throwable](plain, new ClosedByInterruptException, new InterruptedIOException).foreach { e =>
      val found = Cancelled.unapply(in("Exception thrown in awaitResult: ", e))
      assert(found.exists(_.isInstanceOf[InterruptedException]), e)
    }
  }

  test("failures of tasks, of disks and networks end nothing") {
    def failed(cause: Throwable) = in("Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times", cause)
    Seq(
      failed(new InterruptedException),
      failed(new TimeoutException),
      new SocketTimeoutException,
      new IOException("damaged"),
      new IllegalStateException("no such luck"),
      in("null", null)
    ).foreach(e => assert(Cancelled.unapply(e).isEmpty, e))
  }
}
