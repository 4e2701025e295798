"""The benchmarks by name, and the forms of each that can be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phantoms import outputs
from phantoms.errors import PhantomsError
from phantoms.lab.benchmark.engines import ENGINES
from phantoms.lab.benchmark.forms import FunctionForms, Log, ReportForms, SparkForms
from phantoms.lab.benchmark.session import require_repeat
from phantoms.lab.benchmark.windowed import WindowForms
from phantoms.lab.benchmark.written import QueryForms
from phantoms.lab.queries import QUERY_WORKLOADS
from phantoms.lab.reports import FUNCTION_WORKLOADS, WORKLOADS
from phantoms.lab.windows import WINDOW_WORKLOADS

BENCHMARKS = (*WORKLOADS, *FUNCTION_WORKLOADS, *QUERY_WORKLOADS, *WINDOW_WORKLOADS)
"""Their names."""


def sparked_forms(name: str) -> SparkForms:
    """The forms of a benchmark that Spark runs."""
    if name in QUERY_WORKLOADS:
        return QueryForms(QUERY_WORKLOADS[name])
    if name in WINDOW_WORKLOADS:
        return WindowForms(WINDOW_WORKLOADS[name]())
    if name in FUNCTION_WORKLOADS:
        return FunctionForms(FUNCTION_WORKLOADS[name])
    return ReportForms(WORKLOADS[name])


def check(name: str, repeat: int, forms: Sequence[str] | None) -> list[str]:
    """The forms asked for, in the order of a round: what can be told before there is data."""
    if name not in BENCHMARKS:
        raise PhantomsError("BAD_ARGUMENT", f"unknown benchmark {name!r}.", f"Known: {', '.join(BENCHMARKS)}, sweep.")
    require_repeat(repeat)
    known = sparked_forms(name).forms
    if forms is None:
        return [f for f in known if f not in ENGINES or ENGINES[f].installed()]
    unknown = [f for f in forms if f not in known]
    if unknown or not forms:
        raise PhantomsError("BAD_ARGUMENT", f"unknown forms: {', '.join(unknown)}.", f"Known: {', '.join(known)}.")
    for title in (ENGINES[f].title for f in forms if f in ENGINES and not ENGINES[f].installed()):
        raise PhantomsError(
            "BAD_ARGUMENT", f"{title} is not installed.", "Install it: pip install 'spark-phantoms[bench]'."
        )
    return [f for f in known if f in forms]


def possible(sparked: SparkForms, asked: Sequence[str], named: bool) -> list[str]:
    """The forms asked for that the workload has; those that take too long only if named."""
    absent = [f for f in asked if f in sparked.absent]
    if named and absent:
        raise PhantomsError("BAD_ARGUMENT", f"{sparked.name} has no {', '.join(absent)}.", "Leave it out.")
    return [f for f in asked if f not in sparked.absent and (named or f not in sparked.named_only)]


@dataclass(frozen=True)
class Asked:
    """What a run of a benchmark needs: its forms, those chosen in the order of a round, and its input."""

    sparked: SparkForms
    chosen: list[str]
    rows: int
    path: Path


def prepare(
    name: str, rows: int | None, repeat: int, forms: Sequence[str] | None, json_file: Path | None, log: Log
) -> Asked:
    """Check what is asked for before there is data, then generate that; parameters and errors as of `run.run`."""
    asked = check(name, repeat, forms)
    sparked = sparked_forms(name)
    outputs.check(json_file, "--json")
    from phantoms.lab.data import DATASETS, ensure

    chosen = possible(sparked, asked, named=forms is not None)
    count = DATASETS[sparked.dataset].default_rows if rows is None else rows
    return Asked(sparked, chosen, count, ensure(sparked.dataset, count, log=log))
