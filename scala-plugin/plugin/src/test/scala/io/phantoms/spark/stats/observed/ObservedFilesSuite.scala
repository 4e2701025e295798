package io.phantoms.spark.stats.observed

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions

import io.phantoms.spark.Warnings
import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.estimate.Observation
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.stats.input.{Estimate, StatisticSource}
import io.phantoms.spark.stats.supplied.StatisticsException
import io.phantoms.spark.stats.{EstimatedStatistics, ObservedSession, PlannedStatistics}

import org.scalatest.funsuite.AnyFunSuite

/** What is observed outlives the application, and bad files lose nothing. */
final class ObservedFilesSuite extends AnyFunSuite with ObservedSession {
  private var directory: Path = _

  override def beforeEach(): Unit = {
    super.beforeEach()
    directory = Files.createTempDirectory("phantoms-observed").resolve("made/on/demand")
    spark.conf.set("spark.phantoms.stats.path", directory.toString)
  }

  override def afterEach(): Unit = {
    spark.conf.unset("spark.phantoms.stats.path")
    super.afterEach()
  }

  private def table(name: String): String = s"$folder/$name"

  private def write(name: String, rows: Long, mode: String = "overwrite"): Unit = {
    PluginSession.flows(spark, rows, 2).write.mode(mode).parquet(table(name))
    spark.read.parquet(table(name)).createOrReplaceTempView(name)
  }

  private def run(name: String): Unit = {
    spark.sql(PluginSession.sets(name)).collect()
    memory.observations.flush()
  }

  private def planned(name: String): EstimatedStatistics = PlannedStatistics.of(spark.sql(PluginSession.sets(name)))

  /** As when the application ends: what it knew is gone, the files stay. */
  private def restart(): Unit = memory.observations.clear("")

  private def files: Seq[File] = Option(directory.toFile.listFiles()).toSeq.flatten.sortBy(_.getName)
  private def text(f: File): String = new String(Files.readAllBytes(f.toPath), UTF_8)
  private def put(f: File, content: String): Unit = { val _ = Files.write(f.toPath, content.getBytes(UTF_8)) }

  private def warnings(body: => Any): Seq[String] = {
    Warnings.during(body).filter(_.startsWith("spark-phantoms"))
  }

  test("a file per input is written, and read by the next application") {
    write("first", 20000)
    write("second", 5000)
    run("first")
    run("second")
    assert(files.size == 2 && files.forall(f => f.getName.startsWith("observed-") && f.getName.endsWith(".json")))
    val before = observed
    restart()
    assert(observed.isEmpty)
    val s = planned("first")
    assert(s.rowCount == Estimate(20000, StatisticSource.Observed))
    assert(PlannedStatistics.shared(spark.sql(PluginSession.sets("first"))).problem.groupings.forall(q =>
      q.isEmpty || s.groupsOf(q).source == StatisticSource.Observed
    ))
    assert(memory.observations.all(directory.toString) == before)
    // What is added by this application does not drop what the one before knew.
    restart()
    spark.sql(PluginSession.union("first")).collect()
    memory.observations.flush()
    restart()
    val names = planned("first")
    assert(names.rowCount.source == StatisticSource.Observed)
    assert(observed.flatMap(o => named(o).keys).toSet == Set(
      Set("k", "m"),
      Set("k", "s"),
      Set("k"),
      Set("s"),
      Set("m")
    ))
  }

  test("files are their owner's only, and so are the directories made for them") {
    write("private", 2000)
    run("private")
    def permissions(path: Path): String = PosixFilePermissions.toString(Files.getPosixFilePermissions(path))
    assert(files.size == 1 && permissions(files.head.toPath) == "rw-------")
    assert(Seq(directory, directory.getParent).map(permissions).toSet == Set("rwx------"))
    // One that is there is somebody's choice.
    directory = Files.createTempDirectory("phantoms-observed")
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"))
    spark.conf.set("spark.phantoms.stats.path", directory.toString)
    run("private")
    assert(permissions(directory) == "rwxr-xr-x" && permissions(files.head.toPath) == "rw-------")
    val saved = directory.resolve("saved.json")
    StatsApi.statsSaveJson(spark, saved.toString)
    assert(permissions(saved) == "rw-------")
  }

  test("another application's newer observations are seen") {
    write("shared", 20000)
    run("shared")
    val file = files.head
    val changed = ObservationJson.parse(text(file))
    val sets = changed.observation.groups.keys.head
    put(file, ObservationJson.render(changed.copy(observation = Observation(groups = Map(sets -> 123.0)))))
    planned("shared")
    assert(only.observation.groups(sets) == 123)
    assert(only.observation.rows.contains(20000.0))
  }

  test("changed files are another state: scaled when they are about as many rows, ignored when not") {
    write("growing", 20000)
    run("growing")
    write("growing", 10000, "append")
    val s = planned("growing")
    val queries =
      PlannedStatistics.shared(spark.sql(PluginSession.sets("growing"))).problem.groupings.filter(_.nonEmpty)
    // The footers know the rows of this state.
    assert(s.rowCount == Estimate(30000, StatisticSource.Catalog))
    assert(queries.forall(s.groupsOf(_).source == StatisticSource.Scaled))
    assert(s.notes.exists(_.contains("scaled by 1.50")), s.notes)
    run("growing")
    assert(planned("growing").rowCount == Estimate(30000, StatisticSource.Observed))
    assert(files.size == 1)
    restart()
    assert(planned("growing").rowCount == Estimate(30000, StatisticSource.Observed))
    write("growing", 100000)
    val grown = planned("growing")
    assert(queries.forall(grown.groupsOf(_).source == StatisticSource.Default))
    assert(grown.notes.exists(_.contains("changed too much")), grown.notes)
  }

  test("a state that filters an unknown part is scaled as a whole") {
    write("filtered", 20000)
    def query = spark.sql(PluginSession.sets("filtered", "k > 10"))
    query.collect()
    val seen = PlannedStatistics.of(query).rowCount
    assert(seen.source == StatisticSource.Observed && seen.value < 16000)
    write("filtered", 10000, "append")
    assert(PlannedStatistics.of(query).rowCount == Estimate(seen.value * 1.5, StatisticSource.Scaled))
  }

  test("damaged, foreign and newer files are WARNed about once and stay as they are") {
    write("bad", 20000)
    run("bad")
    val file = files.head
    val good = text(file)
    val bad = Seq(
      "" -> "not valid JSON",
      good.take(good.length / 2) -> "not valid JSON",
      "[1, 2]" -> "format",
      good.replace("\"version\" : 1", "\"version\" : 2") -> "format version 2",
      good.replace("\"groups\"", "\"gruppen\"") -> "groups",
      good.replaceFirst("\"rows\" : [0-9.]+", "\"rows\" : -5.0") -> "at least 0",
      good.replaceFirst("\"source\" : \"", "\"source\" : \"other ") -> "another input",
      good.replaceFirst("\"rows\" :", "\"rows\" : 1.0, \"rows\" :") -> "twice",
      " " * (ObservationFiles.MostBytes + 1) -> "more than"
    )
    bad.foreach { case (content, why) =>
      assert(content != good)
      // Its own directory: a file is WARNed about once in an application.
      restart()
      directory = Files.createTempDirectory("phantoms-observed")
      spark.conf.set("spark.phantoms.stats.path", directory.toString)
      val copy = new File(directory.toFile, file.getName)
      put(copy, content)
      val warned = warnings {
        assert(planned("bad").rowCount.source == StatisticSource.Catalog)
        run("bad")
        run("bad")
        // In memory all is well.
        assert(planned("bad").rowCount == Estimate(20000, StatisticSource.Observed))
      }
      assert(warned.count(_.contains(copy.toString)) == 1, warned)
      assert(warned.exists(_.contains(why)), s"$why in $warned")
      assert(text(copy) == content)
      StatsApi.statsClear(spark)
      assert(text(copy) == content)
    }
  }

  test("a directory that cannot be written is WARNed about once, and observations stay in memory") {
    write("unwritable", 20000)
    val blocked = Files.createTempFile("phantoms", "file").toString
    for (path <- Seq(s"$blocked/below", "hdfs://somewhere/else")) {
      StatsApi.statsClear(spark)
      spark.conf.set("spark.phantoms.stats.path", path)
      val warned = warnings {
        run("unwritable")
        StatsApi.statsObserved(spark)
        run("unwritable")
        assert(planned("unwritable").rowCount == Estimate(20000, StatisticSource.Observed))
      }
      assert(warned.size == 1 && warned.head.contains(path), warned)
    }
  }

  test("clear deletes the files there are of ours, and no others") {
    write("cleared", 20000)
    run("cleared")
    val other = new File(directory.toFile, "notes.json")
    val foreign = new File(directory.toFile, "observed-by-others.json")
    Seq(other, foreign).foreach(put(_, "{}"))
    StatsApi.statsClear(spark)
    assert(files.map(_.getName).toSet == Set(other.getName, foreign.getName))
    assert(observed.isEmpty && planned("cleared").rowCount.source == StatisticSource.Catalog)
    run("cleared")
    assert(files.size == 3)
  }

  test("saved and loaded with what was supplied; a bad part loses nothing") {
    write("saved", 20000)
    run("saved")
    StatsApi.statsSetRows(spark, "saved", 777)
    val path = s"$folder/all.json"
    StatsApi.statsSaveJson(spark, path)
    val before = observed
    StatsApi.statsClear(spark)
    StatsApi.statsLoadJson(spark, path)
    assert(observed == before && memory.supplied.get("saved").flatMap(_.rows).contains(777.0))
    // What the user says goes before what was seen.
    assert(planned("saved").rowCount == Estimate(777, StatisticSource.Supplied))
    StatsApi.statsClear(spark)
    put(new File(path), text(new File(path)).replace("\"snapshot\" : \"2 files", "\"snap\" : \"2 files"))
    val e = intercept[StatisticsException](StatsApi.statsLoadJson(spark, path))
    assert(e.errorClass == "PHANTOMS_STATISTICS_FORMAT" && e.getMessage.contains("snapshot"))
    assert(observed.isEmpty && memory.supplied.all.isEmpty)
  }

  test("many threads record and plan at once, and every file is whole") {
    write("busy", 3000)
    val shared = memory.observations
    run("busy")
    val one = only
    val threads = (1 to 8).map { t =>
      new Thread(() =>
        for (i <- 1 to 50) {
          val input =
            ObservedInput(
              one.key.copy(shape = s"${i % 5}"),
              s"state ${i % 3}",
              Vector("x"),
              Vector("x"),
              9,
              directory.toString
            )
          shared.merged(input, Map(scala.collection.immutable.BitSet(0) -> t.toDouble))
          val _ = shared.find(input)
        }
      )
    }
    threads.foreach(_.start())
    threads.foreach(_.join())
    shared.flush()
    assert(files.size == 6 && files.forall(f => ObservationJson.parse(text(f)).key.source == one.key.source))
  }
}
