package io.phantoms.spark.physical

import scala.collection.mutable

import io.phantoms.spark.model.{Configuration, Placement, Problem}

/**
 * Which reduce partitions the shards of each shipped relation get.
 *
 * A relation of several shards has partitions of its own, so that a task holds one of its tables at a time. Relations of
 * one shard are packed together up to [[GroupsPerTask]] expected groups, so that many small ones do not cost a task each.
 * Spark starts tasks in the order of their partitions: the longest come first, so that none is left running alone at the
 * end of the stage. Each tier has a shuffle of its own, whose partitions are numbered from 0.
 */
private[spark] object PartitionLayout {

  /** Expected groups up to which small relations share a reduce partition. */
  val GroupsPerTask: Double = 256 * 1024

  /** A reduce partition: the shards (relation, number) in it, and the expected groups merged and derived there. */
  private final case class Bin(shards: mutable.Buffer[(Int, Int)], var groups: Double, var work: Double)

  /** Partitions of each relation in the shuffle of its tier, none for those that cross none. */
  def apply(configuration: Configuration, problem: Problem): IndexedSeq[Seq[Int]] = {
    val (second, first) = configuration.relations.indices.partition(configuration.relations(_).isSecondTier)
    val layouts = Seq(first, second).map(ofTier(_, configuration, problem))
    configuration.relations.indices.map(i => layouts.flatMap(_.get(i)).headOption.getOrElse(Nil))
  }

  private def ofTier(tier: Seq[Int], configuration: Configuration, problem: Problem): Map[Int, Seq[Int]] = {
    val groups = configuration.relations.map(r => problem.statistics.groups(r.keys))
    val shards = configuration.relations.map(_.placement match {
      case Placement.Shipped(_, n) => n
      case Placement.SecondTier(_, n) => n
      case _ => 0
    })
    def work(relation: Int): Double =
      groups(relation) + configuration.derivedBelow(relation).map(d => groups(configuration.relations(d).parent)).sum
    val bins = mutable.ArrayBuffer.empty[Bin]
    // First fit, largest first.
    tier.filter(shards(_) > 0).sortBy(i => (-groups(i), i)).foreach { i =>
      val n = shards(i)
      if (n > 1) bins ++= (0 until n).map(s => Bin(mutable.Buffer(i -> s), Double.PositiveInfinity, work(i) / n))
      else {
        val bin = bins.find(_.groups + groups(i) <= GroupsPerTask).getOrElse {
          bins += Bin(mutable.Buffer.empty, 0.0, 0.0)
          bins.last
        }
        bin.shards += i -> 0
        bin.groups += groups(i)
        bin.work += work(i)
      }
    }
    val result = tier.map(i => i -> new Array[Int](shards(i))).toMap
    bins.sortBy(-_.work).zipWithIndex.foreach { case (bin, partition) =>
      bin.shards.foreach { case (relation, shard) => result(relation)(shard) = partition }
    }
    result.map { case (i, partitions) => i -> partitions.toSeq }
  }
}
