package io.phantoms.spark.lab.fragments

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class SignatureSlotsSuite extends AnyFunSuite {

  test("slots: a bit that was left stands for nobody else before the next rows") {
    for (seed <- 1 to 200) {
      val rng = new Random(seed)
      var slots = SignatureSlots.empty
      var meaning = Map.empty[Int, Int] // bit to the query it has stood for in the rows under way
      var next = 0
      for (_ <- 1 to 60) rng.nextInt(4) match {
        case 0 | 1 =>
          slots = slots.join(next)
          val bit = slots.bitOf(next).get
          assert(!meaning.contains(bit), "one bit for two queries")
          assert((0 until bit).forall(meaning.contains), "not the lowest bit")
          meaning += bit -> next
          next += 1
        case 2 if slots.bits.nonEmpty =>
          slots = slots.leave(slots.bits.values.toVector(rng.nextInt(slots.bits.size)))
        case _ =>
          slots = slots.nextRows
          meaning = slots.bits.toMap
      }
      assert(meaning.keys.forall(_ < slots.width))
      assert(slots.width === meaning.keys.maxOption.fold(0)(_ + 1))
    }
    val one = SignatureSlots.empty.join(5)
    assertThrows[IllegalArgumentException](one.join(5))
    assertThrows[IllegalArgumentException](one.leave(6))
  }
}
