"""chDB, ClickHouse as a library, on the same files: the sets form, its rows thrown away by the ``Null`` format."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

from phantoms.lab.benchmark.answers import Fingerprint, fingerprint, fingerprint_sql, named_sets
from phantoms.lab.benchmark.session import cores
from phantoms.lab.reports import Workload, sets


def installed() -> bool:
    """Tell whether chDB can be imported."""
    return importlib.util.find_spec("chdb") is not None


class ClickHouse:
    """One session with as many threads as Spark has cores.

    The sets form, since it is never slower here than a ``UNION ALL``: as fast for nfc22, faster for smap4, many times
    for CUBE.
    """

    def __init__(self, workload: Workload, path: Path) -> None:
        from chdb import session

        opened: Any = session.Session
        self.workload = workload
        self.session: Any = opened()
        self.session.query(f"SET max_threads = {cores()}")
        # Columns a set does not group by are NULL, as in standard SQL; otherwise they would be 0. It costs no time.
        self.session.query("SET group_by_use_nulls = 1")
        source = f"file('{path.resolve()}/*.parquet', Parquet)"
        self.sql = sets(workload, source).replace("grouping_id(", "GROUPING(")

    def run(self) -> float:
        """Seconds to compute every row."""
        started = time.perf_counter()
        self.session.query(f"{self.sql} FORMAT Null")
        return time.perf_counter() - started

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of its answer."""
        query = fingerprint_sql(self.workload, named_sets(self.workload, f"({self.sql})"))
        lines = str(self.session.query(query, "TabSeparated")).splitlines()
        return fingerprint(line.split("\t") for line in lines)

    def close(self) -> None:
        """Close the session."""
        self.session.close()
