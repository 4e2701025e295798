package io.phantoms.spark.stats.bounds

import io.phantoms.spark.conf.OfApplication
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc.OrcFile
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile

import io.phantoms.spark.conf.PlanningMemory
import io.phantoms.spark.keep.Kept

/**
 * Footers of files: rows, and what the columns lie between. Reading one takes milliseconds, and more from an object
 * store: what they say is remembered per state of a file, so that only the first query over it pays for that.
 */
private[spark] final class FooterRows {
  import FooterRows.State

  private val known =
    new Kept[State, FileFooter](PlanningMemory.FileBytes, (s, f) => 56 + PlanningMemory.weigh(s.path) + f.weight)

  def clear(): Unit = known.clear()

  def parquet(file: FileStatus, conf: () => Configuration): FileFooter = remembered(file) {
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf()))
    try FileFooter.parquet(reader.getFooter)
    finally reader.close()
  }

  def orc(file: FileStatus, conf: () => Configuration): FileFooter = remembered(file) {
    val reader = OrcFile.createReader(file.getPath, OrcFile.readerOptions(conf()))
    try FileFooter.orc(reader)
    finally reader.close()
  }

  private def remembered(file: FileStatus)(read: => FileFooter): FileFooter = {
    val state = State(file.getPath.toString, file.getLen, file.getModificationTime)
    known.get(state).getOrElse {
      val footer = read
      known.put(state, footer)
      footer
    }
  }
}

private[spark] object FooterRows {

  /** A file in one state. */
  private final case class State(path: String, length: Long, modified: Long)

  /** The application's. */
  val of = new OfApplication(() => new FooterRows)
}
