package io.phantoms.spark.source

import io.phantoms.spark.source.stream.{EntryLog, FilesStream}

import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * What a user has asked for.
 *
 * @param paths files, directories and globs
 * @param options Spark's and ours
 */
private[source] final case class LftaRequest(paths: Seq[String], options: CaseInsensitiveStringMap) {

  /** The files as they come, whose log is below `checkpoint`. */
  def stream(scan: LftaScan, checkpoint: String): MicroBatchStream = {
    val files = new ScannedStream(scan, paths, options)
    if (scan.options.records.isEmpty && files.list().forall(_.length == 0))
      LftaOptions.refuse(
        "records",
        s"nothing tells what the records of ${files.description} are while no files are there. Set it to packets or flows."
      )
    val session = scan.sparkSession
    val read = StreamOptions.ofFiles(options, session.sessionState.conf.minBatchesToRetain)
    val log = new EntryLog(checkpoint, session.sessionState.newHadoopConf(), scan.records.name)
    new FilesStream(files, log, read)
  }
}
