package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Traps are queries by name: shared, or left alone for a reason. */
trait Traps extends DifferentialSuite { this: AnyFunSuite =>
  protected def shares(name: String)(sql: String): Unit = test(name)(checkSharedSql(sql))
  protected def declines(name: String, code: String)(sql: String): Unit = test(name)(checkDeclinedSql(sql, code))

  /** The same rows, or the same error, whatever is shared. */
  protected def checkSame(sql: String): Unit = {
    val expected = plain(spark.sql(sql))
    variants.foreach { v =>
      val actual = withConf(v.confs: _*)(shared(spark.sql(sql)))
      same(expected, actual, ordered = false, s"${v.label}\n$sql\n${actual.plan}")
    }
  }
}

/** Everything that suites of traps have in common. */
trait TrapTables extends DifferentialSuite { this: org.scalatest.Suite =>
  override protected def createTables(): Unit = OracleTables.create(spark)
}

/** Traps as a session meets them, adaptive or not, by each algorithm. */
trait TrapVariants extends TestsTakeTurns with TrapTables {
  override protected def turns: IndexedSeq[Seq[Variant]] = IndexedSeq(
    Seq(Variant("auto, adaptive", Nil)),
    Seq(Variant("gc, not adaptive", Seq("spark.phantoms.chooser" -> "gc", "spark.sql.adaptive.enabled" -> "false")))
  )
}

/** Traps under random configurations: all of them in turn. */
trait RandomTraps extends AnyFunSuite with RandomConfigurationSuite with TestsTakeTurns with TrapTables {
  override protected def turns: IndexedSeq[Seq[Variant]] =
    seeds.map(s => Seq(RandomConfigurationSuite.variant(s))).toIndexedSeq
}

class DamagedInputTrapsSuite extends TrapVariants with DamagedInputTraps

/** Of four traps that follow one another one runs under the chooser's configuration and another under a random one. */
trait OneOfFour extends SharesTests {
  override protected def places: Int = 4
}

class GroupingSetTrapsSuite extends TrapVariants with OneOfFour with GroupingSetTraps {
  override protected def place: Int = 0
}

class RandomGroupingSetTrapsSuite extends RandomTraps with OneOfFour with GroupingSetTraps {
  override protected def place: Int = 2
}

class UnionTrapsSuite extends TrapVariants with OneOfFour with UnionTraps {
  override protected def place: Int = 0
}

class RandomUnionTrapsSuite extends RandomTraps with OneOfFour with UnionTraps {
  override protected def place: Int = 2
}

class WindowTrapsSuite extends TrapVariants with OneOfFour with WindowTraps {
  override protected def place: Int = 0
}

class RandomWindowTrapsSuite extends RandomTraps with OneOfFour with WindowTraps {
  override protected def place: Int = 2
}

class PredicateTrapsSuite extends TrapVariants with OneOfFour with PredicateTraps {
  override protected def place: Int = 0
}

class RandomPredicateTrapsSuite extends RandomTraps with OneOfFour with PredicateTraps {
  override protected def place: Int = 2
}

class ShardTrapsSuite extends TrapVariants with OneOfEight with ShardTraps {
  override protected def place: Int = 0
}

class RandomShardTrapsSuite extends RandomTraps with OneOfEight with ShardTraps {
  override protected def place: Int = 4
}

class MaskTrapsSuite extends TrapVariants with OneOfFour with MaskTraps {
  override protected def place: Int = 0
}

class RandomMaskTrapsSuite extends RandomTraps with OneOfFour with MaskTraps {
  override protected def place: Int = 2
}

class ScatteredTrapsSuite extends TrapVariants with OneOfFour with ScatteredTraps {
  override protected def place: Int = 0
}

class RandomScatteredTrapsSuite extends RandomTraps with OneOfFour with ScatteredTraps {
  override protected def place: Int = 2
}

class DistinctCountTrapsSuite extends TrapVariants with SharesTests with DistinctCountTraps {
  override protected def place: Int = 0
  override protected def places: Int = 2
}

class RandomDistinctCountTrapsSuite extends RandomTraps with OneOfFour with DistinctCountTraps {
  override protected def asChosen: Boolean = false
  override protected def place: Int = 1
}

class InterpretedDistinctCountTrapsSuite
    extends OneOfFour with RandomConfigurationSuite with TrapTables with InterpretedVariants with DistinctCountTraps {
  override protected def asChosen: Boolean = false
  override protected def place: Int = 3
  override protected def seeds: Seq[Long] = Seq(3L)
}

/** Of eight traps one runs under the chooser's configuration, and another under a random one. */
trait OneOfEight extends SharesTests {
  override protected def places: Int = 8
}

class ObjectTrapsSuite extends TrapVariants with OneOfEight with ObjectTraps {
  override protected def place: Int = 1
}

/** Of sixteen traps of objects one runs in each of these, and two as a session meets them. */
trait OtherObjectTraps extends SharesTests with ObjectTraps with TrapTables {
  override protected def asChosen: Boolean = false
  override protected def places: Int = 16
}

class RandomObjectTrapsSuite extends RandomTraps with OtherObjectTraps with ObjectTraps {
  override protected def place: Int = 4
}

class InterpretedObjectTrapsSuite
    extends OtherObjectTraps with RandomConfigurationSuite with InterpretedVariants with ObjectTraps {
  override protected def place: Int = 12
  override protected def seeds: Seq[Long] = Seq(7L)
}

class DistinctTrapsSuite extends TrapVariants with OneOfEight with DistinctTraps {
  override protected def place: Int = 0
}

class RandomDistinctTrapsSuite extends RandomTraps with OneOfEight with DistinctTraps {
  override protected def place: Int = 4
}

class InnerAggregateTrapsSuite extends TrapVariants with OneOfFour with InnerAggregateTraps {
  override protected def place: Int = 0
}

class RandomInnerAggregateTrapsSuite extends RandomTraps with OneOfFour with InnerAggregateTraps {
  override protected def place: Int = 2
}

class SubqueryTrapsSuite extends TrapVariants with OneOfFour with SubqueryTraps {
  override protected def place: Int = 0
}

class RandomSubqueryTrapsSuite extends RandomTraps with OneOfFour with SubqueryTraps {
  override protected def place: Int = 2
}

/** Of eight traps of aggregates one runs in each of these, and two as a session meets them. */
trait OtherAggregateTraps extends SharesTests with AggregateTraps with TrapTables {
  override protected def side: Int = 1
  override protected def places: Int = 8
}

class AggregateTrapsSuite extends TrapVariants with SharesTests with AggregateTraps {
  override protected def place: Int = 0
  override protected def places: Int = 4
}

class RandomAggregateTrapsSuite extends RandomTraps with OtherAggregateTraps with AggregateTraps {
  override protected def place: Int = 1
}

class InterpretedAggregateTrapsSuite
    extends OtherAggregateTraps with RandomConfigurationSuite with InterpretedVariants with AggregateTraps {
  override protected def place: Int = 3
  override protected def seeds: Seq[Long] = Seq(3L)
}

/** Traps with the smallest tables that the conf allows. */
class TinyMemoryTrapsSuite extends OtherAggregateTraps with AggregateTraps {
  override protected def place: Int = 5
  override protected def sessionConf: Map[String, String] = super.sessionConf + ("spark.phantoms.lfta.memory" -> "64k")
}

/** Traps where tasks get hardly any execution memory, so that tables may be refused. */
class TinyPoolTrapsSuite extends OtherAggregateTraps with AggregateTraps {
  override protected def place: Int = 7
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    // 12 MB for the tasks of both cores.
    "spark.testing.memory" -> (24L << 20).toString,
    "spark.testing.reservedMemory" -> "0",
    "spark.memory.fraction" -> "0.5",
    "spark.memory.storageFraction" -> "0.1",
    "spark.buffer.pageSize" -> "256k"
  )
}

class LiftedFilterTrapsSuite extends TrapVariants with OneOfEight with LiftedFilterTraps {
  override protected def place: Int = 0
}

class RandomLiftedFilterTrapsSuite extends RandomTraps with OneOfEight with LiftedFilterTraps {
  override protected def place: Int = 4
}
