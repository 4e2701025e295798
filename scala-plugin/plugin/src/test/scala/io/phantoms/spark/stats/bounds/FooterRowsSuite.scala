package io.phantoms.spark.stats.bounds

import io.phantoms.spark.integration.PluginSession

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

/** Row counts of footers: right, read once, and read again when a file is another one. */
final class FooterRowsSuite extends AnyFunSuite with PluginSession {

  private def file(format: String, name: String, rows: Long): FileStatus = {
    val path = s"$folder/$name"
    spark.range(0, rows, 1, 1).write.mode("overwrite").format(format).save(path)
    val fs = new Path(path).getFileSystem(conf())
    fs.listStatus(new Path(path)).filter(_.getPath.getName.startsWith("part-")).head
  }

  private def conf(): Configuration = spark.sessionState.newHadoopConf()
  private def refuse(): Configuration = fail("the footer is read again")

  for (format <- Seq("parquet", "orc")) test(s"rows of $format files") {
    def rows(file: FileStatus, conf: () => Configuration): Long =
      (if (format == "parquet") memory.footers.parquet(file, conf) else memory.footers.orc(file, conf)).rows
    val one = file(format, s"footer_$format", 1234)
    assert(rows(one, () => conf()) == 1234)
    assert(rows(one, () => refuse()) == 1234)
    val touched = new FileStatus(one.getLen, false, 1, 1L, one.getModificationTime + 1, one.getPath)
    assert(rows(touched, () => conf()) == 1234)
    assert(rows(file(format, s"footer_$format", 77), () => conf()) == 77)
  }
}
