package io.phantoms.spark.oracle

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.PhantomsExtensions
import io.phantoms.spark.conf.PhantomsSettings
import io.phantoms.spark.model.{Choice, Configuration, Placement, Problem, Relation}
import io.phantoms.spark.rewrite.Sharing

import org.apache.spark.sql.SparkSession

/**
 * Any valid configuration, good or bad: whatever relations are maintained, wherever they are placed and however small
 * their tables, the rows have to be the same.
 */
object RandomConfigurations {

  private val Buckets = Vector(0, 0, 1, 2, 2, 4, 4, 8, 64, 1024)

  def of(problem: Problem, random: Random): Configuration = {
    val sets = groups(problem, random)
    val all = BitSet.fromSpecific(problem.attributes.indices)
    val phantoms = Vector.fill(random.nextInt(4))(phantom(problem, all, random)).map((_, Vector.empty[Int]))
    // Parents precede children; equal groupings in any order.
    val ordered = random.shuffle(sets ++ phantoms).sortBy(-_._1.size)
    val fromInput = random.nextInt(4) * 0.2
    val parents = ordered.indices.map { i =>
      val finer = (0 until i).filter(p => ordered(i)._1.subsetOf(ordered(p)._1))
      if (finer.isEmpty || random.nextDouble() < fromInput) -1 else finer(random.nextInt(finer.size))
    }
    val deriving = random.nextInt(4) * 0.33
    val again = if (problem.secondTier) random.nextInt(3) * 0.4 else 0.0
    val placements = new Array[Placement](ordered.size)
    def inSecondTier(i: Int): Boolean = placements(i) match {
      case Placement.SecondTier(_, _) => true
      case Placement.Derived => inSecondTier(parents(i))
      case _ => false
    }
    ordered.indices.foreach { i =>
      val under = if (parents(i) < 0) None else Some(placements(parents(i)))
      val isPhantom = ordered(i)._2.isEmpty
      def secondTier = random.nextDouble() < again
      placements(i) = under match {
        case Some(Placement.Derived) if inSecondTier(parents(i)) || !secondTier => Placement.Derived
        case Some(Placement.SecondTier(_, _)) if random.nextDouble() < deriving => Placement.Derived
        case Some(Placement.Derived) | Some(Placement.SecondTier(_, _)) => Placement.SecondTier(BitSet.empty, 1)
        case Some(Placement.Shipped(_, _)) if random.nextDouble() < deriving => Placement.Derived
        case Some(Placement.Shipped(_, _)) if secondTier => Placement.SecondTier(BitSet.empty, 1)
        case _ if isPhantom && random.nextInt(3) > 0 => Placement.Feeds
        case _ => Placement.Shipped(BitSet.empty, 1)
      }
    }
    def derivedBelow(i: Int): Seq[Int] = ordered.indices
      .filter(c => parents(c) == i && placements(c) == Placement.Derived).flatMap(c => c +: derivedBelow(c))
    Configuration(ordered.indices.map { i =>
      def sharded(placed: (BitSet, Int) => Placement): Placement = {
        val legal = derivedBelow(i).map(ordered(_)._1).foldLeft(ordered(i)._1 & problem.dealing)(_ & _)
        val key = if (random.nextInt(3) == 0) legal else legal.filter(_ => random.nextInt(2) == 0)
        placed(key, if (key.isEmpty) 1 else 1 + random.nextInt(5))
      }
      val placement = placements(i) match {
        case Placement.Shipped(_, _) => sharded(Placement.Shipped)
        case Placement.SecondTier(_, _) => sharded(Placement.SecondTier)
        case other => other
      }
      val buckets = placement match {
        case Placement.Shipped(_, _) | Placement.Feeds => Buckets(random.nextInt(Buckets.size))
        case _ => 0
      }
      Relation(ordered(i)._1, ordered(i)._2, parents(i), buckets, placement)
    }.toVector)
  }

  /** Groupings with the queries that they answer; now and then two relations of one grouping share its queries out. */
  private def groups(problem: Problem, random: Random): Vector[(BitSet, Vector[Int])] =
    problem.groupings.indices.toVector.groupBy(problem.groupings).toVector.sortBy(_._2.head).flatMap {
      case (keys, queries) =>
        if (queries.size > 1 && random.nextInt(3) == 0) {
          val (some, others) = random.shuffle(queries).splitAt(1 + random.nextInt(queries.size - 1))
          Vector((keys, some.sorted), (keys, others.sorted))
        } else Vector((keys, queries))
    }

  /** Mostly a union of a few queries, as in the feeding graph; sometimes more attributes than anybody asked for. */
  private def phantom(problem: Problem, all: BitSet, random: Random): BitSet = {
    val some = random.shuffle(problem.groupings.toVector).take(1 + random.nextInt(3)).foldLeft(BitSet.empty)(_ | _)
    if (random.nextInt(4) == 0) some | all.filter(_ => random.nextBoolean()) else some
  }
}

/** The plugin's steps with the chooser replaced by [[RandomConfigurations]] while a seed is set. */
object RandomSharing extends OtherChoices {
  @volatile var seed: Option[Long] = None

  /** What was chosen last, in words. */
  @volatile var last: String = ""

  override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice = seed match {
    case None => Sharing.choose(session, problem, settings)
    case Some(s) =>
      val configuration = RandomConfigurations.of(problem, new Random(s))
      last = configuration.relations.mkString("\n")
      // Of the forms of a workload that differ in their keys any one may be the cheapest.
      val cost = new Random(s + problem.attributes.map(_.name).hashCode).nextDouble()
      Choice(Some(configuration), cost, 2.0, "random")
  }
}

/** The plugin's wiring, with [[RandomSharing]]. */
class RandomConfigurationExtensions extends PhantomsExtensions(RandomSharing)

/** A suite in which every check runs under several random configurations: `-Dphantoms.configurations=N`, 2 by default. */
trait RandomConfigurationSuite extends DifferentialSuite { this: org.scalatest.Suite =>
  override protected def extensions: String = classOf[RandomConfigurationExtensions].getName
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.phantoms.stats.sample.enabled" -> "false")

  protected def seeds: Seq[Long] = 1L to sys.props.get("phantoms.configurations").fold(2L)(_.toLong)

  override protected def variants: Seq[Variant] = seeds.map(s => RandomConfigurationSuite.variant(s))
}

object RandomConfigurationSuite {
  def variant(seed: Long): Variant = Variant(
    s"random configuration $seed",
    Seq("spark.phantoms.lfta.fused" -> (seed % 2 == 1).toString),
    () => RandomSharing.seed = Some(seed),
    () => RandomSharing.seed = None
  )
}
