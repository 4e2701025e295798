package io.phantoms.spark.execute

import org.apache.spark.sql.internal.SQLConf

import io.phantoms.spark.PhantomsConf

/**
 * How map tasks run, read from the session when a query starts. None of it changes an answer.
 *
 * @param packed whether blocks are packed before they are shuffled
 */
final case class LftaOptions(packed: Boolean)

object LftaOptions {
  def read(conf: SQLConf): LftaOptions = LftaOptions(packed = conf.getConf(PhantomsConf.BlocksPacked))
}
