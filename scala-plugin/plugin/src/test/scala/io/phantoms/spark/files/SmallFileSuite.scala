package io.phantoms.spark.files

import java.io.RandomAccessFile
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit.SECONDS

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._

import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.conf.{MachineConf, PhantomsConf, PhantomsSettings}
import io.phantoms.spark.model.Machine
import io.phantoms.spark.stats.supplied.StatisticsException

import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

/** Files named in confs and calls may be any: none hangs, fails a plan, or shows up in a log. */
final class SmallFileSuite extends AnyFunSuite {
  private val folder = Files.createTempDirectory("phantoms-files")
  private val Secret = "hunter2"

  private def written(name: String, text: String): Path = Files.write(folder.resolve(name), text.getBytes(UTF_8))

  private def soon[T](body: => T): T = Await.result(Future(body), 20.seconds)

  private def pipe: Path = {
    val made = folder.resolve("pipe")
    if (!Files.exists(made)) {
      val process = new ProcessBuilder("mkfifo", made.toString).start()
      assume(process.waitFor(10, SECONDS) && process.exitValue == 0)
    }
    made
  }

  private def huge: Path = {
    val made = folder.resolve("huge.json")
    val file = new RandomAccessFile(made.toFile, "rw")
    // Sparse, and more than an array can hold.
    try file.setLength(3L << 30)
    finally file.close()
    made
  }

  private def planned(value: String): (PhantomsSettings, Seq[String]) = {
    val conf = new SQLConf
    conf.setConfString(MachineConf.Key, value)
    val warnings = Seq.newBuilder[String]
    val settings = PhantomsConf.read(conf, w => { val _ = warnings += w })
    (settings, warnings.result())
  }

  private def refused(file: Path): String = {
    val (settings, warnings) = soon(planned(file.toString))
    assert(settings.machine == Machine() && warnings.size == 1 && warnings.head.contains(file.toString))
    warnings.head
  }

  test("a pipe, a folder, a device, a huge file: said, not read") {
    assert(refused(pipe).contains("regular"))
    assert(refused(folder).contains("regular"))
    assert(refused(Path.of("/dev/zero")).contains("regular"))
    assert(refused(huge).contains("more than"))
    assert(refused(folder.resolve("none")).contains("does not exist"))
    assert(SmallFile.read("\u0000", 10).isLeft)
    assert(SmallFile.read(written("ten", "0123456789"), 10) == Right("0123456789"))
    assert(SmallFile.read(folder.resolve("ten"), 9).isLeft)
    Seq(pipe, folder, huge).foreach { file =>
      val e = intercept[StatisticsException](soon(StatsApi.statsLoadJson(null, file.toString)))
      assert(e.errorClass == "PHANTOMS_STATISTICS_UNREADABLE" && e.getMessage.contains(file.toString))
    }
  }

  test("a file's content is never quoted") {
    val texts = Seq(
      Secret,
      s"password=$Secret",
      s"$Secret=1",
      s"c1=$Secret",
      s"""{"$Secret": 1}""",
      s"""{"constants": {"$Secret": "x"}}""",
      s"""{"c1": $Secret}""",
      s"""{"c1": "$Secret"}""",
      s"""{"$Secret": 1, "$Secret": 2}"""
    )
    texts.zipWithIndex.foreach { case (text, i) =>
      val file = written(s"secret$i", text)
      assert(!refused(file).contains(Secret), text)
      val e = intercept[StatisticsException](StatsApi.statsLoadJson(null, file.toString))
      assert(!e.getMessage.contains(Secret), text)
    }
    assert(refused(written("number", """{"constants": {"c1": -31337}}""")).contains("c1 is out of range"))
    assert(!refused(folder.resolve("number")).contains("31337"))
  }

  test("nothing is given twice") {
    Seq("c1=1,c2=3,c1=2", """{"c1": 1, "c1": 2}""").foreach { value =>
      assert(intercept[IllegalArgumentException](planned(value)).getMessage.contains("twice"), value)
    }
    assert(refused(written("twice", """{"constants": {"c1": 1, "c1": 1}}""")).contains("twice"))
    assert(StrictJson.parse("""{"a": {"x": 1}, "b": {"x": 1.5}}""").isRight)
    assert(StrictJson.parse("[" * 500000).isLeft)
  }

  test("the path of statistics: home, and no blanks") {
    def path(value: String): String = {
      val conf = new SQLConf
      conf.setConfString("spark.phantoms.stats.path", value)
      conf.getConf(PhantomsConf.StatsPath)
    }
    val home = System.getProperty("user.home")
    assert(path("~/some where") == s"$home/some where" && path("~") == home)
    assert(path("") == "" && path("/a/~b") == "/a/~b" && path("file:/tmp/x") == "file:/tmp/x")
    Seq(" ", "\t", " /tmp/x", "/tmp/x ", "~other/x").foreach { bad =>
      val e = intercept[Exception](path(bad))
      assert(e.getMessage.contains("spark.phantoms.stats.path"), bad)
    }
  }
}
