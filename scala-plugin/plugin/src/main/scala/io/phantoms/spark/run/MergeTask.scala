package io.phantoms.spark.run

import io.phantoms.spark.block.BlockFormat
import io.phantoms.spark.memory.MemoryRefused
import io.phantoms.spark.run.kernel.HftaKernel
import io.phantoms.spark.spec.SharedSpec

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.memory.SparkOutOfMemoryError
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.unsafe.Platform

/**
 * What one task of [[SharedMergeExec]] or [[TierExec]] does. Serialized to executors, so it holds no plan.
 *
 * @param output what becomes of complete groups
 * @param counts what is observed for later plans: groups by relation
 * @param overdraft bytes a task takes even when refused
 */
final class MergeTask(
    spec: SharedSpec,
    kernels: Kernels[HftaKernel],
    output: HftaKernel => MergeOutput,
    metrics: Map[String, SQLMetric],
    counts: Option[PartCounts],
    overdraft: Long
) extends Serializable {

  /** What comes of every relation whose blocks are in this partition. The row is reused. */
  def run(part: Int, input: Iterator[InternalRow]): Iterator[InternalRow] = {
    val kernel = kernels.make()
    val context = TaskContext.get()
    val memory = new TaskMemory(
      context,
      "the merge of spark-phantoms",
      overdraft,
      headroom = TaskMemory.headroom(context)
    )
    kernel.open(memory, spec.layouts.map(_.stride).toArray, spec.relations.map(_.expectedGroups).toArray)
    StateObjects.hold(spec, kernel, memory.granted)
    val made = output(kernel)
    val merge = new Merge(spec, kernel, made, metrics)
    merge.receive(input)
    val rows = merge.rows
    new Iterator[InternalRow] {
      private var current: Iterator[InternalRow] = Iterator.empty
      private var done = false
      override def hasNext: Boolean = current.hasNext || advance()
      override def next(): InternalRow = current.next()

      private def advance(): Boolean = {
        while (!current.hasNext && rows.hasNext) current = rows.next()
        if (!current.hasNext && !done) {
          done = true
          metrics("received") += kernel.received
          metrics("derived") += kernel.derived
          metrics("partialMerges") += math.max(0L, kernel.received + kernel.derived - merge.groups.sum)
          made.report(metrics)
          metrics("peakBytes") += memory.peak
          counts.foreach(_.add(PartCounts.Part(part, merge.groups)))
        }
        current.hasNext
      }
    }
  }
}

object MergeTask {

  /** Most bytes a task takes even when refused: the small tables and dictionary chunks it cannot work without. */
  val Overdraft: Long = 16L << 20
}

/** What a merge makes of the groups of a relation. */
private[run] trait MergeOutput {

  /**
   * Output for groups of a relation that are all in its table, each of them there once in a task. An iterator a query or
   * so, so that a row passes through as few of them as possible; each is used up before the next is asked for, and all
   * of them before the table changes.
   */
  def of(relation: Int): Iterator[Iterator[InternalRow]]

  /** Called once, at the end. */
  def report(metrics: Map[String, SQLMetric]): Unit
}

/**
 * One task's merge. Tables are kept in memory as long as Spark grants it. Once it refuses, every table not yet written
 * out goes to disk in parts by the hash of its keys, and so does all that is still received; the parts are then merged
 * one after the other, each again as far as memory goes.
 */
private final class Merge(spec: SharedSpec, kernel: HftaKernel, output: MergeOutput, metrics: Map[String, SQLMetric])
    extends Logging {
  import Merge.Rows

  private val strides = spec.layouts.map(_.stride).toArray
  private var spilled: Option[SpillFile] = None

  /** Groups of each relation so far, each once. */
  val groups: Array[Long] = new Array[Long](spec.relations.size)

  /** Relations heard of, be it by blocks without a record. */
  private val heard = scala.collection.mutable.BitSet.empty

  def receive(input: Iterator[InternalRow]): Unit = input.foreach {
    case u: UnsafeRow if u.getBaseObject.isInstanceOf[Array[Byte]] =>
      val at = u.getBaseOffset - Platform.BYTE_ARRAY_OFFSET + (u.getLong(1) >> 32)
      receive(u.getBaseObject.asInstanceOf[Array[Byte]], at.toInt)
    case other => receive(other.getBinary(1), 0)
  }

  private def receive(data: Array[Byte], at: Int): Unit = {
    val relation = BlockFormat.relation(data, at)
    // Of two merges behind one exchange each leaves to the other what it has no use for.
    if (spec.isReceived(relation)) {
      heard += relation
      kernel.received += BlockFormat.records(data, at)
      spilled = add(relation, data, at, spilled, level = 0)
    }
  }

  /**
   * Adds a block to the table of its relation, or to the spill file if there is one. Answers the spill file, which is a
   * new one when memory was refused on the way.
   */
  private def add(relation: Int, data: Array[Byte], at: Int, to: Option[SpillFile], level: Int): Option[SpillFile] =
    to match {
      case None =>
        try {
          // A refusal while ids are read in leaves nothing merged.
          kernel.merged = 0
          val records = kernel.readBlock(data, at)
          try {
            kernel.mergeBuffer(relation, records)
            None
          } catch {
            case refused: MemoryRefused =>
              val file = spillTables(level, refused)
              spillBuffer(relation, kernel.merged, records, file)
              Some(reset(file))
          }
        } catch {
          case refused: MemoryRefused =>
            val file = reset(spillTables(level, refused))
            add(relation, data, at, Some(file), level)
        }
      case Some(file) =>
        if (kernel.bytesBeside() > Merge.DictionaryBytes) reset(file)
        spillBuffer(relation, 0, kernel.readBlock(data, at), file)
        to
    }

  private def spillBuffer(relation: Int, from: Int, until: Int, file: SpillFile): Unit =
    (from until until).foreach(i => file.add(relation, kernel.buffer(), i * strides(relation)))

  /** Moves all tables to a new spill file. */
  private def spillTables(level: Int, refused: MemoryRefused): SpillFile = {
    if (level >= SpillFile.Levels) {
      throw new SparkOutOfMemoryError(
        "UNABLE_TO_ACQUIRE_MEMORY",
        java.util.Map.of("requestedBytes", refused.bytes.toString, "receivedBytes", "0")
      )
    }
    logInfo(s"spark-phantoms merges on disk from here: ${refused.getMessage}")
    kernel.forgetExpectations()
    val file = new SpillFile(kernel, strides, level)
    spec.relations.indices.filter(kernel.tables(_) != null).foreach(spillTable(_, file))
    file
  }

  private def spillTable(relation: Int, file: SpillFile): Unit = {
    val table = kernel.table(relation)
    (0 until table.size).foreach(i => file.add(relation, table.records, i * strides(relation)))
    kernel.free(relation)
  }

  /** Writes blocks still being built, after which no id of a value or an object is in use. */
  private def reset(file: SpillFile): SpillFile = {
    file.flush()
    kernel.forget()
    file
  }

  private def derivedChildren(relation: Int): Seq[Int] =
    spec.children(relation).filter(spec.relations(_).derived)

  /**
   * Output of all relations, one relation after the other, each followed by those derived from it; see
   * [[MergeOutput.of]].
   */
  def rows: Iterator[Rows] = heard.toSeq.iterator.flatMap { r =>
    spilled match {
      case None => inMemory(r)
      case Some(file) =>
        reset(file)
        onDisk(r, file, level = 0)
    }
  } ++ Merge.after(spilled.foreach(metrics("spilledBytes") += _.bytes))

  /** Own rows first; then one derived relation after the other, each done with before the next one's table is made. */
  private def inMemory(relation: Int): Iterator[Rows] =
    written(relation) ++ below(relation, derivedChildren(relation))

  private def below(relation: Int, children: Seq[Int]): Iterator[Rows] = children.headOption match {
    case None => Merge.after(kernel.free(relation))
    case Some(child) =>
      // Everything may have gone to disk while an earlier child was at work.
      if (spilled.isEmpty && derived(relation, child)) inMemory(child) ++ below(relation, children.tail)
      else onDisk(relation, spilled.get, level = 0, own = false, children)
  }

  /** Derives a relation, or, where memory is refused, moves all tables to disk and answers false. */
  private def derived(relation: Int, child: Int): Boolean =
    try {
      kernel.derive(relation, child)
      true
    } catch {
      case refused: MemoryRefused =>
        // What was derived so far is derived again from disk.
        kernel.free(child)
        spilled = Some(reset(spillTables(0, refused)))
        false
    }

  private def written(relation: Int): Iterator[Rows] = {
    val size = kernel.table(relation).size
    metrics("groups") += size
    groups(relation) += size
    output.of(relation)
  }

  /**
   * Merges a relation part by part; its children's entries are collected on disk meanwhile and merged afterwards.
   *
   * @param own whether its own rows are still to be written
   */
  private def onDisk(
      relation: Int,
      file: SpillFile,
      level: Int,
      own: Boolean,
      children: Seq[Int]
  ): Iterator[Rows] = {
    val below = if (children.isEmpty) None else Some(new SpillFile(kernel, strides, 0))
    val rows =
      if (file.relations.contains(relation)) parts(relation, file, level, own, children, below)
      else if (own) written(relation) ++ Merge.after(kernel.free(relation))
      else Iterator.empty
    rows ++ below.iterator.flatMap { b =>
      metrics("spilledBytes") += b.bytes
      children.iterator.flatMap(c => onDisk(c, b, level = 0)) ++ Merge.after(b.close())
    }
  }

  private def onDisk(relation: Int, file: SpillFile, level: Int): Iterator[Rows] =
    onDisk(relation, file, level, own = true, derivedChildren(relation))

  private def parts(
      relation: Int,
      file: SpillFile,
      level: Int,
      own: Boolean,
      children: Seq[Int],
      below: Option[SpillFile]
  ): Iterator[Rows] = (0 until SpillFile.Fanout).iterator.filter(file.holds(relation, _)).flatMap { part =>
    kernel.free(relation)
    kernel.forget()
    val deeper = file.blocks(relation, part).foldLeft(Option.empty[SpillFile]) { (to, data) =>
      add(relation, data, 0, to, level + 1)
    }
    deeper match {
      case Some(d) =>
        metrics("spilledBytes") += d.bytes
        parts(relation, reset(d), level + 1, own, children, below) ++ Merge.after(d.close())
      case None =>
        val table = kernel.table(relation)
        for (b <- below; c <- children) {
          (0 until table.size).foreach { i =>
            val projected = kernel.project(c, table.records, i * strides(relation))
            b.add(c, projected, 0)
            kernel.release(c, projected, 0)
          }
        }
        // The next part starts with an empty dictionary.
        below.foreach(_.flush())
        (if (own) written(relation) else Iterator.empty) ++ Merge.after(kernel.free(relation))
    }
  }
}

private object Merge {
  type Rows = Iterator[InternalRow]

  /** Bytes of variable-length values and objects after which blocks on their way to disk are closed. */
  val DictionaryBytes: Long = 4L << 20

  /** Runs something when it is reached, and is empty. */
  private def after(action: => Unit): Iterator[Nothing] = new Iterator[Nothing] {
    private var done = false
    override def hasNext: Boolean = {
      if (!done) {
        done = true
        action
      }
      false
    }
    override def next(): Nothing = throw new NoSuchElementException("no row here")
  }
}
