package io.phantoms.spark.source.papers

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import io.phantoms.spark.source.table.TableKind

import org.json4s.JsonAST.{JArray, JValue}
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{pretty, render}

/**
 * Tables 1 and 2 of "Holistic UDAFs at streaming speeds", as the readers' tables and a ring in virtual time have them.
 *
 * Usage: `LftaTables RESULTS.json PAGE.md`
 */
object LftaTables {

  /** What the traffic generator sends, and how long an interval is (section 5). */
  private val (rate, epoch) = (310000.0, 10.0)

  /** Fitted, see the page: by the CPU column of table 2, and by the eager losses of its first two rows. */
  private[papers] val costs = Costs(packet = 0.041e-6, probe = 0.486e-6, leaving = 5.6e-6)
  private val ring = 117800
  private[papers] val server = RingSimulation(costs, rate, ring, epoch)

  /** A loss that nobody would have seen is none. */
  private val NoLoss = 1e-5
  private val Seed = 16L

  private[papers] final case class Least(groups: Int, direct: Int, second: Int)
  private[papers] final case class Losses(groups: Int, queries: Int, eager: Double, lazily: Double, busy: Double)

  private val table1 = Seq(
    Least(2000, 1900, 1300),
    Least(5000, 4300, 3300),
    Least(10000, 7300, 7300),
    Least(20000, 64000, 19000),
    Least(40000, 410000, 44000)
  )
  private val table2 =
    Seq(Losses(50000, 2, 1.8, 0.1, 37), Losses(25000, 3, 0.4, 0, 51), Losses(12000, 5, 0.5, 0.3, 80))

  def main(args: Array[String]): Unit = {
    val (results, page) = (Paths.get(args(0)), Paths.get(args(1)))
    val least = table1.map(row => row -> leastOf(row.groups))
    val rates = table1.map(row =>
      row -> (leaving(row.groups, TableKind.DIRECT, row.direct) ->
        leaving(row.groups, TableKind.SECOND_CHANCE, row.second))
    )
    val losses = table2.map(row => row -> lossesOf(row.groups, row.queries, epochs = 5))
    Option(results.getParent).foreach(Files.createDirectories(_))
    Files.write(results, (pretty(render(json(least, rates, losses))) + "\n").getBytes(UTF_8))
    write(page, Seq(pageOfLeast(least), pageOfRates(rates), pageOfLosses(losses)).mkString("\n"))
    println(s"$results, $page")
  }

  /** The fewest slots without loss, to one percent. */
  private[papers] def leastOf(groups: Int): Least = {
    def least(kind: TableKind): Int = {
      var (few, enough) = (1, 1)
      while (loses(groups, kind, enough)) {
        few = enough
        enough *= 2
      }
      while (enough - few > math.max(1, enough / 100)) {
        val middle = few + (enough - few) / 2
        if (loses(groups, kind, middle)) few = middle else enough = middle
      }
      enough
    }
    Least(groups, least(TableKind.DIRECT), least(TableKind.SECOND_CHANCE))
  }

  private[papers] def loses(groups: Int, kind: TableKind, slots: Int): Boolean =
    server.run(groups, 1, kind, slots, lazily = false, epochs = 1, Seed).loss > NoLoss

  /** Groups that leave a packet, where nothing is lost. */
  private[papers] def leaving(groups: Int, kind: TableKind, slots: Int): Double =
    server.copy(costs = Costs(0, 0, 0)).run(groups, 1, kind, slots, lazily = false, epochs = 1, Seed).leavingPerPacket

  /** In tables with so much room that new groups hardly ever meet, in percent. */
  private[papers] def lossesOf(groups: Int, queries: Int, epochs: Int): Losses = {
    def run(lazily: Boolean) =
      server.run(groups, queries, TableKind.SECOND_CHANCE, 64 * groups, lazily, epochs, Seed)
    val (eager, late) = (run(lazily = false), run(lazily = true))
    Losses(groups, queries, 100 * eager.loss, 100 * late.loss, 100 * late.busy)
  }

  private type Rates = Seq[(Least, (Double, Double))]

  private def json(least: Seq[(Least, Least)], rates: Rates, losses: Seq[(Losses, Losses)]): JValue = {
    def l(x: Least): JValue = ("direct" -> x.direct) ~ ("second_chance" -> x.second)
    def s(x: Losses): JValue = ("eager" -> x.eager) ~ ("lazy" -> x.lazily) ~ ("busy" -> x.busy)
    ("name" -> "lfta-tables") ~
      ("costs_us" -> ("packet" -> costs.packet * 1e6) ~ ("probe" -> costs.probe * 1e6) ~
        ("leaving" -> costs.leaving * 1e6)) ~ ("ring_packets" -> ring) ~ ("rate" -> rate) ~ ("epoch_s" -> epoch) ~
      ("table1" -> JArray(least.map { case (p, o) =>
        ("groups" -> p.groups) ~ ("paper" -> l(p)) ~ ("ours" -> l(o)): JValue
      }.toList)) ~
      ("evictions_per_packet" -> JArray(rates.map { case (p, (d, c)) =>
        ("groups" -> p.groups) ~ ("direct" -> d) ~ ("second_chance" -> c): JValue
      }.toList)) ~
      ("table2" -> JArray(losses.map { case (p, o) =>
        ("groups" -> p.groups) ~ ("queries" -> p.queries) ~ ("paper" -> s(p)) ~ ("ours" -> s(o)): JValue
      }.toList))
  }

  private def table(title: String, header: String, rows: Seq[String]): String =
    s"### $title\n\n| $header |\n|${" --- |" * header.count(_ == '|')} --- |\n${rows.map(r => s"| $r |").mkString("\n")}\n"

  private def pageOfLeast(rows: Seq[(Least, Least)]): String = table(
    "Table 1: least slots before packets are lost",
    "groups | direct, paper | direct, ours | second chance, paper | second chance, ours",
    rows.map { case (p, o) => s"${p.groups} | ${p.direct} | ${o.direct} | ${p.second} | ${o.second}" }
  )

  private def pageOfRates(rows: Rates): String = table(
    "Groups that leave a packet, in tables of the paper's least sizes",
    "groups | direct: slots | leave a packet | second chance: slots | leave a packet",
    rows.map { case (p, (d, s)) => f"${p.groups} | ${p.direct} | $d%.3f | ${p.second} | $s%.3f" }
  )

  private def pageOfLosses(rows: Seq[(Losses, Losses)]): String = table(
    "Table 2: packets lost, percent",
    "groups | queries | eager, paper | eager, ours | lazy, paper | lazy, ours | busy, paper | busy, ours",
    rows.map { case (p, o) =>
      f"${p.groups} | ${p.queries} | ${p.eager}%.1f | ${o.eager}%.2f | ${p.lazily}%.1f | ${o.lazily}%.2f | " +
        f"${p.busy}%.0f | ${o.busy}%.0f"
    }
  )

  /** The part of the page behind its mark is written anew. */
  private def write(page: Path, results: String): Unit = {
    val mark = "<!-- results -->\n"
    val text = new String(Files.readAllBytes(page), UTF_8)
    val at = text.indexOf(mark)
    require(at >= 0, s"$page has no line $mark")
    val _ = Files.write(page, (text.take(at + mark.length) + "\n" + results).getBytes(UTF_8))
  }
}
