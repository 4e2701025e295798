package io.phantoms.spark.model

import scala.collection.immutable.BitSet

import io.phantoms.spark.search.Chooser

import org.scalatest.funsuite.AnyFunSuite

class NotationSuite extends AnyFunSuite {
  private val abcd = new Notation(Workloads.attributes("A", "B", "C", "D"))

  test("the paper's configurations read and written") {
    for (
      text <- Seq(
        "ABCD(AB BCD(BC BD CD))",
        "ABC(AB BC) BD CD",
        "ABCD(AB(A B) CD(C D))",
        "A",
        "()",
        "",
        "AB(A(()) B) () CD"
      )
    ) assert(abcd.render(abcd.parse(text)) === (if (text.contains(" () ")) "() AB(A(()) B) CD" else text))
  }

  test("parse gives groupings and parents") {
    assert(abcd.parse("ABCD(AB BCD(BC)) ()") === Vector(
      (BitSet(0, 1, 2, 3), -1),
      (BitSet(0, 1), 0),
      (BitSet(1, 2, 3), 0),
      (BitSet(1, 2), 2),
      (BitSet.empty, -1)
    ))
    assert(abcd.parse("  BA ( A )".replace(" (", "(")) === Vector((BitSet(0, 1), -1), (BitSet(0), 0)))
  }

  test("what is not in the notation is refused with its place") {
    for (
      text <-
        Seq("AB(A", "AB)", "AB()", "E", "AA", "A(B)", "AB(AB)", "AB(A)B", "A1", "AB A,B", "A(())(())", "ABC(AB(C))")
    ) {
      val e = intercept[IllegalArgumentException](abcd.parse(text))
      assert(e.getMessage.contains("position"), text)
    }
  }

  test("longer names get letters by ordinal, and a legend") {
    val n = new Notation(Workloads.attributes((0 until 60).map(i => s"c$i"): _*))
    assert(n.letters(0) === "A" && n.letters(25) === "Z" && n.letters(26) === "A1" && n.letters(52) === "A2")
    assert(n.legend(27) === (("B1", "c27")))
    val text = "ABA1B2(AA1 BB2)"
    assert(n.render(n.parse(text)) === text)
    assert(n.parse("A1B2").head._1 === BitSet(26, 53))
    assert(abcd.legend.isEmpty)
  }

  test("single letters that repeat are not names of their own") {
    assert(new Notation(Workloads.attributes("x", "x")).letters === Seq("A", "B"))
    assert(new Notation(Workloads.attributes("y", "x")).letters === Seq("y", "x"))
    assert(new Notation(Workloads.attributes("1", "x")).letters === Seq("A", "B"))
  }

  test("configurations of random problems survive the round trip") {
    for (seed <- 1 to 60) {
      val problem = Workloads.random(seed, 1 + seed % 30, 1 + seed % 12)
      val notation = Notation(problem)
      val configuration = Chooser.choose(problem, minSavings = -1).configuration.get
      val text = notation.render(configuration)
      val parsed = notation.parse(text)
      assert(notation.render(parsed) === text)
      def edges(forest: Vector[(BitSet, Int)]): Seq[String] =
        forest.map { case (keys, p) => s"$keys<${if (p < 0) "" else forest(p)._1.toString}" }.sorted
      assert(edges(parsed) === edges(configuration.relations.map(r => (r.keys, r.parent))))
    }
  }

  test("describe tells role, place and table") {
    val configuration = Configuration(Vector(
      Relation(BitSet(0, 1, 2), Vector.empty, -1, 64, Placement.Feeds),
      Relation(BitSet(0, 1), Vector(0, 2), 0, 0, Placement.Shipped(BitSet(0), 4)),
      Relation(BitSet(0), Vector(1), 1, 0, Placement.Derived),
      Relation(BitSet(2), Vector(3), 0, 16, Placement.Shipped(BitSet.empty, 1))
    ))
    assert(abcd.describe(configuration) ===
      """ABC [A, B, C]: phantom, feeds only, 64 buckets
        |  AB [A, B]: query 0, 2, shipped by A to 4 shards, no table
        |    A [A]: query 1, derived after the shuffle
        |  C [C]: query 3, shipped to one shard, 16 buckets""".stripMargin)
  }
}
