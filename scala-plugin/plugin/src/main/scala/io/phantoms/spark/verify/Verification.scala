package io.phantoms.spark.verify

import org.apache.spark.scheduler.SparkListenerEvent

/**
 * What came of running plain Spark's plan beside the plugin's: posted to the listeners of the application when the rows of a
 * query were compared, and part of its event log.
 *
 * @param outcome `EQUAL`, `DIFFERENT` (the rows are not the same), or `FAILED` (the plugin's plan failed, plain Spark's did
 *   not); `UNFINISHED` (never posted) as long as not all rows were read, and for good where a LIMIT needs no more
 * @param executionId of Spark, as in its web page; None outside of an execution
 * @param description of the job, as the user gave it
 * @param query its text, or the part of the plan that was compared
 * @param subject the operators of the plan whose rows were compared
 * @param configuration by which they were shared, in the notation
 * @param plain the fingerprint of plain Spark's rows: their number and the sum of their hashes in hexadecimal digits
 * @param shared likewise of the plugin's rows; empty if these failed
 * @param differingRows missing and surplus rows together: there are at least so many
 * @param differingSums columns of sums of floats that are further apart than their last digits
 * @param leftOut columns that were not compared, as Spark itself may answer something else each time
 * @param error of the plugin's plan
 * @param confs of the session: those of the plugin and of Spark SQL
 */
final case class Verification(
    outcome: String,
    executionId: Option[Long],
    description: Option[String],
    query: String,
    subject: String,
    configuration: String,
    plain: String,
    shared: String,
    plainRows: Long,
    sharedRows: Long,
    differingRows: Long,
    differingSums: Seq[String],
    leftOut: Seq[String],
    error: Option[String],
    confs: Map[String, String]
) extends SparkListenerEvent {

  /** The same with what the rows of both sides were found to be. */
  def compared(plainRows: Fingerprint, sharedRows: Either[Throwable, Fingerprint], digest: RowDigest): Verification = {
    val known = copy(plain = plainRows.text, plainRows = plainRows.rows)
    sharedRows match {
      case Left(failure) => known.copy(outcome = Verification.Failed, error = Some(failure.toString))
      case Right(rows) =>
        val sums = digest.names(plainRows.differingFloats(rows, digest.tolerances))
        val differing = plainRows.differing(rows)
        known.copy(
          outcome = if (differing > 0 || sums.nonEmpty) Verification.Different else Verification.Equal,
          shared = rows.text,
          sharedRows = rows.rows,
          differingRows = differing,
          differingSums = sums
        )
    }
  }

  def agrees: Boolean = outcome == Verification.Equal

  /** For a log. */
  def warning: String = {
    val what = error match {
      case Some(e) => s"the plugin's plan failed where plain Spark's does not: $e"
      case None =>
        val floats = if (differingSums.isEmpty) "" else s", sums of floats: ${differingSums.mkString(", ")}"
        s"the plugin's rows differ from plain Spark's: $differingRows rows at least$floats"
    }
    val place = Seq(executionId.map(id => s"execution $id"), description).flatten.mkString(", ")
    s"""spark-phantoms: $what. Plain Spark's rows were returned; please report it.
       |plain:  $plain ($plainRows rows)
       |shared: $shared ($sharedRows rows)
       |of: $subject, configuration $configuration${if (place.isEmpty) "" else s", $place"}
       |query: $query""".stripMargin
  }
}

object Verification {
  val Equal = "EQUAL"
  val Different = "DIFFERENT"
  val Failed = "FAILED"
  val Unfinished = "UNFINISHED"
}

/**
 * What was said of verifying a plan when it was made.
 *
 * @param mode `sample` or `full`
 * @param impossible why its rows cannot be compared
 */
final case class Verifiable(mode: String, impossible: Option[String])
