"""Running a benchmark: forms in alternating order, medians, ratios, answer check."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from phantoms.lab.benchmark import answers
from phantoms.lab.benchmark.catalog import prepare
from phantoms.lab.benchmark.engines import ENGINES, Engine
from phantoms.lab.benchmark.forms import Log, SparkForms
from phantoms.lab.benchmark.result import FLOORS, BenchmarkResult
from phantoms.lab.benchmark.session import describe, open_session, register, settle


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
        One of `BENCHMARKS`.
    rows : int, optional
        Rows of the input; the data set's default if omitted.
    repeat : int
        Timed runs of each form.
    forms : sequence of str, optional
        Some of `FORMS` (`WINDOW_FORMS` for windows and predicates, `QUERY_FORMS` for one query); all if omitted,
        other engines only where installed, save those that take too long.
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
        data cannot be generated; ``NOT_SHARED`` if a plain form ran through the plugin's operators, or one of the
        plugin without them (those of windows and predicates may: the result tells).
    """
    asked = prepare(name, rows, repeat, forms, json_file, log)
    sparked, chosen, count, path = asked.sparked, asked.chosen, asked.rows, asked.path
    spark = open_session(f"phantoms bench {name}", any(f.startswith("plugin_") for f in chosen), conf)
    sparked.spark = spark
    register(spark, sparked.table, path)
    others: dict[str, Engine] = {form: sparked.engine(form, path) for form in chosen if form in ENGINES}
    log(f"{name}: {sparked.title}; {count:,} rows of {sparked.dataset}")
    log(describe(spark))

    def once(form: str) -> float:
        return others[form].run() if form in others else sparked.run(form)

    equal = _same_answers(chosen, sparked, others, log)
    for form in chosen:
        if form in FLOORS:
            once(form)
    measured: dict[str, list[float]] = {form: [] for form in chosen}
    for i in range(repeat):
        for form in chosen if i % 2 == 0 else reversed(chosen):
            settle(spark)
            measured[form].append(once(form))
            log(f"  round {i + 1}: {form:<15} {measured[form][-1]:9.3f} s")
    for engine in others.values():
        engine.close()

    times = {form: statistics.median(measured[form]) if form in measured else None for form in sparked.forms}
    result = sparked.result(count, spark.version, repeat, equal, times)
    spark.stop()
    log(str(result))
    if json_file is not None:
        json_file.write_text(json.dumps(result.to_dict(), indent=2) + "\n")
    return result


def _same_answers(chosen: Sequence[str], sparked: SparkForms, others: Mapping[str, Engine], log: Log) -> bool:
    """Compare the answers of all forms that compute the whole workload; the first one is the reference."""
    reference: answers.Fingerprint | None = None
    equal = True
    with tempfile.TemporaryDirectory(prefix="phantoms-bench-") as scratch:
        for form in (f for f in chosen if f not in FLOORS):
            started = time.perf_counter()
            stored = Path(scratch) / form
            found = others[form].fingerprint() if form in others else sparked.fingerprint(form, stored, log)
            if reference is None:
                reference = found
                missing = sparked.missing(found)
                wrong = [f"no rows of {', '.join(missing)}"] if missing else []
            else:
                wrong = answers.differences(reference, found)
            equal = equal and not wrong
            total = sum(n for n, _, _ in found.values())
            verdict = "; ".join(wrong) if wrong else ("reference" if reference is found else "equal")
            log(f"  answer of {form:<15} {total:,} rows: {verdict} ({time.perf_counter() - started:.1f} s)")
    return equal
