package io.phantoms.spark.cost

/**
 * The runs of all groups among the rows of an input, where they fall into map tasks at random.
 *
 * @param rows of the input
 * @param tasks at least 1
 */
private[cost] final class DealtRuns(rows: Double, tasks: Int) {
  private val rowsPerTask = rows / tasks

  // Of the probability that a row is in another task.
  private val lnElsewhere = Math.log1p(-1.0 / tasks)

  /** Groups one map task expects to see, of so many with runs of so many rows. */
  def groupsInTask(groups: Double, flowLength: Double): Double =
    if (tasks == 1) math.min(groups, rows)
    else {
      val runs = math.max(1.0, rows / (groups * flowLength))
      math.min(math.min(groups, rowsPerTask), -groups * Math.expm1(runs * lnElsewhere))
    }
}
