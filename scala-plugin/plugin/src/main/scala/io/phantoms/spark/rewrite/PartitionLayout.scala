package io.phantoms.spark.rewrite

import io.phantoms.spark.choose.{Configuration, Placement, Problem}

/**
 * Which reduce partitions the shards of each shipped relation get.
 *
 * A relation of several shards has partitions of its own, so that a task holds one of its tables at a time. Relations of
 * one shard are packed together up to [[GroupsPerTask]] expected groups, so that many small ones do not cost a task each.
 * Large relations come first: a LIMIT reads the first partitions first.
 */
private[rewrite] object PartitionLayout {

  /** Expected groups up to which small relations share a reduce partition. */
  val GroupsPerTask: Double = 256 * 1024

  /** Partitions of each relation, none for those that are not shipped. */
  def apply(configuration: Configuration, problem: Problem): IndexedSeq[Seq[Int]] = {
    val groups = configuration.relations.map(r => problem.statistics.groups(r.keys))
    val shards = configuration.relations.map(_.placement match {
      case Placement.Shipped(_, n) => n
      case _ => 0
    })
    val (large, small) = configuration.relations.indices.filter(shards(_) > 0).sortBy(i => (-groups(i), i))
      .partition(shards(_) > 1)
    val result = Array.fill(configuration.relations.size)(Seq.empty[Int])
    var next = 0
    large.foreach { i =>
      result(i) = next until next + shards(i)
      next += shards(i)
    }
    // First fit, largest first.
    val bins = scala.collection.mutable.ArrayBuffer.empty[Double]
    small.foreach { i =>
      val found = bins.indexWhere(_ + groups(i) <= GroupsPerTask)
      val bin = if (found >= 0) found else bins.size
      if (found < 0) bins += 0.0
      bins(bin) += groups(i)
      result(i) = Seq(next + bin)
    }
    result.toIndexedSeq
  }
}
