"""The engines measured beside Spark, each an optional dependency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from phantoms.lab.benchmark import clickhouse, duck, polar
from phantoms.lab.benchmark.answers import Fingerprint
from phantoms.lab.reports import Workload


class Engine(Protocol):
    """A workload in another engine."""

    def run(self) -> float:
        """Seconds to read the files and compute every row."""
        ...

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of its answer."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(frozen=True)
class Kind:
    """An engine that may be installed: what it is called, whether it is there, how it is opened on some files."""

    title: str
    installed: Callable[[], bool]
    open: Callable[[Workload, Path], Engine]


ENGINES: dict[str, Kind] = {
    "duckdb": Kind("DuckDB", duck.installed, duck.Duck),
    "polars": Kind("Polars", polar.installed, polar.Polars),
    "chdb": Kind("chDB", clickhouse.installed, clickhouse.ClickHouse),
}
"""By the name of the form."""
