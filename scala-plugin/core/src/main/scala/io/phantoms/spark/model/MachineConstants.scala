package io.phantoms.spark.model

/** The measurable part of a [[Machine]] by name: all but what a session knows of itself (parallelism, partitions). */
object MachineConstants {

  private final case class Constant(name: String, get: Machine => Double, set: (Machine, Double) => Machine)

  private val all: Seq[Constant] = Seq(
    Constant("c1", _.c1, (m, v) => m.copy(c1 = v)),
    Constant("c2", _.c2, (m, v) => m.copy(c2 = v)),
    Constant("c2PerByte", _.c2PerByte, (m, v) => m.copy(c2PerByte = v)),
    Constant("merge", _.merge, (m, v) => m.copy(merge = v)),
    Constant("emit", _.emit, (m, v) => m.copy(emit = v)),
    Constant("plainRow", _.plainRow, (m, v) => m.copy(plainRow = v)),
    Constant("plainGroup", _.plainGroup, (m, v) => m.copy(plainGroup = v)),
    Constant("scanRow", _.scanRow, (m, v) => m.copy(scanRow = v)),
    Constant("fixed", _.fixed, (m, v) => m.copy(fixed = v))
  )

  // Ratios of these two size the tables.
  private val Positive = Set("c1", "c2")

  val names: Seq[String] = all.map(_.name)

  /** Name and value of each constant, nanoseconds. */
  def of(machine: Machine): Seq[(String, Double)] = all.map(c => c.name -> c.get(machine))

  /**
   * A machine with some constants replaced, or what is wrong with them, as a sentence.
   *
   * @param quoting whether the sentence may quote what was given: not where that comes from a file, which may be any
   */
  def replaced(
      machine: Machine,
      values: Iterable[(String, Double)],
      quoting: Boolean = true
  ): Either[String, Machine] =
    values.foldLeft[Either[String, (Machine, Set[String])]](Right((machine, Set.empty))) { case (made, (name, value)) =>
      for {
        before <- made
        (m, given) = before
        constant <- all.find(_.name == name).toRight {
          val what = if (quoting) s"There is no machine constant '$name'" else "It names an unknown machine constant"
          s"$what; they are ${names.mkString(", ")}."
        }
        _ <- Either.cond(!given(name), (), s"$name is given twice.")
        _ <- Either.cond(
          value >= 0 && !value.isInfinite && (value > 0 || !Positive(name)),
          (), {
            val found = if (quoting) s"is $value" else "is out of range"
            s"$name $found; give nanoseconds, ${if (Positive(name)) "more than 0" else "at least 0"}."
          }
        )
      } yield (constant.set(m, value), given + name)
    }.map(_._1)

  /** Reads `c1=12,c2=140`, or says what is wrong; `quoting` as in [[replaced]]. */
  def pairs(text: String, quoting: Boolean = true): Either[String, Seq[(String, Double)]] = {
    def wrong(what: => String): String = if (quoting) what else "It is neither JSON nor a list of name=value."
    text.split(",").toSeq.map(_.trim).filter(_.nonEmpty).foldLeft[Either[String, Seq[(String, Double)]]](Right(Nil)) {
      (read, pair) =>
        for {
          before <- read
          parts <- Some(pair.split("=", -1).map(_.trim)).filter(_.length == 2)
            .toRight(wrong(s"'$pair' is not name=value."))
          value <- parts(1).toDoubleOption.toRight(wrong(s"${parts(0)} is '${parts(1)}', which is no number."))
        } yield before :+ (parts(0) -> value)
    }
  }
}
