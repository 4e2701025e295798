package io.phantoms.spark.search.smap

import scala.util.matching.Regex

/** SMAP's algorithms by name: how phantoms are chosen, and how space is allocated meanwhile and in the end. */
sealed trait Smap {

  /** Space allocation of the answer. */
  def allocation: SpaceAllocation

  /** The configuration it finds. */
  def choose(problem: MultipleAggregation): SmapConfiguration
}

object Smap {

  /** `gcsl`, `gcsr`, `gcpl`, `gcpr`, `gces`, `gp` and `epes`; `gp(1.5)` is [[Gp]] with another phi than 1. */
  val names: Seq[String] = Seq("sl", "sr", "pl", "pr", "es").map("gc" + _) ++ Seq("gp", "epes")

  /** Whether [[apply]] knows this name. */
  def accepts(name: String): Boolean = find(name).nonEmpty

  /** @throws IllegalArgumentException if the name is unknown, or phi not a positive number */
  def apply(name: String): Smap = find(name).getOrElse(
    throw new IllegalArgumentException(s"unknown SMAP algorithm '$name'; valid ones are ${names.mkString(", ")}")
  )

  /** GC with a space allocation. */
  final case class GreedyCollisions(allocation: SpaceAllocation) extends Smap {
    override def choose(problem: MultipleAggregation): SmapConfiguration = {
      def at(chosen: Vector[Int]): SmapConfiguration = problem.allocated(problem.feeding(chosen), allocation)
      val effort = evaluations(problem)
      val (chosen, _) = Gc.choose(candidates(problem, effort), at(_).cost, effort)
      at(chosen)
    }
  }

  /** GP(phi); what is left over makes its allocation PL. */
  final case class GreedySpace(phi: Double) extends Smap {
    override def allocation: SpaceAllocation = SpaceAllocation.ProportionalLinear
    override def choose(problem: MultipleAggregation): SmapConfiguration = {
      val effort = evaluations(problem)
      Gp.choose(problem, phi, candidates(problem, effort), effort)
    }
  }

  /** EPES; where there are more than `mostForests` configurations, GC with the same exhaustive allocation. */
  final case class Exhaustive(allocation: SpaceAllocation, mostForests: Int) extends Smap {
    override def choose(problem: MultipleAggregation): SmapConfiguration =
      Epes.choose(problem, allocation, mostForests).getOrElse(GreedyCollisions(allocation).choose(problem))
  }

  private val MostForests = 5000

  private val WithPhi: Regex = """gp\(([0-9]*\.?[0-9]+)\)""".r

  private def find(name: String): Option[Smap] = name match {
    case "gp" => Some(GreedySpace(Gp.DefaultPhi))
    case WithPhi(phi) => Some(GreedySpace(phi.toDouble)).filter(_.phi > 0)
    case "epes" => Some(Exhaustive(SpaceAllocation.byName("es"), MostForests))
    case gc if gc.startsWith("gc") => SpaceAllocation.byName.get(gc.drop(2)).map(GreedyCollisions)
    case _ => None
  }

  // Configurations to cost: each takes time that grows with the square of its relations.
  private def evaluations(problem: MultipleAggregation): Int = {
    val n = problem.graph.queryCount
    math.max(60, 2000000 / (200 + 3 * n * n))
  }

  // All phantoms if they are few, else those that can feed most queries, the coarser first.
  private def candidates(problem: MultipleAggregation, evaluations: Int): Vector[Int] = {
    val graph = problem.graph
    val most = math.max(20, evaluations / 3)
    if (problem.phantoms.size <= most) problem.phantoms
    else {
      val fed = problem.phantoms.map(p => (p, problem.queries.count(graph.feeds(p, _))))
      fed.sortBy { case (p, n) => (-n, problem.groups(p), p) }.take(most).map(_._1)
    }
  }
}
