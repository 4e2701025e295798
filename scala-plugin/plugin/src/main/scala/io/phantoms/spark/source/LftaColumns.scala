package io.phantoms.spark.source

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.read.{ColumnForm, RecordColumn}
import io.phantoms.spark.source.wire.{FieldKind, Policy, RecordSchema}

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** The columns of packets or flows as SQL sees them. */
private[source] final class LftaColumns(records: RecordSchema, options: LftaOptions) {
  private val ofFields: Seq[(StructField, RecordColumn)] = records.fields.asScala.toSeq.zipWithIndex.map {
    case (field, i) =>
      val (dataType, form) = sqlType(field.kind)
      StructField(field.name, dataType).withComment(field.comment) -> new RecordColumn(form, i)
  }

  private val problem: (StructField, RecordColumn) =
    StructField(options.corruptColumn, StringType)
      .withComment("what was wrong with a record that could not be decoded; NULL for all others") ->
      new RecordColumn(ColumnForm.PROBLEM, -1)

  if (records.ordinal(options.corruptColumn) >= 0)
    LftaOptions.refuse(
      "columnNameOfCorruptRecord",
      s"'${options.corruptColumn}' is a column of ${records.name} already."
    )

  /** What a read has that is given no schema: the column of what was wrong is there where such rows are. */
  def schema: StructType = StructType(
    (ofFields ++ (if (options.mode == Policy.PERMISSIVE) Seq(problem) else Nil)).map(_._1)
  )

  /** How records give a column, found by its name. */
  def column(name: String): Option[RecordColumn] = find(name).map(_._2)

  /**
   * How records give a column of a read, and its type.
   *
   * @param fields the columns of the read
   * @param ofPaths columns that paths say: where there is one of the same name, that counts
   */
  def column(
      name: String,
      fields: StructType,
      ofPaths: StructType,
      resolver: Resolver
  ): Option[(RecordColumn, DataType)] =
    if (ofPaths.exists(p => resolver(p.name, name))) None
    else
      for {
        field <- fields.find(f => resolver(f.name, name))
        column <- column(field.name)
      } yield column -> field.dataType

  /** What a reader decodes for these columns: by field, and behind the last one whether it matters what is wrong with a record. */
  def wanted(columns: Iterable[RecordColumn]): Array[Boolean] = {
    val fields = records.fields.size
    val wanted = new Array[Boolean](fields + 1)
    columns.foreach(c => wanted(if (c.field < 0) fields else c.field) = true)
    // What is left out, or is an error, must not hang on the columns that are read.
    if (options.mode != Policy.PERMISSIVE) wanted(fields) = true
    wanted
  }

  private def find(name: String): Option[(StructField, RecordColumn)] = {
    val resolver = SQLConf.get.resolver
    (ofFields :+ problem).find { case (field, _) => resolver(field.name, name) }
  }

  /** A schema that the user gives may have any of the columns, of their own types. */
  def require(wanted: StructType): Unit = wanted.foreach { field =>
    val same = find(field.name).exists { case (own, _) =>
      DataType.equalsIgnoreNullability(own.dataType, field.dataType)
    }
    if (!same)
      throw new AnalysisException(
        "DATA_SOURCE_TABLE_SCHEMA_MISMATCH",
        Map(
          "dsSchema" -> s"${(ofFields :+ problem).map(c => shown(c._1)).mkString(", ")} (any of them may be left out)",
          "expectedSchema" -> s"${wanted.map(shown).mkString(", ")}, of which ${shown(field)} is none of these"
        )
      )
  }

  private def shown(field: StructField): String = s"${field.name} ${field.dataType.sql}"

  private def sqlType(kind: FieldKind): (DataType, ColumnForm) = kind match {
    case FieldKind.INT => IntegerType -> ColumnForm.INT
    case FieldKind.LONG => LongType -> ColumnForm.LONG
    case FieldKind.TIMESTAMP => TimestampType -> ColumnForm.LONG
    case FieldKind.BYTES => BinaryType -> ColumnForm.BYTES
    case FieldKind.TEXT => StringType -> ColumnForm.TEXT
    case FieldKind.MAP => MapType(StringType, BinaryType) -> ColumnForm.MAP
    case FieldKind.ADDRESS =>
      options.addresses match {
        case Addresses.Binary => BinaryType -> ColumnForm.ADDRESS_BINARY
        case Addresses.Int => IntegerType -> ColumnForm.ADDRESS_INT
        case Addresses.Text => StringType -> ColumnForm.ADDRESS_STRING
      }
  }
}
