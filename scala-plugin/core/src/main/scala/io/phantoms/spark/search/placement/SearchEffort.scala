package io.phantoms.spark.search.placement

/** How much to try: an evaluation grows with the square of the relations, so the counts shrink with it. */
private[placement] final case class SearchEffort(
    evaluations: Int,
    candidates: Int,
    proposals: Int,
    finalists: Int,
    roots: Int,
    tierSources: Int
)

private[placement] object SearchEffort {
  def apply(queries: Int): SearchEffort = {
    val evaluations = math.max(60, 1000000 / (200 * queries + 3 * queries * queries + 1))
    SearchEffort(
      evaluations = evaluations,
      candidates = math.max(20, evaluations / 3),
      proposals = if (queries <= 64) 24 else 8,
      finalists = if (queries <= 64) 4 else 2,
      roots = if (queries <= 64) 128 else 32,
      tierSources = if (queries <= 64) 8 else 2
    )
  }
}
