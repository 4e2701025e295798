package io.phantoms.spark.tpcds

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

/** Golden texts of several Spark minors: one has all, the others what differs. */
class GoldenFilesSuite extends AnyFunSuite {
  private val all = Seq("q1" -> Seq("shared: A", "plan:", "  PhantomsMerge"), "q2" -> Seq("left alone: NO_BENEFIT"))
  private val other = all.updated(1, "q2" -> Seq("left alone: SINGLE_AGGREGATE"))

  private def written(blocks: Seq[(String, Seq[String])]*): (GoldenFiles, Path) = {
    val folder = Files.createTempDirectory("golden")
    val golden = new GoldenFiles(folder)
    blocks.foreach(golden.write("some", _, GoldenFiles.Primary))
    (golden, folder)
  }

  test("the primary minor has all blocks, and every other one starts from them") {
    val (golden, folder) = written(all)
    Seq(GoldenFiles.Primary, "9.9").foreach(minor => assert(golden.read("some", minor) == all.toMap))
    assert(Files.readString(folder.resolve("some.txt")).startsWith("== q1\nshared: A\n"))
    assert(golden.read("none", GoldenFiles.Primary).isEmpty)
  }

  test("another minor keeps what differs, and nothing else") {
    val (golden, folder) = written(all)
    golden.write("some", other, "9.9")
    assert(Files.readString(folder.resolve("9.9/some.txt")) == "== q2\nleft alone: SINGLE_AGGREGATE\n")
    assert(golden.read("some", "9.9") == other.toMap)
    Seq(GoldenFiles.Primary, "9.8").foreach(minor => assert(golden.read("some", minor) == all.toMap))
  }

  test("a block that only another minor has, and one that differs no more") {
    val (golden, folder) = written(all)
    golden.write("some", other :+ ("q3" -> Seq("left alone: DISABLED")), "9.9")
    assert(golden.read("some", "9.9").keySet == Set("q1", "q2", "q3"))
    golden.write("some", all, "9.9")
    assert(golden.read("some", "9.9") == all.toMap && Files.notExists(folder.resolve("9.9/some.txt")))
  }

  test("the project's own: those of the running minor are those of its file") {
    TpcdsQueries.editions.foreach { edition =>
      val common = GoldenFiles.ofProject.read(s"tpcds-$edition", GoldenFiles.Primary)
      assert(common.keySet == TpcdsQueries.all.filter(_.edition == edition).map(_.name).toSet)
    }
  }
}
