package io.phantoms.spark.lab.windows.papers

import java.nio.file.{Files, Paths}

/**
 * Computes the tables and figures of On-the-fly sharing and Shared hierarchical aggregation that need no testbed, writes
 * them as JSON and into their pages.
 *
 * Usage: `WindowPapers RESULTS_DIRECTORY PAGES_DIRECTORY [NAME ...]`; all papers by default.
 */
object WindowPapers {

  def main(args: Array[String]): Unit = {
    val (results, pages) = (Paths.get(args(0)), Paths.get(args(1)))
    Files.createDirectories(results)
    val reports = Seq[(String, () => PaperReport)](
      "shared-hierarchical" -> (() => new SharedHierarchical(sets = 50).report),
      "on-the-fly-sharing" -> (() =>
        new OnTheFlySharing(new Trades(seed = 1, rows = 1138636), iterations = 10, passes = 3).report
      )
    )
    val wanted = if (args.length > 2) args.drop(2).toSet else reports.map(_._1).toSet
    reports.filter(r => wanted(r._1)).map(_._2.apply()).foreach { r =>
      r.writeJson(results.resolve(s"${r.name}.json"))
      r.writePage(pages.resolve(s"${r.name}.md"))
      println(s"${r.name}: ${r.tables.map(_.rows.size).sum} numbers")
    }
  }
}
