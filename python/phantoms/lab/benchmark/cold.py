"""Jobs that run once: each form in a process and a JVM of its own, from its SQL text to its last row.

Starting the session is not counted, nor is naming the input's files; reading and planning the query is.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import answers
from phantoms.lab.benchmark.catalog import prepare
from phantoms.lab.benchmark.forms import Log
from phantoms.lab.benchmark.result import FLOORS, BenchmarkResult

PHASES = ("before", "stages", "between")
"""Parts of a run: until the first stage starts, while stages run, and all else."""


@dataclass(frozen=True)
class ColdResult:
    """What was measured of jobs that run once.

    Attributes
    ----------
    result : BenchmarkResult
        As of a warm benchmark: medians of one run in each of `repeat` processes.
    phases : dict
        Per form that Spark runs, the median seconds of each of `PHASES`.
    """

    result: BenchmarkResult
    phases: dict[str, dict[str, float]]

    @property
    def answers_equal(self) -> bool:
        """Whether every form gave the same rows."""
        return self.result.answers_equal

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``--json``."""
        return {**self.result.to_dict(), "cold": True, "phases": self.phases}

    def __str__(self) -> str:
        """The table, and the phases of each form."""
        lines = [
            f"  {form:<15} " + ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in found.items())
            for form, found in self.phases.items()
        ]
        return "\n".join([f"{self.result}", "  each run in a JVM of its own:", *lines])


def run_cold(
    name: str,
    rows: int | None = None,
    repeat: int = 3,
    forms: Sequence[str] | None = None,
    json_file: Path | None = None,
    log: Log = print,
    conf: Mapping[str, str] | None = None,
) -> ColdResult:
    """Run a benchmark with every run in a process of its own; parameters and errors as of `run`.

    The files are read once before, so that no form finds them in memory that another had to fetch. In the first round
    each form computes its answer once more when it has been timed, and the answers are compared.

    Raises
    ------
    PhantomsError
        As `run`; ``COLD_RUN_FAILED`` where a process fails.
    """
    asked = prepare(name, rows, repeat, forms, json_file, log)
    sparked, chosen, count, path = asked.sparked, asked.chosen, asked.rows, asked.path
    log(f"{name}: {sparked.title}; {count:,} rows of {sparked.dataset}, each run in a process of its own")
    _read(path)

    runs: dict[str, list[dict[str, Any]]] = {form: [] for form in chosen}
    for i in range(repeat):
        for form in chosen if i % 2 == 0 else reversed(chosen):
            job = {"name": name, "form": form, "path": str(path), "conf": dict(conf or {})}
            found = process({**job, "answer": i == 0 and form not in FLOORS})
            runs[form].append(found)
            log(f"  round {i + 1}: {form:<15} {found['seconds']:9.3f} s")

    def median(of: Sequence[float]) -> float:
        return round(statistics.median(of), 3)

    times = {form: median([r["seconds"] for r in runs[form]]) if form in runs else None for form in sparked.forms}
    phases = {
        form: {phase: median([r["phases"][phase] for r in found]) for phase in PHASES}
        for form, found in runs.items()
        if found[0]["phases"]
    }
    spark = next((r["spark"] for found in runs.values() for r in found if r["spark"]), "none")
    for form, shared in ((form, found[0].get("shared")) for form, found in runs.items()):
        if form.startswith("plugin_") and shared is not None:
            sparked.acted[form] = shared
    result = ColdResult(sparked.result(count, spark, repeat, _same(runs, log), times), phases)
    log(str(result))
    if json_file is not None:
        json_file.write_text(json.dumps(result.to_dict(), indent=2) + "\n")
    return result


def _read(path: Path) -> None:
    for file in path.rglob("*.parquet"):
        with file.open("rb") as opened:
            while opened.read(1 << 24):
                pass


def process(job: Mapping[str, Any]) -> dict[str, Any]:
    """What `phantoms.lab.benchmark.cold_run.run` finds, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="phantoms-cold-") as folder:
        out = Path(folder) / "found.json"
        done = subprocess.run(
            [sys.executable, "-m", "phantoms.lab.benchmark.cold_run", json.dumps(job), str(out)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or not out.exists():
            said = done.stderr.strip().splitlines() or ["nothing was said"]
            raise PhantomsError(
                "COLD_RUN_FAILED",
                f"The process that runs {job['form']} of {job['name']} failed: {said[-1]}",
                "Run the form without --cold, which shows where it fails.",
            )
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def _same(runs: Mapping[str, Sequence[Mapping[str, Any]]], log: Log) -> bool:
    """Compare the answers of the first round; that of the first form is the reference."""
    found = {form: first[0]["answer"] for form, first in runs.items() if first[0]["answer"] is not None}
    answer = {form: {k: (v[0], v[1], v[2]) for k, v in of.items()} for form, of in found.items()}
    equal = True
    for form in answer:
        wrong = answers.differences(next(iter(answer.values())), answer[form])
        equal = equal and not wrong
        if wrong:
            log(f"  answer of {form}: {'; '.join(wrong)}")
    return equal
