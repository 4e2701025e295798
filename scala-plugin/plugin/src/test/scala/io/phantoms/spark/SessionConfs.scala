package io.phantoms.spark

import org.apache.spark.sql.SparkSession

/** Confs of a suite's session for as long as something runs. */
trait SessionConfs {
  protected def spark: SparkSession

  protected def withConf[T](pairs: (String, String)*)(body: => T): T = {
    val old = pairs.map { case (k, _) => k -> spark.conf.getOption(k) }
    pairs.foreach { case (k, v) => spark.conf.set(k, v) }
    try body
    finally old.foreach {
        case (k, Some(v)) => spark.conf.set(k, v)
        case (k, None) => spark.conf.unset(k)
      }
  }
}
