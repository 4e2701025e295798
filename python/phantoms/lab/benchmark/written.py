"""One query as somebody wrote it: as it is, and by hand for plain Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import answers
from phantoms.lab.benchmark.engines import Engine
from phantoms.lab.benchmark.forms import Log, SparkForms
from phantoms.lab.benchmark.result import QUERY_FORMS, BenchmarkResult
from phantoms.lab.benchmark.session import require_plain, require_shared
from phantoms.lab.queries import QueryWorkload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class QueryForms(SparkForms):
    """A query, with the plugin and without, and its best form without."""

    def __init__(self, workload: QueryWorkload) -> None:
        self.workload, self.forms = workload, QUERY_FORMS
        self.acted: dict[str, bool] = {}
        self.name, self.dataset, self.table = workload.name, workload.dataset, workload.dataset
        self.title = f"one query with {workload.aggregates} aggregates"

    def frames(self, form: str) -> list[DataFrame]:
        """The DataFrames a form consists of."""
        w = self.workload
        if form == "scan":
            return [self.spark.table(self.table).select(*w.columns)]
        return [self.spark.sql({"one": w.one, "plain_by_hand": w.by_hand}.get(form, w.sql))]

    def check(self, form: str, stored: Sequence[str]) -> str:
        """SQL computing the fingerprint of a form's stored answer."""
        rows = f"SELECT '{self.name}' AS query, * FROM {stored[0]}"
        return answers.fingerprint_by("query", self.workload.results, rows)

    def proven(self, form: str, log: Log) -> None:
        """Fail unless the plugin's form, and only this, ran through its operators."""
        (require_shared if form.startswith("plugin_") else require_plain)(self.spark, form)

    def engine(self, form: str, path: Path) -> Engine:
        """No other engine takes part."""
        raise PhantomsError("BAD_ARGUMENT", f"{self.name} has no {form}.", "Leave it out.")

    def missing(self, found: answers.Fingerprint) -> list[str]:
        """The query, if its answer is empty."""
        return sorted({self.name} - found.keys())

    def result(
        self, rows: int, spark: str, repeat: int, equal: bool, times: dict[str, float | None]
    ) -> BenchmarkResult:
        """What was measured."""
        return BenchmarkResult(self.name, rows, spark, repeat, equal, times)
