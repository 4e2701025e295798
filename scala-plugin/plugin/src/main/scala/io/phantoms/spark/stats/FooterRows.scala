package io.phantoms.spark.stats

import java.util.{LinkedHashMap => JLinkedHashMap}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc.OrcFile
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile

/**
 * Footers of files: rows, and what the columns lie between. Reading one takes milliseconds, and more from an object
 * store: what they say is remembered per state of a file, so that only the first query over it pays for that.
 */
private[stats] object FooterRows {

  /** Ranges and row counts remembered, over all files. */
  private val Most = 65536

  /** A file in one state. */
  private final case class State(path: String, length: Long, modified: Long)

  private val known = new JLinkedHashMap[State, FileFooter](16, 0.75f, true)
  private var weight = 0L

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
    known.synchronized(Option(known.get(state))).getOrElse {
      val footer = read
      keep(state, footer)
      footer
    }
  }

  private def weightOf(footer: FileFooter): Long = 4L + footer.columns.size

  private def keep(state: State, footer: FileFooter): Unit = known.synchronized {
    Option(known.put(state, footer)).foreach(before => weight -= weightOf(before))
    weight += weightOf(footer)
    val oldest = known.entrySet.iterator
    while (weight > Most && oldest.hasNext) {
      weight -= weightOf(oldest.next().getValue)
      oldest.remove()
    }
  }
}
