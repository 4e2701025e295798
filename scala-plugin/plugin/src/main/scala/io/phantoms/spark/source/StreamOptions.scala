package io.phantoms.spark.source

import java.net.InetSocketAddress
import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import io.phantoms.spark.source.stream.FilesStreamOptions

import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What a stream is told beside what every read is: see [[LftaOptions]]. */
private[source] object StreamOptions {

  /** Names of our own, as they are written. */
  val own: Seq[String] = Seq(
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "fileAge",
    "maxFileAge",
    "listen",
    "ring.memory",
    "maxDatagramsPerTrigger"
  )

  private val FileAge = "5s"
  private val MaxFileAge = "7d"
  private val RingMemory = "64m"

  /** @param retained how many batches Spark keeps in the checkpoint */
  def ofFiles(options: CaseInsensitiveStringMap, retained: Int): FilesStreamOptions = FilesStreamOptions(
    count(options, "maxFilesPerTrigger", Int.MaxValue).map(_.toInt),
    Option(options.get("maxBytesPerTrigger")).map(bytes("maxBytesPerTrigger", _)),
    millis(options, "fileAge", FileAge),
    millis(options, "maxFileAge", MaxFileAge),
    retained
  )

  /** The address to listen on; None: none. */
  def listen(options: CaseInsensitiveStringMap): Option[String] = Option(options.get("listen")).map(_.trim)

  /** The socket that `host:port` names; an IPv6 host is in brackets. */
  def socket(listen: String): InetSocketAddress = listen match {
    case Address(bracketed, host, port) if port.toInt <= 0xffff =>
      new InetSocketAddress(Option(bracketed).getOrElse(host), port.toInt)
    case _ =>
      LftaOptions.refuse("listen", s"'$listen' is no host:port, such as 0.0.0.0:2055 or [::1]:4739.")
  }

  private val Address = """(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\[\]:\s]+)):(\d{1,5})""".r

  def ringBytes(options: CaseInsensitiveStringMap): Long =
    bytes("ring.memory", options.getOrDefault("ring.memory", RingMemory))

  def maxDatagrams(options: CaseInsensitiveStringMap): Option[Long] =
    count(options, "maxDatagramsPerTrigger", Long.MaxValue)

  private def count(options: CaseInsensitiveStringMap, name: String, most: Long): Option[Long] =
    Option(options.get(name)).map { value =>
      value.trim.toLongOption.filter(n => n > 0 && n <= most)
        .getOrElse(LftaOptions.refuse(name, s"'$value' is no whole number from 1 to $most."))
    }

  private def bytes(name: String, value: String): Long = LftaOptions.bytes(name, value)

  private def millis(options: CaseInsensitiveStringMap, name: String, default: String): Long = {
    val value = options.getOrDefault(name, default).trim
    // Spark's own reader of times knows 10m, but not 10 minutes.
    val short = value.replace(" ", "").toLowerCase(Locale.ROOT) match {
      case WrittenOut(n, unit) => n + unit.charAt(0)
      case other => other
    }
    val parsed =
      try JavaUtils.timeStringAs(short, TimeUnit.MILLISECONDS)
      catch { case NonFatal(_) => -1L }
    if (parsed >= 0) parsed
    else LftaOptions.refuse(name, s"'$value' is no time. Write it as 5s, 10m, 2h or 7d.")
  }

  private val WrittenOut = """(\d+)(seconds?|minutes?|hours?|days?)""".r
}
