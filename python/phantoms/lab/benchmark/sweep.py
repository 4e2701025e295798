"""The sweep: plain Spark against the plugin over numbers of grouping sets and sizes of the finest grouping."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import outputs
from phantoms.errors import PhantomsError
from phantoms.explanation import explain
from phantoms.lab.benchmark import plot, points
from phantoms.lab.benchmark.points import Point
from phantoms.lab.benchmark.session import (
    describe,
    noop,
    open_session,
    register,
    require_plain,
    require_repeat,
    settle,
    shared,
    switch,
)
from phantoms.lab.data import ensure
from phantoms.lab.data import sweep as data
from phantoms.lab.reports import sets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMS = ("plain_sets", "plugin_sets")
"""The forms timed, in the order of a round."""

TABLE = "sweep"

Log = Callable[[str], None]
Fingerprint = tuple[int, int, int]
"""Rows, and the sums of the lower and upper halves of a hash of each: equal for equal multisets of rows."""


@dataclass(frozen=True)
class Measured:
    """What was measured at one point.

    Attributes
    ----------
    sets, percent, groups
        The point; groups of its finest grouping.
    result_rows : int
        Rows of all its groupings.
    shared : bool
        Whether the plugin's form ran through the plugin's operators; if not, it was plain Spark's plan.
    reason : str or None
        Why the plugin left the plan alone.
    estimated : float or None
        Plain Spark's cost over the plugin's, as the plugin expected them.
    answers_equal : bool
        Whether both forms gave the same rows.
    times : dict
        Median seconds per form.
    ratio : float
        Plain over plugin.
    """

    sets: int
    percent: float
    groups: int
    result_rows: int
    shared: bool
    reason: str | None
    estimated: float | None
    answers_equal: bool
    times: dict[str, float]
    ratio: float

    @property
    def point(self) -> Point:
        """The point."""
        return Point(self.percent, self.sets)

    def __str__(self) -> str:
        what = "shared" if self.shared else f"declined ({self.reason})"
        seconds = ", ".join(f"{form} {t:.3f} s" for form, t in self.times.items())
        verdict = "equal" if self.answers_equal else "DIFFER"
        return f"{self.point}: {seconds}, ratio {self.ratio:.2f}, {what}, answers {verdict}"


@dataclass
class SweepResult:
    """The points measured under the same conditions: rows, Spark version, timed runs per form, confs added."""

    rows: int
    spark: str
    repeat: int
    conf: dict[str, str]
    points: list[Measured] = field(default_factory=list)

    @property
    def answers_equal(self) -> bool:
        """Whether both forms gave the same rows at every point."""
        return all(m.answers_equal for m in self.points)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``--json``."""
        measured = [asdict(m) for m in self.points]
        return {"name": "sweep", **self.conditions(), "answers_equal": self.answers_equal, "points": measured}

    def conditions(self) -> dict[str, Any]:
        """What has to be the same for points to be comparable."""
        return {"rows": self.rows, "spark": self.spark, "repeat": self.repeat, "conf": self.conf}

    def add(self, measured: Measured) -> None:
        """Add a point, keeping the order of `all_points`."""
        self.points.append(measured)
        self.points.sort(key=lambda m: points.all_points().index(m.point))

    def save(self, file: Path) -> None:
        """Write the document; a file half written never replaces a whole one."""
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(json.dumps(self.to_dict(), indent=2) + "\n")
        partial.replace(file)

    def load(self, file: Path) -> None:
        """Take over the points of an earlier run, which must have had the same conditions."""
        try:
            document = json.loads(file.read_text())
            found = {key: document[key] for key in self.conditions()}
            earlier = [Measured(**m) for m in document["points"]]
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise PhantomsError("BAD_ARGUMENT", f"{file} holds no sweep.", "Leave --resume out to replace it.") from e
        if found != self.conditions():
            differing = ", ".join(f"{k}={found[k]}" for k, v in self.conditions().items() if found[k] != v)
            raise PhantomsError(
                "BAD_ARGUMENT",
                f"{file} was measured with {differing}.",
                "Resume with the same, or leave --resume out to replace it.",
            )
        for measured in earlier:
            self.add(measured)


def run(
    rows: int | None = None,
    repeat: int = 3,
    chosen: Sequence[str] | None = None,
    json_file: Path | None = None,
    resume: bool = False,
    plot_file: Path | None = None,
    log: Log = print,
    conf: dict[str, str] | None = None,
) -> SweepResult:
    """Run the sweep.

    At each point both forms first run once with their answers compared, then `repeat` times, every other round in
    reverse order, into Spark's ``noop`` sink; at the first point, one round more is run and not counted. The JSON file
    is written after each point.

    Parameters
    ----------
    rows : int, optional
        Rows of the inputs; 2 million if omitted.
    repeat : int
        Timed runs of each form.
    chosen : sequence of str, optional
        Points as `points.parse` reads them; all if omitted.
    json_file : Path, optional
        Where to write `SweepResult.to_dict`.
    resume : bool
        Keep the points `json_file` already holds, and measure only the others.
    plot_file : Path, optional
        Where to draw the ratios (needs matplotlib).
    log : callable
        Receives the lines of progress.
    conf : dict, optional
        Spark confs added to the session.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for a wrong argument; ``NOT_SHARED`` if the plain form ran through the plugin, or the plugin
        decided otherwise for the run whose answer was compared than for those that were timed.
    """
    import pyspark

    require_repeat(repeat)
    if resume and json_file is None:
        raise PhantomsError("BAD_ARGUMENT", "there is no file to resume from.", "Give --json FILE.")
    outputs.check(json_file, "--json")
    outputs.check(plot_file, "--plot")
    if plot_file is not None:
        plot.require(plot_file)
    asked = points.parse(chosen)
    count = data.DEFAULT_ROWS if rows is None else rows
    result = SweepResult(count, pyspark.__version__, repeat, dict(conf or {}))
    if resume and json_file is not None and json_file.exists():
        result.load(json_file)
    kept = {m.point for m in result.points}
    left = [p for p in asked if p not in kept]
    log(f"sweep: {len(left)} points over {count:,} rows" + (f", {len(kept)} kept" if kept else ""))
    if left:
        spark = open_session("phantoms bench sweep", True, conf)
        log(describe(spark))
        for i, point in enumerate(left):
            log(f"[{i + 1}/{len(left)}] {point.sets} sets, groups of the finest: {data.groups(count, point.percent):,}")
            measured = _measure(spark, point, count, repeat, log, cold=i == 0)
            log(f"  {measured}")
            result.add(measured)
            if json_file is not None:
                result.save(json_file)
        spark.stop()
    if plot_file is not None:
        plot.draw(result.to_dict(), plot_file)
        log(f"  drawn: {plot_file}")
    return result


def _measure(spark: SparkSession, point: Point, rows: int, repeat: int, log: Log, cold: bool) -> Measured:
    workload = points.workload(point)
    register(spark, TABLE, ensure(workload.dataset, rows, log=log))
    query = sets(workload, TABLE)
    columns = ", ".join(("gid", *workload.keys, *(name for _, name in workload.aggregates)))
    answers: dict[str, Fingerprint] = {}
    acted: dict[str, bool] = {}
    for form in FORMS:
        started = time.perf_counter()
        answers[form], acted[form] = _answer(spark, form, query, columns)
        log(f"  answer of {form:<12} {answers[form][0]:,} rows ({time.perf_counter() - started:.1f} s)")
    if cold:  # Spark itself is still being compiled: the answers' runs warm up a point, but not a session
        for form in FORMS:
            _timed(spark, form, query, acted[form])
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    for i in range(repeat):
        for form in FORMS if i % 2 == 0 else reversed(FORMS):
            settle(spark)
            times[form].append(_timed(spark, form, query, acted[form]))
            log(f"  round {i + 1}: {form:<12} {times[form][-1]:9.3f} s")
    medians = {form: statistics.median(t) for form, t in times.items()}
    reason, estimated = _expected(spark, query)
    return Measured(
        sets=point.sets,
        percent=point.percent,
        groups=data.groups(rows, point.percent),
        result_rows=answers["plain_sets"][0],
        shared=acted["plugin_sets"],
        reason=None if acted["plugin_sets"] else reason,
        estimated=estimated,
        answers_equal=answers["plain_sets"] == answers["plugin_sets"],
        times=medians,
        ratio=medians["plain_sets"] / medians["plugin_sets"],
    )


def _answer(spark: SparkSession, form: str, query: str, columns: str) -> tuple[Fingerprint, bool]:
    """The fingerprint of a form's rows, taken in the query itself, and whether the plugin computed them."""
    switch(spark, form)
    # xxhash64 passes over NULLs; the grouping_id among the columns tells where they belong. Halves cannot overflow.
    row = spark.sql(
        f"SELECT count(*), sum(h & 4294967295), sum(shiftrightunsigned(h, 32)) "
        f"FROM (SELECT xxhash64({columns}) AS h FROM ({query}))"
    ).collect()[0]
    if form.startswith("plain_"):
        require_plain(spark, form)
    return (int(row[0]), int(row[1]), int(row[2])), shared(spark)


def _timed(spark: SparkSession, form: str, query: str, expected: bool) -> float:
    switch(spark, form)
    started = time.perf_counter()
    noop(spark.sql(query))
    seconds = time.perf_counter() - started
    if shared(spark) != expected:
        raise PhantomsError(
            "NOT_SHARED",
            f"{form}: the plan timed {'has no' if expected else 'has'} operators of the plugin, "
            "the one whose answer was compared differs in that.",
            "Report this: the plugin should decide alike for the same grouping sets.",
        )
    return seconds


def _expected(spark: SparkSession, query: str) -> tuple[str | None, float | None]:
    """What the plugin says about the plan: why not, and the ratio of the costs it expects."""
    switch(spark, "plugin_sets")
    explanation = explain(spark.sql(query))
    reasons = [f"{d['code']}: {d['reason']}" for d in explanation.declined]
    costs = [(d["cost_without"], d["cost"]) for d in explanation.shared]
    estimated = [without / cost for without, cost in costs if without and cost]
    return "; ".join(reasons) or None, estimated[0] if estimated else None
