package io.phantoms.spark.execute

import org.apache.spark.sql.internal.SQLConf

import io.phantoms.spark.PhantomsConf

/**
 * How map tasks run, read from the session when a query starts. None of it changes an answer.
 *
 * @param packed whether blocks are packed before they are shuffled
 * @param adaptive whether tables that do not reduce are passed by
 * @param secondChance whether an entry that was hit stays when another group meets it, once
 */
final case class LftaOptions(packed: Boolean, adaptive: Boolean, secondChance: Boolean)

object LftaOptions {
  def read(conf: SQLConf): LftaOptions = LftaOptions(
    packed = conf.getConf(PhantomsConf.BlocksPacked),
    adaptive = conf.getConf(PhantomsConf.LftaAdaptive),
    secondChance = conf.getConf(PhantomsConf.LftaSecondChance)
  )
}
