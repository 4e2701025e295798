package io.phantoms.spark.source

import java.util.Locale

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.read.{Flush, ReaderTables, SkippedFiles}
import io.phantoms.spark.source.table.TableKind
import io.phantoms.spark.source.wire.Policy

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** How SQL sees addresses. */
sealed abstract class Addresses(val name: String) extends Serializable

object Addresses {

  /** BINARY of 4 or 16 bytes. */
  case object Binary extends Addresses("binary")

  /** INT, the 32 bits of an IPv4 address; NULL for an IPv6 one. */
  case object Int extends Addresses("int")

  /** STRING, as RFC 5952 has it. */
  case object Text extends Addresses("string")

  val all: Seq[Addresses] = Seq(Binary, Int, Text)
}

/**
 * What a read is told.
 *
 * @param records packets or flows; None: as the files are
 * @param mode what becomes of records that cannot be decoded
 * @param corruptColumn the name of the column that says what was wrong with a record
 * @param ports UDP ports to which flow exports are sent within captures
 * @param maxPartitionBytes None: as the session has it
 * @param tables what readers aggregate in
 * @param pushDownAggregate whether readers aggregate
 * @param columnar whether readers hand out batches of columns where they can
 * @param hadoop what is said to the file system
 * @param said all that was said, names in lower case: Spark's own options say which files there are, so that reads of
 *   the same paths that differ in these only are not the same read
 */
final case class LftaOptions(
    records: Option[Records],
    addresses: Addresses,
    mode: Policy,
    corruptColumn: String,
    ports: Set[Int],
    maxPartitionBytes: Option[Long],
    tables: ReaderTables,
    pushDownAggregate: Boolean,
    columnar: Boolean,
    skipped: SkippedFiles,
    hadoop: Map[String, String],
    said: Map[String, String]
)

object LftaOptions {

  // IANA's of IPFIX, and those that collectors of NetFlow listen on. sFlow's 6343 is another protocol.
  private val Ports = "2055,4739,9995,9996"
  private val TableBytes = "1m"

  /** Names of our own, as they are written, with what they say where they are not given. */
  val own: Seq[(String, String)] = Seq(
    "records" -> "as the files are",
    "addresses" -> Addresses.Binary.name,
    "mode" -> Policy.PERMISSIVE.name,
    "columnNameOfCorruptRecord" -> "_malformed",
    "ports" -> Ports,
    "maxPartitionBytes" -> "spark.sql.files.maxPartitionBytes",
    "tables.memory" -> TableBytes,
    "tables.kind" -> "secondChance",
    "flush" -> Flush.End.name,
    "pushDownAggregate" -> "true",
    "columnar" -> "true"
  )

  // What Spark's file sources know, what streams of files know, and what a catalog says of a table.
  private val ofSpark = Seq(
    "path",
    "paths",
    "recursiveFileLookup",
    "pathGlobFilter",
    "ignoreMissingFiles",
    "ignoreCorruptFiles",
    "ignoreInvalidPartitionPaths",
    "modifiedBefore",
    "modifiedAfter",
    "basePath",
    "timeZone"
  )
  private val ofCatalogs =
    Set("provider", "location", "owner", "external", "comment", "collation", "is_managed_location", "__globpaths__")

  private val known = (own.map(_._1) ++ StreamOptions.own ++ ofSpark).map(lower).toSet ++ ofCatalogs

  def apply(options: CaseInsensitiveStringMap): LftaOptions = {
    val all = options.asCaseSensitiveMap.asScala.toMap
    all.keys.foreach(refuseUnknown)
    val files = new FileSourceOptions(CaseInsensitiveMap(all))
    def text(name: String): String = Option(options.get(name)).map(_.trim).getOrElse(default(name))
    LftaOptions(
      Option(options.get("records")).map(v => chosen("records", v.trim, Records.all)(_.name)),
      chosen("addresses", text("addresses"), Addresses.all)(_.name),
      chosen("mode", text("mode"), Policy.values.toSeq)(_.name),
      name("columnNameOfCorruptRecord", text("columnNameOfCorruptRecord")),
      ports(text("ports")),
      Option(options.get("maxPartitionBytes")).map(bytes("maxPartitionBytes", _)),
      ReaderTables(
        bytes("tables.memory", text("tables.memory")),
        chosen("tables.kind", text("tables.kind"), TableKind.values.toSeq)(kindName),
        chosen("flush", text("flush"), Flush.all)(_.name)
      ),
      boolean("pushDownAggregate", text("pushDownAggregate")),
      boolean("columnar", text("columnar")),
      SkippedFiles(files.ignoreMissingFiles, files.ignoreCorruptFiles),
      all.filter { case (name, _) => isHadoop(name) },
      all.map { case (name, value) => lower(name) -> value }
    )
  }

  private def kindName(kind: TableKind): String = kind match {
    case TableKind.DIRECT => "direct"
    case TableKind.SECOND_CHANCE => "secondChance"
  }

  private def default(name: String): String = own.collectFirst { case (`name`, value) => value }.get

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  /** Those have a dot in their names, as only few of ours do. */
  private def isHadoop(name: String): Boolean =
    name.contains('.') && !Seq("tables.", "ring.").exists(lower(name).startsWith)

  private def refuseUnknown(name: String): Unit =
    if (!known.contains(lower(name)) && !isHadoop(name)) {
      val names = (own.map(_._1) ++ StreamOptions.own ++ ofSpark).sorted.mkString(", ")
      refuse(name, s"there is no such option. The options of lfta are: $names.")
    }

  private def chosen[T](option: String, value: String, all: Seq[T])(name: T => String): T =
    all.find(name(_).equalsIgnoreCase(value))
      .getOrElse(refuse(option, s"'$value' is not one of ${all.map(name).mkString(", ")}."))

  private def boolean(option: String, value: String): Boolean =
    lower(value) match {
      case "true" => true
      case "false" => false
      case _ => refuse(option, s"'$value' is neither true nor false.")
    }

  private def name(option: String, value: String): String =
    if (value.isEmpty) refuse(option, "a column needs a name.") else value

  private[source] def bytes(option: String, value: String): Long = {
    val parsed =
      try org.apache.spark.network.util.JavaUtils.byteStringAsBytes(value.trim)
      catch { case _: IllegalArgumentException => -1L }
    if (parsed > 0) parsed
    else refuse(option, s"'$value' is no size above 0. Write it in bytes, or as 64k, 1m, 2g.")
  }

  private def ports(value: String): Set[Int] =
    value.split(',').map(_.trim).filter(_.nonEmpty).map { p =>
      p.toIntOption.filter(n => n > 0 && n <= 0xffff)
        .getOrElse(refuse("ports", s"'$p' is no UDP port from 1 to 65535. Write ports with commas between them."))
    }.toSet

  private[source] def refuse(option: String, message: String): Nothing =
    throw new AnalysisException(
      "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE",
      Map("optionName" -> option, "message" -> message)
    )
}
