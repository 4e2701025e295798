package io.phantoms.spark.run.generated

/** How the input comes to a map-side kernel. */
private[spark] sealed trait InputForm

private[spark] object InputForm {

  /** Columnar batches. */
  case object Batches extends InputForm

  /** Rows of an iterator. */
  case object Rows extends InputForm

  /** Rows that the code of the stage below hands over, see [[io.phantoms.spark.run.kernel.StageRow]]. */
  case object Stage extends InputForm
}
