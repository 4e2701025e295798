package io.phantoms.spark.run

import org.apache.spark.SparkContext
import org.apache.spark.sql.internal.SQLConf

import io.phantoms.spark.conf.PhantomsConf

/**
 * How map tasks run, decided on the driver when a query starts: what tasks may take must not depend on where they run. None
 * of it changes an answer.
 *
 * @param packed whether blocks are packed before they are shuffled
 * @param adaptive whether tables that do not reduce are passed by
 * @param secondChance whether a group has a second bucket
 * @param share memory of a task
 */
final case class LftaOptions(packed: Boolean, adaptive: Boolean, secondChance: Boolean, share: TaskShare)

object LftaOptions {
  def read(conf: SQLConf, context: SparkContext): LftaOptions = LftaOptions(
    packed = conf.getConf(PhantomsConf.BlocksPacked),
    adaptive = conf.getConf(PhantomsConf.LftaAdaptive),
    secondChance = conf.getConf(PhantomsConf.LftaSecondChance),
    share = TaskShare.of(context)
  )
}
