"""DuckDB on the same files: the sets form of reports, windows in two steps; into a temporary table."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

from phantoms.lab.benchmark.answers import Fingerprint, fingerprint, fingerprint_sql, named_sets
from phantoms.lab.benchmark.session import cores
from phantoms.lab.reports import Workload, sets


def installed() -> bool:
    """Tell whether DuckDB can be imported."""
    return importlib.util.find_spec("duckdb") is not None


class DuckQuery:
    """A query and the one that computes its fingerprint, on a connection with as many threads as Spark has cores."""

    def __init__(self, sql: str, check: str) -> None:
        import duckdb

        self.sql, self.check = sql, check
        self.connection: Any = duckdb.connect()
        self.connection.execute(f"SET threads = {cores()}")
        self.connection.execute("SET preserve_insertion_order = false")

    def run(self) -> float:
        """Seconds to compute every row into a temporary table."""
        started = time.perf_counter()
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE result AS {self.sql}")
        return time.perf_counter() - started

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of its answer."""
        return fingerprint(self.connection.execute(self.check).fetchall())

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class Duck(DuckQuery):
    """The sets form."""

    def __init__(self, workload: Workload, path: Path) -> None:
        sql = sets(workload, f"read_parquet('{path}/*.parquet')")
        super().__init__(sql, fingerprint_sql(workload, named_sets(workload, f"({sql})")))
