package io.phantoms.spark.run.kernel

import scala.util.Random

import io.phantoms.spark.block.BlockBuilder
import io.phantoms.spark.memory.MemoryReserve
import io.phantoms.spark.table.GroupTable
import io.phantoms.spark.windows.{Cut, SliceIndex}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.scalatest.funsuite.AnyFunSuite

/**
 * Windows by slices of which the order can be told: what two of them make depends on which comes first, so that a window
 * that has one too few or too many, or in another order than that of time, is another one.
 */
class WindowCombinerSuite extends AnyFunSuite {
  import WindowCombinerSuite._

  test("every window that a slice is in, of its slices in the order of time, within the bounds of merges") {
    for (seed <- 0 until 300) {
      val random = new Random(seed)
      val slide = 1 + random.nextInt(12)
      val range = 1 + random.nextInt(40)
      val phase = random.nextInt(50) - 25
      val gap = 1 + random.nextInt(60)
      val groups = (0 until 1 + random.nextInt(4)).map { g =>
        val begins = Iterator.iterate(random.nextInt(100) - 50L)(_ + 1 + random.nextInt(gap)).take(random.nextInt(30))
        (g.toLong, begins.toIndexedSeq)
      }.filter(_._2.nonEmpty)
      check(groups, range, slide, phase, random, None, s"seed $seed")
    }
  }

  test("windows with slices in common, of slices of their own, with blocks and without") {
    for (seed <- 0 until 300) {
      val random = new Random(seed)
      val shapes = (0 until 2 + random.nextInt(3)).map { _ =>
        (1L + random.nextInt(40), 1L + random.nextInt(30), random.nextInt(50) - 25L)
      }
      val index = new SliceIndex(shapes.flatMap { case (r, s, p) => Cut.ofWindow(r, s, p) })
      val groups = (0 until 1 + random.nextInt(4)).map { g =>
        (g.toLong, Seq.fill(random.nextInt(120))(index.begin(random.nextInt(200) - 100L)).distinct.sorted.toIndexedSeq)
      }.filter(_._2.nonEmpty)
      val shifts = Seq(Nil, Seq(1), Seq(2), Seq(1, 3))(random.nextInt(4))
      for ((range, slide, phase) <- shapes)
        check(groups, range, slide, phase, random, Some(shifts), s"seed $seed, of $shapes")
    }
  }

  test("slices at both ends of time, and ages apart") {
    for (seed <- 0 until 300) {
      val random = new Random(seed)
      val slide = 1 + random.nextInt(12)
      val range = 1 + random.nextInt(40)
      val phase = random.nextInt(50) - 25
      val ends = Seq(Long.MinValue, Long.MaxValue - 60, -5000000000000000000L, 5000000000000000000L)
      val begins = ends.flatMap(e => Seq.fill(random.nextInt(4))(e + random.nextInt(60))).distinct.sorted.toIndexedSeq
      val groups = Seq((0L, begins)).filter(_._2.nonEmpty)
      val inRange = groups.flatMap { case (group, of) =>
        of.flatMap { b =>
          val last = BigInt(b) - (BigInt(b) - phase).mod(slide)
          (0 to range / slide + 1).map(i => last - BigInt(i) * slide).filter(w =>
            w.isValidLong && BigInt(b) - w < range
          )
        }.distinct.sorted.map { w =>
          (group, w.toLong, of.filter(b => BigInt(b) >= w && BigInt(b) - w < range).map(valueOf).reduce(after))
        }
      }
      val (found, _) = combined(groups, range, slide, phase, random)
      assert(found == inRange, s"seed $seed: range $range, slide $slide, phase $phase, $groups")
    }
  }

  test("blocks save merges where many slices make up one of a window, and never cross groups") {
    val groups = (0L until 5).map(g => (g, (g until 4000L + g by 5).toIndexedSeq))
    def merges(shifts: Seq[Int]) = {
      val (found, kernel) = combined(groups, 900, 300, 0, new Random(1), Some(shifts))
      (found, kernel.combined)
    }
    val (windows, alone) = merges(Nil)
    val (same, blocks) = merges(Seq(2, 4))
    assert(windows == same)
    // Of five groups of 800 slices, one merge less for each window's own; blocks are built with one a slice.
    assert(alone > 5 * 700 && blocks - (5 * 800 + 5 * 200) < alone / 4, s"$alone, $blocks")
  }

  private def check(
      groups: Seq[(Long, IndexedSeq[Long])],
      range: Long,
      slide: Long,
      phase: Long,
      random: Random,
      blocks: Option[Seq[Int]],
      of: String
  ): Unit = {
    val (found, kernel) = combined(groups, range, slide, phase, random, blocks)
    val clue = s"$of: range $range, slide $slide, phase $phase, blocks $blocks, $groups"
    assert(found == expected(groups, range, slide, phase), clue)
    assert(kernel.combined <= 3 * kernel.slices + found.size, clue)
    assert(kernel.slices == groups.map(_._2.size).sum, clue)
    ()
  }

  /** Of each window that holds a slice: group, begin, and the slices as one after the other. */
  private def expected(
      groups: Seq[(Long, IndexedSeq[Long])],
      range: Long,
      slide: Long,
      phase: Long
  ): Seq[(Long, Long, Long)] =
    for {
      (group, begins) <- groups
      first = begins.head - range - slide
      begin <- (first - Math.floorMod(first - phase, slide)) to begins.last by slide
      inside = begins.filter(b => b >= begin && b - begin < range)
      if inside.nonEmpty
    } yield (group, begin, inside.map(valueOf).reduce(after))

  private def combined(
      groups: Seq[(Long, IndexedSeq[Long])],
      range: Long,
      slide: Long,
      phase: Long,
      random: Random,
      blocks: Option[Seq[Int]] = None
  ): (Seq[(Long, Long, Long)], Sequences) = {
    val kernel = new Sequences
    kernel.open(Unlimited, Array(Stride), Array(0L))
    val table = kernel.table(0)
    val slices = random.shuffle(groups.flatMap { case (g, begins) => begins.map(b => Array(g, b, valueOf(b), Factor)) })
    table.records = slices.toArray.flatten
    table.size = slices.size
    val own = blocks.map(_ => new PairedSlices(range, slide, phase, Long.MaxValue / 2))
    val sorted = new SortedGroups(kernel, 0, Stride, Array(0), Array(-1L), 1, true)
    val pieces = blocks.filter(_.nonEmpty).map(s => SliceBlocks.of(kernel, 0, sorted, s.toArray))
    val taken = new QuerySlices(kernel, 0, sorted, -1, 0, own.orNull, pieces.orNull)
    val windows = new WindowCombiner(kernel, 0, taken, range, slide, phase)
    val found = Iterator.continually(sorted.advance()).takeWhile(identity).flatMap { _ =>
      taken.start()
      // By and by, as many queries would.
      (sorted.from until sorted.until).foreach(i =>
        if (i % 16 == 0 || i == sorted.from) {
          taken.take(i, math.min(sorted.until, (i / 16 + 1) * 16))
        }
      )
      Iterator.continually(windows.advance()).takeWhile(identity)
        .map(_ => (windows.window(0), windows.window(1), windows.window(2)))
    }.toIndexedSeq
    (found, kernel)
  }
}

object WindowCombinerSuite {

  /** Words of a record: group, slice, the sequence as one number, and by what one before it is to be multiplied. */
  private val Stride = 4
  private val Factor = 1000003L

  private def valueOf(slice: Long): Long = slice * 31 + 7
  private def after(a: Long, b: Long): Long = a * Factor + b

  private object Unlimited extends MemoryReserve {
    override def reserve(bytes: Long): Unit = ()
    override def release(bytes: Long): Unit = ()
  }

  private final class Sequences extends HftaKernel {
    override def combine(relation: Int, into: Array[Long], at: Int, record: Array[Long], from: Int): Unit = {
      into(at + 2) = into(at + 2) * record(from + 3) + record(from + 2)
      into(at + 3) = into(at + 3) * record(from + 3)
    }
    private def unused = throw new UnsupportedOperationException
    override protected def remap(relation: Int, record: Array[Long], from: Int, ids: Array[Int]): Unit = unused
    override protected def mergeAll(relation: Int, table: GroupTable, records: Array[Long], count: Int): Unit = unused
    override def project(child: Int, parentRecords: Array[Long], from: Int): Array[Long] = unused
    override def append(relation: Int, block: BlockBuilder, record: Array[Long], from: Int): Boolean = unused
    override def contentHash(relation: Int, record: Array[Long], from: Int): Long = unused
    override def shard(relation: Int, record: Array[Long], from: Int): Int = unused
    override protected def deriveAll(child: Int, table: GroupTable, parent: Array[Long], count: Int): Unit = unused
    override def emit(query: Int, records: Array[Long], from: Int): UnsafeRow = unused
    override def initialize(relation: Int, record: Array[Long]): Unit = unused
  }
}
