package io.phantoms.spark.choose

/** Prints what is chosen for the standard workloads, and how long a choice takes once warm. */
object ChooserTimes {

  // Exhaustive allocation takes seconds for many queries.
  private def feasible(problem: Problem, algorithm: String): Boolean =
    problem.queries.size <= 16 || !Set("gces", "epes")(algorithm)

  def main(args: Array[String]): Unit = {
    val problems = Seq(
      "smap4" -> Workloads.smap4,
      "cube4" -> Workloads.cube4,
      "nfc22" -> Workloads.nfc22,
      "random22" -> Workloads.random(7, 13, 22),
      "cube8" -> Workloads.random(1, 8, 1).copy(queries = Workloads.cube(8)),
      "random256" -> Workloads.random(11, 16, 256)
    )
    for (
      (name, problem) <- problems; algorithm <- Seq("auto", "gc", "trees", "steiner") ++ Smap.names
      if feasible(problem, algorithm)
    ) {
      def once(): (Choice, Double) = {
        val start = System.nanoTime()
        val choice = Chooser.choose(problem, algorithm, minSavings = -1)
        (choice, (System.nanoTime() - start) / 1e6)
      }
      val (choice, first) = once()
      val runs = math.max(3, math.min(if (problem.queries.size > 100) 30 else 300, (3000 / first).toInt))
      val times = Vector.fill(runs)(once()._2).drop(runs / 2).sorted
      println(f"$name%-10s $algorithm%-7s first $first%9.3f ms, warm ${times(times.size / 2)}%8.3f ms  " +
        f"cost ${choice.cost / 1e9}%8.3f s without ${choice.costWithout / 1e9}%8.3f s")
      val notation = Notation(problem)
      choice.configuration.filter(_.relations.size <= 40).foreach { c =>
        println("  " + notation.render(c))
        if (args.contains("-v")) println(notation.describe(c))
      }
    }
  }
}
