package io.phantoms.spark.tpcds

/** A query of TPC-DS as Spark's own tests have it. */
final case class TpcdsQuery(edition: String, name: String, sql: String) {

  /**
   * Without the limits: of rows that are equal in what is sorted by, any may be cut off. The operator that cuts stays in the
   * plan.
   */
  def uncut: String = sql.replaceAll("(?i)\\blimit\\s+100\\b", "LIMIT 1000000")

  override def toString: String = s"$edition $name"
}

object TpcdsQueries {
  private val folders = Seq("v1.4" -> "tpcds", "v2.7" -> "tpcds-v2.7.0")
  val editions: Seq[String] = folders.map(_._1)

  lazy val all: Seq[TpcdsQuery] = folders.flatMap { case (edition, folder) =>
    JarTexts.sql(folder).map { case (path, text) =>
      TpcdsQuery(edition, path.split('/').last.stripSuffix(".sql"), text.trim.stripSuffix(";"))
    }.sortBy(q => (q.name.filter(_.isDigit).toInt, q.name))
  }
}
