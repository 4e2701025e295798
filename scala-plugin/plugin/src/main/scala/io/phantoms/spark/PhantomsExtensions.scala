package io.phantoms.spark

import io.phantoms.spark.api.SqlFunctions
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.decide.VersionGuard
import io.phantoms.spark.physical.{AbsorbProjectFilter, PhantomsStrategy}
import io.phantoms.spark.rewrite.{PhantomsRule, Sharing}
import io.phantoms.spark.shims.BuildInfo
import io.phantoms.spark.source.{CountOfConstants, StreamedGroups}
import io.phantoms.spark.source.ip.IpFunctions

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.slf4j.LoggerFactory

/**
 * The plugin: `spark.sql.extensions=io.phantoms.spark.PhantomsExtensions`.
 *
 * Wiring only. Confs are read where they act, so the plugin may be switched on and off in a running session. Nothing
 * here touches the session it is given: it is still being made.
 */
class PhantomsExtensions private[spark] (sharing: Sharing, build: BuildInfo = BuildInfo.current)
    extends (SparkSessionExtensions => Unit) {

  /** The one that Spark makes. */
  def this() = this(Sharing)

  override def apply(extensions: SparkSessionExtensions): Unit = VersionGuard.mismatch(build) match {
    // An error here would be the session's, which would not come up. So not even Spark's own logging is used.
    case Some(reason) =>
      LoggerFactory.getLogger(classOf[PhantomsExtensions])
        .warn(s"spark-phantoms is off: ${reason.message}. Use the jar for this Spark.")
    case None => inject(extensions)
  }

  private def inject(extensions: SparkSessionExtensions): Unit = {
    // Registers the confs, so that a wrong value is refused when it is set.
    val _ = PhantomsConf.all
    // The first, so that a plan that is left as it is has no such counts either.
    extensions.injectPreCBORule(_ => CountOfConstants)
    extensions.injectPreCBORule(session => new PhantomsRule(session, sharing))
    extensions.injectPlannerStrategy(_ => PhantomsStrategy)
    Seq(AbsorbProjectFilter, StreamedGroups).foreach { rule =>
      extensions.injectColumnar(_ =>
        new ColumnarRule {
          override def preColumnarTransitions: Rule[SparkPlan] = rule
        }
      )
    }
    SqlFunctions.all.foreach(extensions.injectTableFunction)
    IpFunctions.all.foreach(extensions.injectFunction)
  }
}
