import sbt._

/**
 * One Spark minor the plugin is built for; versions are data, kept in [[SparkLanes]] only.
 *
 * @param minor the Spark minor, part of the jar's name
 * @param version the patch release compiled and tested against
 */
final case class SparkLane(minor: String, version: String) {
  def sql: ModuleID = "org.apache.spark" %% "spark-sql" % version
  def catalystTests: ModuleID = "org.apache.spark" %% "spark-catalyst" % version % Test classifier "tests"
  def sqlTests: ModuleID = "org.apache.spark" %% "spark-sql" % version % Test classifier "tests"
  def coreTests: ModuleID = "org.apache.spark" %% "spark-core" % version % Test classifier "tests"
  def sqlApiTests: ModuleID =
    "org.apache.spark" %% "spark-sql-api" % version % Test classifier "tests"
}

object SparkLanes {
  val all: Seq[SparkLane] = Seq(SparkLane("4.2", "4.2.0"))

  /** The lane of this build: `-Dspark.minor=4.2`, the newest by default. */
  def current: SparkLane = {
    val wanted = sys.props.getOrElse("spark.minor", all.last.minor)
    all.find(_.minor == wanted).getOrElse(
      sys.error(s"No build lane for Spark $wanted; known: ${all.map(_.minor).mkString(", ")}")
    )
  }
}
