"""Runs the 22 reports with the plugin off and on, compares the answers row by row and measures both."""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import stats
from phantoms.explanation import Explanation, explain
from phantoms.lab.benchmark.session import noop, open_session, register, require_plain, require_shared
from phantoms.lab.data import ensure
from phantoms.lab.reports import NFC22, union
from phantoms.session import disable, enable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Log = Callable[[str], None]


@dataclass(frozen=True)
class DemoResult:
    """What the demonstration found.

    Attributes
    ----------
    rows : int
        Flow records read.
    spark : str
        Spark version.
    off, on : float
        Seconds for the 22 reports without and with the plugin (medians).
    differing : int
        Result rows that one of the two has more often than the other; 0 when the answers are equal.
    sizes : dict
        Result rows per report.
    explanation : Explanation
        The plugin's decision for the runs that were timed.
    before : Explanation
        Its decision before the first run, with what it expected by a sample.
    observed : dict
        By grouping, the groups that the runs counted.
    settings : dict
        The session's confs.
    """

    rows: int
    spark: str
    off: float
    on: float
    differing: int
    sizes: dict[str, int]
    explanation: Explanation
    before: Explanation
    observed: dict[frozenset[str], float]
    settings: dict[str, str]

    @property
    def equal(self) -> bool:
        """Whether both answers are the same multiset of rows."""
        return self.differing == 0

    @property
    def ratio(self) -> float:
        """Time without the plugin over time with it."""
        return self.off / self.on


class Progress:
    """Numbered steps; on a terminal the running step shows its elapsed seconds."""

    def __init__(self, steps: int, log: Log) -> None:
        self.steps, self.log, self.done = steps, log, 0

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Announce a step, run it, say how long it took."""
        self.done += 1
        label = f"[{self.done}/{self.steps}] {what}"
        started = time.perf_counter()
        finished = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(label, started, finished), daemon=True)
        if sys.stderr.isatty():
            ticker.start()
        else:
            self.log(f"{label} ...")
        try:
            yield
        finally:
            finished.set()
            if ticker.is_alive():
                ticker.join()
        self.log(f"{label}: {time.perf_counter() - started:.1f} s")

    @staticmethod
    def _tick(label: str, started: float, finished: threading.Event) -> None:
        while not finished.wait(0.5):
            sys.stderr.write(f"\r{label} ... {time.perf_counter() - started:.0f} s ")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def differing_rows(spark: SparkSession, left: Path, right: Path) -> int:
    """Rows, counted with multiplicity, that two Parquet results do not have in common.

    Every row of the one is matched against every row of the other, inside Spark: one row more on the left counts one
    up, one row more on the right one down, and equal multisets cancel out.
    """
    columns = spark.read.parquet(str(left)).columns
    by = ", ".join(columns)
    return int(
        spark.sql(
            f"SELECT coalesce(sum(abs(balance)), 0) FROM (SELECT sum(side) AS balance FROM ("
            f"SELECT {by}, 1 AS side FROM parquet.`{left}` UNION ALL SELECT {by}, -1 AS side FROM parquet.`{right}`"
            f") GROUP BY {by} HAVING sum(side) <> 0)"
        ).collect()[0][0]
    )


def run(rows: int = 3_000_000, repeat: int = 2, log: Log = print) -> DemoResult:
    """Run the demonstration.

    Parameters
    ----------
    rows : int
        Flow records.
    repeat : int
        Timed runs of either side, after the run whose answers are compared.
    log : callable
        Receives the lines of progress.

    Raises
    ------
    PhantomsError
        ``NOT_SHARED`` if the plugin did not act, so that there would be nothing to show.
    """
    progress = Progress(6, log)
    with progress.step(f"{rows:,} flow records"):
        path = ensure("flows", rows)
    with progress.step("Spark session with the plugin"):
        spark = open_session("phantoms demo", plugin=True)
        register(spark, NFC22.dataset, path)
    query = union(NFC22, NFC22.dataset)
    before = explain(spark.sql(query))
    switches: dict[str, Callable[[Any], None]] = {"off": disable, "on": enable}
    proofs = {"off": require_plain, "on": require_shared}
    with tempfile.TemporaryDirectory(prefix="phantoms-demo-") as scratch:
        stored = {side: Path(scratch) / side for side in switches}
        for side, switch in switches.items():
            with progress.step(f"22 reports with the plugin {side}, answers stored"):
                switch(spark)
                spark.sql(query).write.parquet(str(stored[side]))
                proofs[side](spark, f"plugin {side}")
        disable(spark)
        with progress.step("answers compared row by row"):
            differing = differing_rows(spark, stored["on"], stored["off"])
            found = spark.read.parquet(str(stored["on"])).groupBy("report").count().collect()
            sizes = {r.name: 0 for r in NFC22.reports} | {str(row[0]): int(row[1]) for row in found}
    times: dict[str, list[float]] = {"off": [], "on": []}
    with progress.step(f"timed, {repeat} runs each, in turns"):
        for i in range(repeat):
            for side in ("off", "on") if i % 2 == 0 else ("on", "off"):
                switches[side](spark)
                started = time.perf_counter()
                noop(spark.sql(query))
                times[side].append(time.perf_counter() - started)
    enable(spark)
    explanation = explain(spark.sql(query))
    observed = {frozenset(g["columns"]): g["groups"] for i in stats.observed(spark=spark) for g in i["groups"]}
    shown = ("spark.sql.", "spark.master", "spark.driver.memory")
    conf = {k: str(v) for k, v in spark.sparkContext.getConf().getAll() if k.startswith(shown)}
    result = DemoResult(
        rows=rows,
        spark=spark.version,
        off=statistics.median(times["off"]),
        on=statistics.median(times["on"]),
        differing=differing,
        sizes=sizes,
        explanation=explanation,
        before=before,
        observed=observed,
        settings=conf,
    )
    spark.stop()
    return result
