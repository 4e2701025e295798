package io.phantoms.spark.run

import io.phantoms.spark.functions.GroupObjects
import io.phantoms.spark.memory.MemoryReserve
import io.phantoms.spark.run.kernel.{HftaKernel, LftaKernel}
import io.phantoms.spark.spec.SharedSpec

/** Gives kernels a place for the states of functions that are objects, where a configuration has any. */
private[run] object StateObjects {

  def hold(spec: SharedSpec, kernel: LftaKernel, memory: MemoryReserve): Unit =
    if (spec.hasObjects) kernel.hold(made(spec, memory))

  def hold(spec: SharedSpec, kernel: HftaKernel, memory: MemoryReserve): Unit = if (spec.hasObjects) {
    val places = spec.layouts.map(_.objectPlaces)
    kernel.hold(made(spec, memory), places.map(_.map(_._2).toArray).toArray, places.map(_.map(_._1).toArray).toArray)
  }

  private def made(spec: SharedSpec, memory: MemoryReserve): GroupObjects =
    new GroupObjects(spec.programs.map(_.orNull).toArray, memory)
}
