"""Windows and predicates: their forms in Spark, and DuckDB's in two steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phantoms.lab.benchmark import answers
from phantoms.lab.benchmark.duck import DuckQuery
from phantoms.lab.benchmark.engines import Engine
from phantoms.lab.benchmark.forms import Log, SparkForms
from phantoms.lab.benchmark.result import WINDOW_FORMS, WindowResult
from phantoms.lab.windows import WindowWorkload, conditional, separate, union, unpivoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MICROS = 1_000_000


class WindowForms(SparkForms):
    """groupBys over windows of one table: as a union, or as one aggregate per window with FILTER clauses."""

    def __init__(self, workload: WindowWorkload) -> None:
        self.workload, self.forms, self.table = workload, WINDOW_FORMS, "trades"
        self.name, self.dataset, self.named_only = workload.name, workload.dataset, workload.named_only
        self.title = f"{len(workload.queries)} groupBys of {len(workload.windows)} windows; ONE is {workload.one.name}"
        if not workload.has_filter_form:
            self.absent = ("plain_filter", "plugin_filter")
        if not workload.keys:  # some thousand rows
            self.absent += ("output",)
        self.acted: dict[str, bool] = {}
        self.answer_rows = 0

    def frames(self, form: str) -> list[DataFrame]:
        """The DataFrames a form consists of."""
        w, t = self.workload, self.table
        if form == "scan":
            return [self.spark.table(t).select(*w.columns)]
        if form == "one":
            return [self.spark.sql(separate(w, w.one, t))]
        if form == "output":
            return [self._output()]
        return [self.spark.sql(conditional(w, t) if form.endswith("_filter") else union(w, t))]

    def _output(self) -> DataFrame:
        """As many rows as the answer has, of its columns, out of nothing."""
        # Spark's range is compiled into the same loop that hands rows to the sink; a constant would be no column.
        of = {"query": "'sliding'", "start": "timestamp_micros(id)", **dict.fromkeys(self.workload.keys, "'ABCD'")}
        columns = [*of.items(), *((a.name, "id") for a in self.workload.aggregates)]
        return self.spark.range(self.answer_rows).selectExpr(*(f"{sql} AS {name}" for name, sql in columns))

    def check(self, form: str, stored: Sequence[str]) -> str:
        """SQL computing the fingerprint of a form's stored answer."""
        rows = unpivoted(self.workload, stored[0]) if form.endswith("_filter") else f"SELECT * FROM {stored[0]}"
        words = [f"CAST(conv(substr(md5({k}), 1, 8), 16, 10) AS BIGINT)" for k in self.workload.keys]
        return _check(self.workload, "unix_micros(start)", words, rows)

    def proven(self, form: str, log: Log) -> None:
        """Fail if a plain form ran through the plugin; note whether the plugin's did, and why not."""
        self.note(form, self.acted, log)

    def engine(self, form: str, path: Path) -> Engine:
        """DuckDB on the files of the data set."""
        source = f"read_parquet('{path}/*.parquet')"
        sql = (frames if self.workload.keys else slices)(self.workload, source)
        words = [f"CAST('0x' || substr(md5({k}), 1, 8) AS BIGINT)" for k in self.workload.keys]
        return DuckQuery(sql, _check(self.workload, "epoch_us(start)", words, sql))

    def missing(self, found: answers.Fingerprint) -> list[str]:
        """Queries without rows: those without a predicate have some. The first answer's size is remembered."""
        self.answer_rows = sum(n for n, _, _ in found.values())
        return sorted({q.name for q in self.workload.queries if q.predicate is None} - found.keys())

    def result(self, rows: int, spark: str, repeat: int, equal: bool, times: dict[str, float | None]) -> WindowResult:
        """What was measured."""
        return WindowResult(self.name, rows, spark, repeat, equal, times, dict(self.acted))


def _check(workload: WindowWorkload, start: str, words: Sequence[str], relation: str) -> str:
    return answers.fingerprint_by("query", (start, *words, *(a.name for a in workload.aggregates)), relation)


def frames(workload: WindowWorkload, source: str) -> str:
    """One sliding window by keys in DuckDB: aggregates of each slide, then a frame of so many slides over them.

    DuckDB's windows of time do not overlap, and a join of rows with the windows they are in copies rows as Spark does.
    A frame counts rows, so that each key has one for each slide between its first window and its last.
    """
    (query,) = workload.queries
    window = query.window
    if window.range % window.slide or query.predicate:
        raise ValueError(f"{workload.name} is no window of whole slides over all rows")
    keys = ", ".join(workload.keys)
    parts = ", ".join(f"{a.sql} AS {a.name}" for a in workload.aggregates)
    framed = ", ".join(f"{a.combine}({a.name}) OVER framed AS {a.name}" for a in workload.aggregates)
    return f"""
WITH slides AS (SELECT {keys}, epoch_us(ts) // {window.slide * MICROS} AS slide, {parts} FROM {source} GROUP BY ALL),
spans AS (
  SELECT {keys}, unnest(range(min(slide) - {window.range // window.slide - 1}, max(slide) + 1)) AS slide
  FROM slides GROUP BY {keys}),
framed AS (
  SELECT {keys}, slide, {framed} FROM spans LEFT JOIN slides USING ({keys}, slide)
  WINDOW framed AS (PARTITION BY {keys} ORDER BY slide
    ROWS BETWEEN CURRENT ROW AND {window.range // window.slide - 1} FOLLOWING))
SELECT '{query.name}' AS query, make_timestamp(slide * {window.slide * MICROS}) AS start, {keys},
  {", ".join(a.name for a in workload.aggregates)}
FROM framed WHERE {workload.aggregates[0].name} IS NOT NULL"""


def slices(workload: WindowWorkload, source: str) -> str:
    """Many windows in DuckDB: aggregates of each second and predicate, then a join with the windows they are in.

    All windows begin and end at whole seconds, of which an hour has few.
    """
    (aggregate,) = workload.aggregates
    parts = ", ".join(
        f"{aggregate.sql}{f' FILTER (WHERE {p})' if p else ''} AS p{i}" for i, p in enumerate(workload.predicates)
    )
    number = {p: f"p{i}" for i, p in enumerate(workload.predicates)}
    queries = ", ".join(
        f"('{q.name}', '{number[q.predicate]}', {q.window.range}, {q.window.slide})" for q in workload.queries
    )
    columns = ", ".join(number.values())
    return f"""
WITH seconds AS MATERIALIZED (SELECT epoch_us(ts) // {MICROS} AS second, {parts} FROM {source} GROUP BY ALL),
parts AS (SELECT second, p, part FROM seconds UNPIVOT (part FOR p IN ({columns}))),
bounds AS (SELECT min(second) AS low, max(second) AS high FROM seconds),
windows AS (
  SELECT query, p, width, unnest(range(((low - width) // slide + 1) * slide, high + 1, slide)) AS first
  FROM (VALUES {queries}) AS queries(query, p, width, slide), bounds)
SELECT query, make_timestamp(first * {MICROS}) AS start, {aggregate.combine}(part) AS {aggregate.name}
FROM parts JOIN windows ON parts.p = windows.p AND second >= first AND second < first + width
GROUP BY query, first"""
