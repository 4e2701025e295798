package io.phantoms.spark

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property

/** What is logged as a warning while something runs, by whomever. */
private[spark] object Warnings {
  def during(body: => Any): Seq[String] = {
    val seen = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("warnings", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit =
        if (event.getLevel == Level.WARN) { val _ = seen.add(event.getMessage.getFormattedMessage) }
    }
    appender.start()
    val logger = LogManager.getRootLogger.asInstanceOf[Logger]
    logger.addAppender(appender)
    try { val _ = body }
    finally logger.removeAppender(appender)
    seen.asScala.toSeq
  }
}
