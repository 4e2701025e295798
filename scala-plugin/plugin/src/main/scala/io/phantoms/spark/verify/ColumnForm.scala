package io.phantoms.spark.verify

import org.apache.spark.sql.types.DataType

/** How the values of a column are compared with those of another run of the same query. */
sealed abstract class ColumnForm(private[verify] val looseness: Int) extends Product with Serializable

object ColumnForm {

  /** To the bit; one NaN is like another. */
  case object Exact extends ColumnForm(0)

  /** Likewise, but 0.0 and -0.0 count as one: of these, minima and maxima keep whichever came first. */
  case object Signless extends ColumnForm(1)

  /** Sums of floats, whose last digits follow the order of rows: all values of the column together, within a tolerance. */
  case object Rounded extends ColumnForm(2)

  /** Not at all: Spark itself may answer something else when it runs again. */
  case object LeftOut extends ColumnForm(3)

  private[verify] def loosest(forms: Iterable[ColumnForm]): ColumnForm = forms.foldLeft(Exact: ColumnForm)(looser)

  private[verify] def looser(a: ColumnForm, b: ColumnForm): ColumnForm = if (a.looseness >= b.looseness) a else b
}

/** A column of results and how it is compared. */
final case class ComparedColumn(name: String, dataType: DataType, form: ColumnForm)
