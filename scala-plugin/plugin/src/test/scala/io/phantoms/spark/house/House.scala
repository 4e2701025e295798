package io.phantoms.spark.house

/**
 * The rooms of the house and who may know whom. `docs/architecture.md` shows the same to people.
 *
 * A room is a package below `io.phantoms.spark`, written without that prefix. A tower is a stack of floors, uppermost first;
 * rooms on one floor do not know each other. A room may know the rooms of lower floors, and those of the towers that its own
 * tower stands on.
 */
final case class Tower(module: String, floors: Seq[Seq[String]], standsOn: Seq[String])

object House {
  val Root = "io.phantoms.spark"

  val towers: Map[String, Tower] = Map(
    "plugin" -> Tower(
      "plugin",
      floors(
        "", // the extension itself: wiring only
        "api",
        "source",
        "source.stream",
        "source.read",
        "source.table",
        "source.export",
        "source.ip source.wire",
        "explain calibrate",
        "rewrite",
        "decide",
        "detect",
        "physical",
        "verify",
        "run",
        "run.interpreted",
        "run.generated",
        "run.kernel",
        "spec",
        "stats", // below whatever runs: operators report to it what they counted
        "stats.observed stats.bounds stats.supplied",
        "stats.sampled",
        "stats.input",
        "functions", // below statistics: they ask how wide records are
        "conf",
        "files shims"
      ),
      Seq("chooser", "tables", "keep")
    ),
    "chooser" -> Tower(
      "core",
      floors(
        "search",
        "search.trees",
        "search.placement",
        "search.smap",
        "search.graph",
        "cost",
        "windows fragments estimate",
        "model"
      ),
      Seq("keep")
    ),
    "tables" -> Tower("core", floors("table", "block", "memory"), Nil),
    "keep" -> Tower("core", floors("keep"), Nil),
    "lab" -> Tower(
      "lab",
      floors("lab.hierarchy", "lab.fragments", "lab.windows", "lab.trees lab.smap"),
      Seq("chooser", "tables", "keep")
    ),
    "bench" -> Tower("bench", floors("bench"), Seq("plugin", "chooser", "tables", "keep"))
  )

  /** Modules whose sources name no class of Spark. */
  val withoutSpark: Set[String] = Set("core", "lab")

  private def floors(names: String*): Seq[Seq[String]] = names.map(_.split(' ').toSeq)

  private val place: Map[String, (String, Int)] = towers.toSeq.flatMap { case (name, tower) =>
    tower.floors.zipWithIndex.flatMap { case (rooms, floor) => rooms.map(_ -> (name -> floor)) }
  }.toMap

  def rooms: Set[String] = place.keySet

  def moduleOf(room: String): String = towers(place(room)._1).module

  /** Whether an arrow from one room to another points down. */
  def mayKnow(from: String, to: String): Boolean = {
    val ((tower, floor), (other, below)) = (place(from), place(to))
    if (tower == other) floor < below else towers(tower).standsOn.contains(other)
  }

  /** What is wrong with these sources; nothing, if they keep the rules. */
  def complaints(sources: Seq[Source]): Seq[String] = {
    val arrows = Arrows.of(sources, rooms)
    val strangers =
      sources.filterNot(s => rooms.contains(s.room)).map(s => s"${s.path}: no room ${s.room} in the house")
    val moved = sources.filter(s => rooms.contains(s.room) && moduleOf(s.room) != s.module)
      .map(s => s"${s.path}: room ${s.room} is in ${moduleOf(s.room)}, not in ${s.module}")
    val up = arrows.filter(a => rooms.contains(a.from) && !mayKnow(a.from, a.to)).map(a => s"${a.path}: ${a.show}")
    val circles = Arrows.circles(arrows).map(c => s"a circle: ${c.toSeq.sorted.map(Arrows.named).mkString(", ")}")
    val sparks = sources.filter(s => withoutSpark.contains(s.module) && s.code.contains("org.apache.spark"))
      .map(s => s"${s.path}: names Spark")
    strangers ++ moved ++ up ++ circles ++ sparks
  }
}
