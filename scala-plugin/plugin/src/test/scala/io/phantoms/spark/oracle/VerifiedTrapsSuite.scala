package io.phantoms.spark.oracle

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import io.phantoms.spark.Turns
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
  private var compared = 0

  override protected def createTables(): Unit = {
    super.createTables()
    spark.sparkContext.addSparkListener(heard)
  }

  override def afterAll(): Unit =
    try {
      spark.sparkContext.removeSparkListener(heard)
      val _ = assert(!Turns.full || compared >= 20, "hardly anything was compared")
    } finally super.afterAll()

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

/** With each commit one of these suites has its turn, and of its traps one of sixteen. */
trait OneOfMany extends SharesTests {

  /** Which of the suites this one is. */
  protected def kind: Int

  private val isTurn = Math.floorMod(Turns.seed, OneOfMany.Suites.toLong) == kind
  override protected def place: Int = if (isTurn) 0 else -1
  override protected def places: Int = 16
}

object OneOfMany {
  val Suites = 5
}

class VerifiedSetsAndUnionsSuite extends VerifiedTraps with OneOfMany with GroupingSetTraps with UnionTraps {
  override protected def kind: Int = 0
}

class VerifiedPredicatesSuite extends VerifiedTraps with OneOfMany with PredicateTraps with ShardTraps with MaskTraps {
  override protected def kind: Int = 1
}

class VerifiedScatteredSuite extends VerifiedTraps with OneOfMany with ScatteredTraps with WindowTraps {
  override protected def kind: Int = 2
}

class VerifiedDistinctsSuite extends VerifiedTraps with OneOfMany with DistinctTraps with DistinctCountTraps {
  override protected def kind: Int = 3
}

class VerifiedAggregatesSuite extends VerifiedTraps with OneOfMany with AggregateTraps {
  override protected def kind: Int = 4
  override protected def places: Int = 32
}
