package io.phantoms.spark.run

import scala.collection.immutable.BitSet
import scala.util.control.NonFatal

import io.phantoms.spark.cost.{ObservedTable, ObservedTables}
import io.phantoms.spark.run.kernel.LftaKernel
import io.phantoms.spark.spec.SharedSpec
import io.phantoms.spark.stats.observed.{ObservationStore, ObservedInput}

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

/**
 * Which counts the operators collect for later plans, and what becomes of them once those of all partitions are there. That
 * happens on Spark's scheduler thread: it must neither fail nor wait.
 */
private[spark] object ObservedCounts extends Logging {
  private val ofTask = 4
  private val ofTable = 3

  /** Counts of [[LftaExec]]; None where nothing is observed. */
  def mapSide(spec: SharedSpec, partitions: Int, context: SparkContext): Option[PartCounts] =
    counts(spec, partitions, context) { (store, input, sums) =>
      store.mapSide(input, tables(spec, sums))
    }

  /** What one map task counted, as [[tables]] reads it. */
  def ofMapTask(spec: SharedSpec, kernel: LftaKernel, asChosen: Boolean): Array[Long] = {
    val counts = new Array[Long](ofTask + ofTable * spec.relations.size)
    counts(0) = kernel.rows
    counts(1) = if (kernel.rows > 0) 1 else 0
    counts(2) = if (kernel.flushes > 0 || kernel.passed.exists(_ > 0)) 1 else 0
    counts(3) = if (asChosen) 0 else 1
    spec.mapSide.filter(spec.relations(_).buckets > 0).foreach { r =>
      val (parent, at) = (spec.relations(r).parent, ofTask + ofTable * r)
      counts(at) = (if (parent < 0) kernel.rows else kernel.evictions(parent)) - kernel.passed(r)
      counts(at + 1) = kernel.evictions(r) - kernel.passed(r) - kernel.evictedAtEnd(r)
      counts(at + 2) = kernel.evictedAtEnd(r)
    }
    counts
  }

  private def tables(spec: SharedSpec, sums: Array[Long]): ObservedTables = {
    val asChosen = sums(3) == 0
    val mapSide = spec.mapSide.toIndexedSeq
    ObservedTables(
      mapSide.map { r =>
        val (relation, at) = (spec.relations(r), ofTask + ofTable * r)
        ObservedTable(
          BitSet.fromSpecific(relation.keys),
          if (relation.parent < 0) -1 else mapSide.indexOf(relation.parent),
          if (asChosen) relation.buckets else 0,
          sums(at).toDouble,
          sums(at + 1).toDouble,
          sums(at + 2).toDouble
        )
      },
      rows = sums(0).toDouble,
      tasks = sums(1).toInt,
      wholeEpochs = sums(2) == 0
    )
  }

  /** Counts of [[SharedMergeExec]], groups by relation; None where nothing is observed. */
  def merge(spec: SharedSpec, partitions: Int, context: SparkContext): Option[PartCounts] =
    counts(spec, partitions, context) { (store, input, sums) =>
      val complete = spec.relations.indices.filter(spec.isComplete)
      val groups = complete.map(r => BitSet.fromSpecific(spec.relations(r).keys) -> sums(r).toDouble).toMap
      store.merged(input, groups)
    }

  private def counts(spec: SharedSpec, partitions: Int, context: SparkContext)(
      keep: (ObservationStore, ObservedInput, Array[Long]) => Unit
  ): Option[PartCounts] = spec.observed.filter(_ => partitions > 0).map { input =>
    // Looked up here: when the last count comes, the application may have ended.
    val store = ObservationStore.of(context)
    val counts = new PartCounts(
      partitions,
      sums =>
        try keep(store, input, sums)
        catch {
          case NonFatal(e) => logWarning(s"spark-phantoms: what an execution counted could not be kept: $e", e)
        }
    )
    context.register(counts)
    counts
  }
}
