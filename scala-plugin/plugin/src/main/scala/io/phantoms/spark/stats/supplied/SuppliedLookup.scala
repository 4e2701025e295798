package io.phantoms.spark.stats.supplied

import scala.util.control.NonFatal

import io.phantoms.spark.stats.input.{InputIdentity, LinearInput}

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession

/**
 * Supplied statistics that speak about an input.
 *
 * @param entry what was supplied
 * @param exact false: they describe the table, and the input is some of its rows
 * @param input the input in whose leaf's terms `keys` are: a cached input is matched by what was cached
 * @param keys the canonical form of each of its columns
 * @param stale true: the table was in another state when they were given
 */
final case class SuppliedMatch(
    entry: SuppliedStatistics,
    exact: Boolean,
    input: LinearInput,
    keys: Map[String, String],
    stale: Boolean
)

/** Finds what a name given by the user stands for, and which supplied statistics are about an input. */
object SuppliedLookup extends Logging {

  /** A table, view or path as the analyzer sees it now. */
  final case class Resolved(source: String, shape: Set[String], snapshot: String, columns: Map[String, String])

  /**
   * What a name stands for; None where there is no such table or path, or it is more than Projects and Filters over
   * one relation.
   */
  def resolve(session: SparkSession, name: String): Option[Resolved] = table(session, name).orElse(path(session, name))

  /** The columns a table or view has, None where the name does not resolve to one. */
  def columns(session: SparkSession, name: String): Option[Seq[String]] =
    try Some(session.table(name).columns.toSeq)
    catch { case NonFatal(_) => None }

  private def table(session: SparkSession, name: String): Option[Resolved] =
    try {
      val execution = session.table(name).queryExecution
      val analyzed = LinearInput.of(execution.analyzed)
      // The input it is compared with went through the optimizer, which rewrites filters.
      val optimized = if (analyzed.exists(_.filters.nonEmpty)) LinearInput.of(execution.optimizedPlan) else None
      analyzed.map { input =>
        val columns = execution.analyzed.output.map(a => a.name -> input.canonical(input.overLeaf(a))).toMap
        val identity = InputIdentity.of(input)
        Resolved(identity.source, optimized.getOrElse(input).canonicalFilters, identity.snapshot, columns)
      }
    } catch { case NonFatal(_) => None }

  private def path(session: SparkSession, name: String): Option[Resolved] =
    if (!name.contains("/")) None
    else
      try {
        val path = new Path(name)
        val fs = path.getFileSystem(session.sessionState.newHadoopConf())
        if (fs.exists(path)) Some(Resolved(s"files:${fs.makeQualified(path)}", Set.empty, "", Map.empty)) else None
      } catch { case NonFatal(_) => None }

  /** Matches for an input, those that describe exactly its rows first. */
  def find(session: SparkSession, registry: StatsRegistry, input: LinearInput): Seq[SuppliedMatch] = {
    val candidates = Seq(input) ++ input.uncached
    registry.all.flatMap { entry =>
      candidates.iterator.flatMap(matching(session, entry, _)).nextOption()
    }.sortBy(!_.exact)
  }

  private def matching(
      session: SparkSession,
      entry: SuppliedStatistics,
      candidate: LinearInput
  ): Option[SuppliedMatch] = {
    val source = InputIdentity.source(candidate.leaf)
    // The name is resolved again only where it can be about this input: that may take a catalog call.
    if (entry.source.exists(_ != source)) None
    else {
      val stored = entry.source.map { s =>
        Resolved(s, if (entry.shape.isEmpty) Set.empty else Set(entry.shape), entry.snapshot, Map.empty)
      }
      table(session, entry.table).orElse(stored).orElse(path(session, entry.table)).filter(_.source == source)
        .filter(r => r.shape.subsetOf(candidate.canonicalFilters)).map { resolved =>
          val byLeaf = candidate.leaf.output.map(a => a.name -> candidate.canonical(a)).toMap
          val columns = byLeaf ++ resolved.columns
          val missing = (entry.groups.keys ++ entry.flowLength.keys).flatten.filterNot(columns.contains).toSeq.distinct
          if (missing.nonEmpty) {
            logWarning(
              s"spark-phantoms: statistics of ${entry.table} name columns it does not have: ${missing.mkString(", ")}; " +
                s"it has ${columns.keys.toSeq.sorted.mkString(", ")}. They are ignored."
            )
          }
          val snapshot = InputIdentity.snapshot(candidate.leaf)
          SuppliedMatch(
            entry,
            resolved.shape == candidate.canonicalFilters,
            candidate,
            columns,
            entry.snapshot.nonEmpty && snapshot.nonEmpty && entry.snapshot != snapshot
          )
        }
    }
  }
}
