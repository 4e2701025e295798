package io.phantoms.spark.fuzz

/**
 * A query, the tables that it reads, and how it is run.
 *
 * @param confs beside those of the session
 * @param configuration the seed of a random configuration in place of the chooser's
 */
final case class Case(
    query: Query,
    tables: Vector[Table],
    confs: Vector[(String, String)],
    configuration: Option[Long]
) {
  lazy val sql: String = query.sql

  /** Cases in which something is missing. Not all of them are valid. */
  def smaller: Iterator[Case] =
    configuration.iterator.map(_ => copy(configuration = None)) ++
      halvedConfs.iterator ++
      tables.indices.iterator.flatMap(i => tables(i).smaller(isRead).map(t => copy(tables = tables.updated(i, t)))) ++
      query.smaller.iterator.map(q => copy(query = q)).filter(_.sql.length < sql.length) ++
      Shrink.without(confs).iterator.map(c => copy(confs = c)) ++
      Shrink.without(tables).iterator.filter(_.nonEmpty).map(t => copy(tables = t))

  private def halvedConfs: Seq[Case] =
    if (confs.size < 4) Nil
    else Seq(Vector.empty, confs.take(confs.size / 2), confs.drop(confs.size / 2)).map(c => copy(confs = c))

  private lazy val words: Set[String] = sql.split("[^A-Za-z0-9_]+").toSet
  private def isRead(column: String): Boolean = words(column)
}

object Case {
  private val CasesPerTables = 6

  /** Tables are those of a few seeds that follow one another. */
  def tables(seed: Long): Vector[Table] = Tables.draw(new Draw(Math.floorDiv(seed, CasesPerTables.toLong) * 31 + 7))

  def draw(seed: Long): Case = {
    val made = tables(seed)
    val d = new Draw(seed)
    val query = new Grammar(d, made).next()
    Case(query, made, confs(d), Option.when(d.chance(2))(seed))
  }

  /** Each differs from its default now and then. */
  private def confs(d: Draw): Vector[(String, String)] = Vector(
    "spark.sql.ansi.enabled" -> d.pick(Vector("true", "false")),
    "spark.sql.adaptive.enabled" -> d.pick(Vector("true", "true", "false")),
    "spark.sql.codegen.factoryMode" -> d.pick(Vector("FALLBACK", "FALLBACK", "FALLBACK", "NO_CODEGEN")),
    "spark.sql.codegen.wholeStage" -> d.pick(Vector("true", "true", "true", "true", "true", "false")),
    "spark.sql.exchange.reuse" -> d.pick(Vector.fill(7)("true") :+ "false"),
    "spark.sql.shuffle.partitions" -> d.pick(Vector("3", "3", "1", "7")),
    "spark.sql.autoBroadcastJoinThreshold" -> d.pick(Vector("10485760", "-1")),
    "spark.sql.session.timeZone" -> d.pick(Vector("UTC", "UTC", "America/New_York", "Asia/Kathmandu")),
    "spark.sql.optimizer.mergeSubplans.filterPropagation.enabled" -> d.pick(Vector("true", "true", "false")),
    "spark.sql.optimizer.mergeSubplans.filterPropagation.symmetricFilterPropagation.enabled" ->
      d.pick(Vector("false", "true")),
    "spark.sql.optimizer.mergeSubplans.filterPropagation.throughJoin.enabled" -> d.pick(Vector("false", "true")),
    "spark.phantoms.chooser" -> d.pick(Vector("auto", "gc")),
    "spark.phantoms.lfta.memory" -> d.pick(Vector("8m", "64k")),
    "spark.phantoms.lfta.secondChance" -> d.pick(Vector("false", "true")),
    "spark.phantoms.blocks.packed" -> d.pick(Vector("true", "false")),
    "spark.phantoms.secondTier.enabled" -> d.pick(Vector("true", "true", "false")),
    "spark.phantoms.stats.sample.enabled" -> d.pick(Vector("true", "false"))
  ).filterNot { case (key, value) => Defaults.get(key).contains(value) }

  private val Defaults = Map(
    "spark.sql.adaptive.enabled" -> "true",
    "spark.sql.codegen.factoryMode" -> "FALLBACK",
    "spark.sql.codegen.wholeStage" -> "true",
    "spark.sql.exchange.reuse" -> "true",
    "spark.sql.shuffle.partitions" -> "3",
    "spark.sql.autoBroadcastJoinThreshold" -> "10485760",
    "spark.sql.session.timeZone" -> "UTC",
    "spark.sql.optimizer.mergeSubplans.filterPropagation.enabled" -> "true",
    "spark.sql.optimizer.mergeSubplans.filterPropagation.symmetricFilterPropagation.enabled" -> "false",
    "spark.sql.optimizer.mergeSubplans.filterPropagation.throughJoin.enabled" -> "false",
    "spark.phantoms.chooser" -> "auto",
    "spark.phantoms.lfta.memory" -> "8m",
    "spark.phantoms.lfta.secondChance" -> "false",
    "spark.phantoms.blocks.packed" -> "true",
    "spark.phantoms.secondTier.enabled" -> "true",
    "spark.phantoms.stats.sample.enabled" -> "false"
  )
}
