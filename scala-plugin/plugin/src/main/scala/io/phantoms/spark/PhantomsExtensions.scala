package io.phantoms.spark

import io.phantoms.spark.rewrite.{PhantomsRule, Sharing}

import org.apache.spark.sql.SparkSessionExtensions

/**
 * The plugin: `spark.sql.extensions=io.phantoms.spark.PhantomsExtensions`.
 *
 * Wiring only. Confs are read where they act, so the plugin may be switched on and off in a running session.
 */
class PhantomsExtensions(sharing: Sharing) extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPreCBORule(session => new PhantomsRule(session, sharing))
  }
}
