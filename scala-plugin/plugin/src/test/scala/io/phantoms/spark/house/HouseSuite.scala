package io.phantoms.spark.house

import org.scalatest.funsuite.AnyFunSuite

/** Imports point down, in the sources as they are; and that a room which breaks the rule is found out. */
class HouseSuite extends AnyFunSuite {

  private lazy val sources = Seq("core", "plugin", "lab", "bench").flatMap(Source.of)

  test("imports of all main sources point down") {
    val complaints = House.complaints(sources)
    assert(complaints.isEmpty, complaints.mkString("\n", "\n", ""))
  }

  test("every file lies in the folder of its room, and every room has files") {
    val astray = sources.filterNot { s =>
      s.path.replace('\\', '/').contains(s.packages.last.replace('.', '/') + "/" + s.path.split("[/\\\\]").last)
    }
    assert(astray.isEmpty, astray.map(_.path).mkString("\n", "\n", ""))
    assert(House.rooms -- sources.map(_.room) === Set.empty)
  }

  test("the arrows that everybody knows are seen") {
    val arrows = Arrows.of(sources, House.rooms).map(a => a.from -> a.to).toSet
    val some = Seq("" -> "rewrite", "api" -> "explain", "rewrite" -> "decide", "decide" -> "stats", "physical" -> "run")
    val others = Seq("search" -> "search.trees", "search.placement" -> "cost", "table" -> "memory", "run" -> "block")
    (some ++ others).foreach(a => assert(arrows(a), a))
  }

  private def source(room: String, body: String, module: String = "plugin"): Source =
    Source(module, s"$room/Made.scala", s"package io.phantoms.spark${if (room.isEmpty) "" else "." + room}\n$body\n")

  private def found(sources: Source*): Seq[String] = House.complaints(sources)

  test("a planted circle") {
    val down = source("detect", "import io.phantoms.spark.stats.GroupedInput\nclass A")
    assert(found(down).isEmpty)
    val up = source("stats", "import io.phantoms.spark.detect.Workload\nclass B")
    assert(found(down, up).exists(_ == "a circle: detect, stats"))
    assert(found(down, up).exists(_.contains("stats may not know detect (detect.Workload)")))
    // By way of a third room.
    val (a, b) =
      (source("conf", "import io.phantoms.spark.files.X"), source("files", "import io.phantoms.spark.stats.Y"))
    val c = source("stats", "import io.phantoms.spark.conf.Z")
    assert(found(a, b, c).exists(_ == "a circle: conf, files, stats"))
  }

  test("an arrow up, in every way it can be written") {
    Seq(
      "import io.phantoms.spark.detect.Workload",
      "import io.phantoms.spark.`detect`.Workload",
      "import io.phantoms.spark.detect.{Workload => W}",
      "import io.phantoms.spark.detect._",
      "import io.phantoms.spark.{conf, detect}",
      "import io.phantoms.spark.{conf => c, detect => d}",
      "import io.phantoms.spark.conf.{\n  A,\n  B\n}\nimport _root_.io.phantoms.spark.detect.Workload",
      "import scala.util.Try, io.phantoms.spark.detect.Workload",
      "object A { def f(w: io.phantoms.spark.detect.Workload): Unit = () }",
      "object A { val f = Class.forName(\"io.phantoms.spark.detect.Workload\") }",
      "import io.phantoms.spark._\nobject A { def f(w: detect.Workload): Unit = () }",
      "import io.phantoms.spark._\nimport detect.Workload",
      "object A {\n  val url = \"http://a/*\"\n  import io.phantoms.spark.detect.Workload\n}"
    ).foreach { body =>
      val complaints = found(source("stats", body))
      assert(complaints.exists(_.contains("stats may not know detect")), body)
    }
    val clauses =
      Source("plugin", "A.scala", "package io.phantoms.spark\npackage stats\nclass A extends detect.Workload")
    assert(found(clauses).exists(_.contains("stats may not know detect")))
    val java = Source(
      "plugin",
      "A.java",
      "package io.phantoms.spark.stats;\nimport static io.phantoms.spark.detect.Workload.of;\nclass A {}"
    )
    assert(found(java).exists(_.contains("stats may not know detect")))
    // Of a room that has rooms of its own, by the inner name alone.
    val inner = source("search.graph", "import io.phantoms.spark.search._\nclass A extends trees.Tree", "core")
    assert(found(inner).exists(_.contains("search.graph may not know search.trees")))
  }

  test("neighbours of one floor, and towers that a tower does not stand on") {
    assert(found(source("explain", "import io.phantoms.spark.calibrate.A")).nonEmpty)
    assert(found(source("model", "import io.phantoms.spark.block.A", "core")).nonEmpty)
    assert(found(source("block", "import io.phantoms.spark.model.A", "core")).nonEmpty)
  }

  test("comments are no arrows") {
    val body = "// io.phantoms.spark.detect.Workload\n/** See [[io.phantoms.spark.detect.Workload]]. */\nclass A"
    assert(found(source("stats", body)).isEmpty)
  }

  test("nothing but the laboratory knows the laboratory, and core knows no Spark") {
    assert(found(source("", "import io.phantoms.spark.lab.smap.Epochs")).nonEmpty)
    assert(found(source("search", "import io.phantoms.spark.lab.smap.Epochs", "core")).nonEmpty)
    assert(found(source("bench", "import io.phantoms.spark.lab.smap.Epochs", "bench")).nonEmpty)
    assert(found(source("lab.trees", "import io.phantoms.spark.search.trees.Filter", "lab")).isEmpty)
    assert(found(source("model", "import org.apache.spark.SparkConf", "core")).nonEmpty)
    assert(found(source("model", "class A", "core")).isEmpty)
  }

  test("a room that nobody knows, and one in the wrong module") {
    assert(found(source("attic", "class A")).exists(_.contains("no room attic")))
    assert(found(source("model", "class A")).exists(_.contains("is in core, not in plugin")))
  }
}
