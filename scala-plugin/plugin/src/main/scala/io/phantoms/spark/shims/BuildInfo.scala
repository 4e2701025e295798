package io.phantoms.spark.shims

import java.util.Properties

import scala.util.Using

import org.apache.spark.SPARK_VERSION

/**
 * What the jar was built for.
 *
 * @param version of the plugin
 * @param sparkMinor the Spark minor whose classes it was compiled against
 * @param sparkVersion the very release
 */
final case class BuildInfo(version: String, sparkMinor: String, sparkVersion: String) {

  /** Classes of other minors differ in ways that show only when they are called. */
  def fits(running: String): Boolean = BuildInfo.minor(running) == sparkMinor
}

object BuildInfo {
  private val Resource = "/phantoms-build.properties"

  lazy val current: BuildInfo = {
    val properties = new Properties
    Option(getClass.getResourceAsStream(Resource)).foreach(in => Using.resource(in)(properties.load))
    def property(name: String): String = properties.getProperty(name, "unknown")
    BuildInfo(property("version"), property("spark.minor"), property("spark.version"))
  }

  /** The release this JVM runs. */
  def runningSpark: String = SPARK_VERSION

  private def minor(version: String): String = version.split('.').take(2).mkString(".")
}
