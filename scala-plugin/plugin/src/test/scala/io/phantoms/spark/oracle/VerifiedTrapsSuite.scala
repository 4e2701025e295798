package io.phantoms.spark.oracle

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.verify.{ListenerBus, Verification}

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}

/** Verifications as listeners hear of them. */
final class HeardVerifications extends SparkListener {
  private val heard = new ConcurrentLinkedQueue[Verification]

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case v: Verification =>
      val _ = heard.add(v)
    case _ =>
  }

  /** Those since it was asked before. */
  def next(): Seq[Verification] = {
    val found = heard.asScala.toSeq
    found.foreach(heard.remove(_))
    found
  }
}

/** Traps whose plans are verified while they run: no right answer may be taken for a wrong one. */
trait VerifiedTraps extends TestsTakeTurns with TrapTables {
  private val heard = new HeardVerifications
  protected var compared = 0

  override protected def createTables(): Unit = {
    super.createTables()
    spark.sparkContext.addSparkListener(heard)
  }

  override def afterAll(): Unit =
    try spark.sparkContext.removeSparkListener(heard)
    finally super.afterAll()

  override protected def turns: IndexedSeq[Seq[Variant]] = IndexedSeq("true", "false").map { adaptive =>
    Seq(
      Variant(
        s"verified, adaptive $adaptive",
        Seq(PhantomsConf.Verify.key -> "full", "spark.sql.adaptive.enabled" -> adaptive),
        cleanUp = () => check()
      )
    )
  }

  private def check(): Unit = {
    ListenerBus.drain(spark.sparkContext)
    val found = heard.next()
    compared += found.size
    found.filterNot(_.agrees).foreach(v => fail(v.warning))
  }
}

/** Of a few dozen traps of every kind one runs with each commit. */
trait OneOfMany extends SharesTests {
  override protected def place: Int = 0
  override protected def places: Int = 16
}

class VerifiedSetsAndUnionsSuite extends VerifiedTraps with OneOfMany with GroupingSetTraps with UnionTraps

class VerifiedPredicatesSuite extends VerifiedTraps with OneOfMany with PredicateTraps with ShardTraps with MaskTraps

class VerifiedScatteredSuite extends VerifiedTraps with OneOfMany with ScatteredTraps with WindowTraps

class VerifiedDistinctsSuite extends VerifiedTraps with OneOfMany with DistinctTraps with DistinctCountTraps

class VerifiedAggregatesSuite extends VerifiedTraps with OneOfMany with AggregateTraps {
  override protected def places: Int = 40
}
