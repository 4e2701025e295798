package io.phantoms.spark.fuzz

/** What stands behind FROM. */
sealed trait Source {
  def sql: String
  def smaller: Seq[Source]

  /** Queries that could be run in place of the one that reads this. */
  def queries: Seq[Query]
  def selects: Int
}

final case class Named(name: String) extends Source {
  def sql: String = name
  def smaller: Seq[Source] = Nil
  def queries: Seq[Query] = Nil
  def selects: Int = 0
}

final case class Derived(query: Query, alias: String) extends Source {
  def sql: String = s"(${query.sql}) $alias"
  def smaller: Seq[Source] = query.smaller.map(q => copy(query = q))
  def queries: Seq[Query] = Seq(query)
  def selects: Int = query.selects
}

final case class Joined(left: Source, how: String, right: Source, on: String) extends Source {
  def sql: String = s"${left.sql} $how ${right.sql}${if (on.isEmpty) "" else s" on $on"}"
  def smaller: Seq[Source] =
    Seq(left, right) ++ left.smaller.map(l => copy(left = l)) ++ right.smaller.map(r => copy(right = r))
  def queries: Seq[Query] = left.queries ++ right.queries
  def selects: Int = left.selects + right.selects
}
