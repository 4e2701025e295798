"""Running a benchmark: forms in alternating order, medians, ratios, answer check."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import outputs
from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import answers
from phantoms.lab.benchmark.engines import ENGINES, Engine
from phantoms.lab.benchmark.session import (
    describe,
    noop,
    open_session,
    register,
    require_plain,
    require_repeat,
    require_shared,
    settle,
    switch,
)
from phantoms.lab.reports import WORKLOADS, Workload, separate, sets, union
from phantoms.session import ENABLED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMS = ("plain_separate", "plain_union", "plain_sets", "plugin_union", "plugin_sets", "scan", "one", *ENGINES)
"""The forms that can be timed, in the order of a round."""

Log = Callable[[str], None]


@dataclass(frozen=True)
class BenchmarkResult:
    """What one benchmark measured.

    Attributes
    ----------
    name, rows, spark, repeat
        Benchmark, rows of its input, Spark version, timed runs per form.
    answers_equal : bool
        Whether every form gave the same rows.
    times : dict
        Median seconds per form; None where a form was not run.
    """

    name: str
    rows: int
    spark: str
    repeat: int
    answers_equal: bool
    times: dict[str, float | None]

    @property
    def ratios(self) -> dict[str, float | None]:
        """Ratios of medians, None where a form is missing.

        ``best_plain`` = fastest plain form / slowest plugin form, ``one`` = slowest plugin form / ONE query, and for
        each other engine slowest plugin form / that engine.
        """
        plain = [t for f in FORMS if f.startswith("plain_") and (t := self.times[f]) is not None]
        plugin = [t for f in FORMS if f.startswith("plugin_") and (t := self.times[f]) is not None]
        slowest = max(plugin) if plugin else None

        def over(form: str) -> float | None:
            base = self.times[form]
            return None if slowest is None or base is None else slowest / base

        return {
            "best_plain": None if slowest is None or not plain else min(plain) / slowest,
            "one": over("one"),
            **{engine: over(engine) for engine in ENGINES},
        }

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``--json``."""
        return {
            "name": self.name,
            "rows": self.rows,
            "spark": self.spark,
            "repeat": self.repeat,
            "answers_equal": self.answers_equal,
            "times": dict(self.times),
            "ratios": self.ratios,
        }

    def __str__(self) -> str:
        """A table of times and the ratios pair by pair."""
        lines = [f"{self.name}: {self.rows:,} rows, Spark {self.spark}, median of {self.repeat}"]
        run = {f: t for f in FORMS if (t := self.times[f]) is not None}
        lines += [f"  {form:<15} {t:9.3f} s" for form, t in run.items()]
        for p in (f for f in run if f.startswith("plugin_")):
            pairs = [f"{run[q] / run[p]:.2f}x {q}" for q in run if not q.startswith("plugin_")]
            lines.append(f"  {p} is faster by: {', '.join(pairs)}")
        lines += [f"  {name} = {value:.2f}" for name, value in self.ratios.items() if value is not None]
        lines.append(f"  answers {'equal' if self.answers_equal else 'DIFFER'}")
        return "\n".join(lines)


class _SparkForms:
    """The forms Spark runs, each as the DataFrames it consists of."""

    def __init__(self, spark: SparkSession, workload: Workload, table: str, log: Log) -> None:
        self.spark, self.workload, self.table, self.log = spark, workload, table, log

    def frames(self, form: str) -> list[DataFrame]:
        w, t = self.workload, self.table
        if form == "scan":
            return [self.spark.table(t).select(*w.columns)]
        if form == "one":
            index = [r.name for r in w.reports].index(w.one)
            return [self.spark.sql(separate(w, t)[index])]
        if form.endswith("_separate"):
            return [self.spark.sql(q) for q in separate(w, t)]
        return [self.spark.sql(union(w, t) if form.endswith("_union") else sets(w, t))]

    def proven(self, form: str) -> None:
        (require_shared if form.startswith("plugin_") else require_plain)(self.spark, form)

    def run(self, form: str) -> float:
        switch(self.spark, form)
        started = time.perf_counter()
        for df in self.frames(form):
            noop(df)
        return time.perf_counter() - started

    def fingerprint(self, form: str, scratch: Path) -> answers.Fingerprint:
        """Write the form's answer, prove which operators wrote it, and fingerprint the files with the plugin off."""
        switch(self.spark, form)
        frames = self.frames(form)
        for i, df in enumerate(frames):
            df.write.mode("overwrite").parquet(str(scratch / str(i)))
        self.proven(form)
        self.spark.conf.set(ENABLED, "false")
        stored = [f"parquet.`{scratch / str(i)}`" for i in range(len(frames))]
        if form.endswith("_separate"):
            relation = " UNION ALL ".join(answers.padded_report(self.workload, i, s) for i, s in enumerate(stored))
        elif form.endswith("_union"):
            relation = f"SELECT * FROM {stored[0]}"
        else:
            relation = answers.named_sets(self.workload, stored[0])
        found = answers.fingerprint(self.spark.sql(answers.fingerprint_sql(self.workload, relation)).collect())
        shutil.rmtree(scratch, ignore_errors=True)
        return found


def run(
    name: str,
    rows: int | None = None,
    repeat: int = 3,
    forms: Sequence[str] | None = None,
    json_file: Path | None = None,
    log: Log = print,
    conf: dict[str, str] | None = None,
) -> BenchmarkResult:
    """Run a benchmark.

    Every form first runs once with its answer checked, which also warms it up; then `repeat` rounds are timed, every
    other one in reverse order, each run once what the one before it left behind is gone. A Spark form's time is that of
    writing all its rows to Spark's ``noop`` sink.

    Parameters
    ----------
    name : str
        ``nfc22``, ``smap4`` or ``cube4``.
    rows : int, optional
        Rows of the input; the data set's default if omitted.
    repeat : int
        Timed runs of each form.
    forms : sequence of str, optional
        Some of `FORMS`; all if omitted (other engines only where installed).
    json_file : Path, optional
        Where to write `BenchmarkResult.to_dict`.
    log : callable
        Receives the lines of progress.
    conf : dict, optional
        Spark confs added to the session.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for an unknown name or form, or a file that cannot be written; ``MISSING_EXTRA`` where the
        data cannot be generated; ``NOT_SHARED`` if a plugin form ran without the plugin's
        operators, or a plain one with them.
    """
    chosen = _check(name, repeat, forms)
    outputs.check(json_file, "--json")
    from phantoms.lab.data import DATASETS, ensure

    workload = WORKLOADS[name]
    count = DATASETS[workload.dataset].default_rows if rows is None else rows
    path = ensure(workload.dataset, count, log=log)
    spark = open_session(f"phantoms bench {name}", any(f.startswith("plugin_") for f in chosen), conf)
    sparked = _SparkForms(spark, workload, workload.dataset, log)
    register(spark, workload.dataset, path)
    others: dict[str, Engine] = {form: ENGINES[form].open(workload, path) for form in chosen if form in ENGINES}
    log(f"{name}: {len(workload.reports)} groupBys over {count:,} {workload.dataset}; ONE is {workload.one}")
    log(describe(spark))

    def once(form: str) -> float:
        return others[form].run() if form in others else sparked.run(form)

    equal = _same_answers(chosen, sparked, others, log)
    for form in chosen:
        if form in ("scan", "one"):
            once(form)
    measured: dict[str, list[float]] = {form: [] for form in chosen}
    for i in range(repeat):
        for form in chosen if i % 2 == 0 else reversed(chosen):
            settle(spark)
            measured[form].append(once(form))
            log(f"  round {i + 1}: {form:<15} {measured[form][-1]:9.3f} s")
    for engine in others.values():
        engine.close()

    times = {form: statistics.median(measured[form]) if form in measured else None for form in FORMS}
    result = BenchmarkResult(name, count, spark.version, repeat, equal, times)
    spark.stop()
    log(str(result))
    if json_file is not None:
        json_file.write_text(json.dumps(result.to_dict(), indent=2) + "\n")
    return result


def _check(name: str, repeat: int, forms: Sequence[str] | None) -> list[str]:
    if name not in WORKLOADS:
        raise PhantomsError("BAD_ARGUMENT", f"unknown benchmark {name!r}.", f"Known: {', '.join(WORKLOADS)}, sweep.")
    require_repeat(repeat)
    if forms is None:
        return [f for f in FORMS if f not in ENGINES or ENGINES[f].installed()]
    unknown = [f for f in forms if f not in FORMS]
    if unknown or not forms:
        raise PhantomsError("BAD_ARGUMENT", f"unknown forms: {', '.join(unknown)}.", f"Known: {', '.join(FORMS)}.")
    for title in (ENGINES[f].title for f in forms if f in ENGINES and not ENGINES[f].installed()):
        raise PhantomsError(
            "BAD_ARGUMENT", f"{title} is not installed.", "Install it: pip install 'spark-phantoms[bench]'."
        )
    return [f for f in FORMS if f in forms]


def _same_answers(chosen: Sequence[str], sparked: _SparkForms, others: Mapping[str, Engine], log: Log) -> bool:
    """Compare the answers of all forms that compute the whole workload; the first one is the reference."""
    reference: answers.Fingerprint | None = None
    equal = True
    with tempfile.TemporaryDirectory(prefix="phantoms-bench-") as scratch:
        for form in (f for f in chosen if f not in ("scan", "one")):
            started = time.perf_counter()
            stored = Path(scratch) / form
            found = others[form].fingerprint() if form in others else sparked.fingerprint(form, stored)
            if reference is None:
                reference = found
                missing = {r.name for r in sparked.workload.reports} - found.keys()
                wrong = [f"no rows of {', '.join(sorted(missing))}"] if missing else []
            else:
                wrong = answers.differences(reference, found)
            equal = equal and not wrong
            total = sum(n for n, _, _ in found.values())
            verdict = "; ".join(wrong) if wrong else ("reference" if reference is found else "equal")
            log(f"  answer of {form:<15} {total:,} rows: {verdict} ({time.perf_counter() - started:.1f} s)")
    return equal
