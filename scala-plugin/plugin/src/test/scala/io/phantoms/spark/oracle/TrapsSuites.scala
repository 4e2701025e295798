package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Everything that suites of traps have in common. */
trait TrapTables extends DifferentialSuite { this: org.scalatest.Suite =>
  override protected def createTables(): Unit = OracleTables.create(spark)
}

/** Traps as a session meets them, adaptive or not, by each algorithm. */
trait TrapVariants extends TrapTables { this: org.scalatest.Suite =>
  override protected def variants: Seq[Variant] = Seq(
    Variant("auto, adaptive", Nil),
    Variant("gc, not adaptive", Seq("spark.phantoms.chooser" -> "gc", "spark.sql.adaptive.enabled" -> "false"))
  )
}

class GroupingSetTrapsSuite extends AnyFunSuite with TrapVariants with GroupingSetTraps
class UnionTrapsSuite extends AnyFunSuite with TrapVariants with UnionTraps with DamagedInputTraps
class AggregateTrapsSuite extends AnyFunSuite with TrapVariants with AggregateTraps

class RandomGroupingSetTrapsSuite
    extends AnyFunSuite with RandomConfigurationSuite with TrapTables with GroupingSetTraps
class RandomUnionTrapsSuite extends AnyFunSuite with RandomConfigurationSuite with TrapTables with UnionTraps
class RandomAggregateTrapsSuite extends AnyFunSuite with RandomConfigurationSuite with TrapTables with AggregateTraps

/** Traps with the smallest tables that the conf allows. */
class TinyMemoryTrapsSuite extends AnyFunSuite with TrapTables with AggregateTraps {
  override protected def sessionConf: Map[String, String] = super.sessionConf + ("spark.phantoms.lfta.memory" -> "64k")
}

/** Traps where tasks get hardly any execution memory, so that tables may be refused. */
class TinyPoolTrapsSuite extends AnyFunSuite with TrapTables with AggregateTraps {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    // 12 MB for the tasks of both cores.
    "spark.testing.memory" -> (24L << 20).toString,
    "spark.testing.reservedMemory" -> "0",
    "spark.memory.fraction" -> "0.5",
    "spark.memory.storageFraction" -> "0.1",
    "spark.buffer.pageSize" -> "256k"
  )
}
