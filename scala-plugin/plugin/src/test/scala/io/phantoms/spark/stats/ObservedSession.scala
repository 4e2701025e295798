package io.phantoms.spark.stats

import scala.collection.mutable

import io.phantoms.spark.PhantomsExtensions
import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.oracle.RandomSharing
import io.phantoms.spark.stats.observed.StoredObservation

import org.apache.spark.sql.SparkSessionExtensions
import org.scalatest.{BeforeAndAfterEach, Suite}

/** A session whose executions are observed, each test from nothing on, and comparisons with what plain Spark counts. */
trait ObservedSession extends PluginSession with BeforeAndAfterEach { this: Suite =>
  override protected def confs: Map[String, String] =
    Map("spark.phantoms.stats.observe" -> "true", "spark.phantoms.stats.sample.enabled" -> "false")
  override protected def extensions: SparkSessionExtensions => Unit = new PhantomsExtensions(RandomSharing)

  override def beforeEach(): Unit = {
    super.beforeEach()
    StatsApi.statsClear(spark)
  }

  override def afterEach(): Unit = {
    RandomSharing.seed = None
    super.afterEach()
  }

  /** Under a random configuration. */
  protected def configured[T](seed: Long)(body: => T): T = {
    RandomSharing.seed = Some(seed)
    try body
    finally RandomSharing.seed = None
  }

  /** What is known of the inputs in memory. */
  protected def observed: Seq[StoredObservation] = memory.observations.all("")

  protected def only: StoredObservation = observed match {
    case Seq(one) => one
    case several => fail(s"observations of one input expected: $several")
  }

  protected def named(o: StoredObservation): Map[Set[String], Double] =
    o.observation.groups.map { case (keys, n) => keys.map(o.names) -> n }

  private val truths = mutable.Map.empty[String, Long]

  /** Rows of a query, which are counted once where the table stays the same. */
  private def counted(table: String, sql: String): Long = {
    def count = spark.sql(sql).count()
    if (table == "flows") truths.getOrElseUpdate(sql, count) else count
  }

  /** Rows and the groups of these sets are those of the table, and of no other sets are there any. */
  protected def assertCounted(table: String, where: String, sets: Set[String]*): Unit = plain {
    val found = only
    assert(found.observation.rows.contains(counted(table, s"select * from $table where $where").toDouble))
    assert(sets.toSet.subsetOf(named(found).keySet), RandomSharing.last)
    named(found).foreach { case (columns, n) =>
      val list = columns.toSeq.sorted.mkString(", ")
      val truth = counted(table, s"select distinct $list from $table where $where")
      assert(n == truth.toDouble, s"groups of $list under\n${RandomSharing.last}")
    }
  }
}
