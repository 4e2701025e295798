"""Polars on the same files: all groupBys collected together, so that they share the scan."""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path
from typing import Any

from phantoms.lab.benchmark.answers import PRIME, Fingerprint, columns, weights
from phantoms.lab.benchmark.session import cores
from phantoms.lab.reports import Workload


def installed() -> bool:
    """Tell whether Polars can be imported."""
    return importlib.util.find_spec("polars") is not None


class Polars:
    """Lazy queries, one per report, with as many threads as Spark has cores.

    The streaming engine runs them: over 3 M flow and packet records it took 40 to 60 % of the in-memory engine's time.
    """

    def __init__(self, workload: Workload, path: Path) -> None:
        # Polars reads this once, when it is first imported.
        os.environ.setdefault("POLARS_MAX_THREADS", str(cores()))
        import polars as pl

        self.workload = workload
        self.files = f"{path}/*.parquet"
        self.pl: Any = pl

    def run(self) -> float:
        """Seconds to compute every report into a frame."""
        started = time.perf_counter()
        self._collect()
        return time.perf_counter() - started

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of its answer."""
        pl = self.pl
        found: Fingerprint = {}
        for report, frame in zip(self.workload.reports, self._collect(), strict=True):
            sums = [self._hash(frame.columns, salt).sum().alias(f"h{salt}") for salt in (1, 2)]
            n, h1, h2 = frame.select(pl.len(), *sums).row(0)
            found[report.name] = (int(n), int(h1), int(h2))
        return found

    def close(self) -> None:
        """Nothing to close."""

    def _collect(self) -> list[Any]:
        source = self.pl.scan_parquet(self.files)
        wanted = [self._aggregate(expression, name) for expression, name in self.workload.aggregates]
        queries = [
            source.group_by(list(r.keys)).agg(wanted) if r.keys else source.select(wanted)
            for r in self.workload.reports
        ]
        return list(self.pl.collect_all(queries, engine="streaming"))

    def _aggregate(self, expression: str, name: str) -> Any:
        if expression == "count(*)":
            return self.pl.len().alias(name)
        # A sum has its column's type in Polars; Spark and DuckDB widen it.
        column = expression.removeprefix("sum(").removesuffix(")")
        return self.pl.col(column).cast(self.pl.Int64).sum().alias(name)

    def _hash(self, present: list[str], salt: int) -> Any:
        """The hash of a row in `fingerprint_sql`."""
        pl = self.pl
        terms = pl.lit(0, pl.Int64)
        for column, null, weight in weights(columns(self.workload), salt):
            value = pl.col(column).cast(pl.Int64).fill_null(null) if column in present else pl.lit(null, pl.Int64)
            terms = terms + _remainder(value) * weight
        mixed = _remainder(terms)
        return mixed * mixed % PRIME


def _remainder(value: Any) -> Any:
    """SQL's remainder, which has the dividend's sign; Polars' has the divisor's."""
    return value.sign() * (value.abs() % PRIME)
