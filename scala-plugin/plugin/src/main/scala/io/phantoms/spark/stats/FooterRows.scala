package io.phantoms.spark.stats

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc.OrcFile
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile

import io.phantoms.spark.keep.Kept

/**
 * Rows of files by their footers. Reading one takes milliseconds, and more from an object store: counts are remembered
 * per state of a file, so that only the first query over it pays for that.
 */
private[stats] object FooterRows {

  /** A file in one state. */
  private final case class State(path: String, length: Long, modified: Long)

  private val known =
    new Kept[State, java.lang.Long](PlanningMemory.FileBytes, (s, _) => 56 + PlanningMemory.weigh(s.path))

  def clear(): Unit = known.clear()

  def parquet(file: FileStatus, conf: () => Configuration): Long = remembered(file) {
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf()))
    try reader.getRecordCount
    finally reader.close()
  }

  def orc(file: FileStatus, conf: () => Configuration): Long = remembered(file) {
    val reader = OrcFile.createReader(file.getPath, OrcFile.readerOptions(conf()))
    try reader.getNumberOfRows
    finally reader.close()
  }

  private def remembered(file: FileStatus)(read: => Long): Long = {
    val state = State(file.getPath.toString, file.getLen, file.getModificationTime)
    known.get(state).map(_.longValue).getOrElse {
      val rows = read
      known.put(state, rows)
      rows
    }
  }
}
