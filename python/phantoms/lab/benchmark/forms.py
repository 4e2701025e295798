"""The forms of a workload as Spark runs them: timed, and their answers stored and fingerprinted."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phantoms.explanation import explain
from phantoms.lab.benchmark import answers
from phantoms.lab.benchmark.engines import ENGINES, Engine
from phantoms.lab.benchmark.result import FORMS, BenchmarkResult, NotedResult
from phantoms.lab.benchmark.session import noop, require_plain, require_shared, shared, switch
from phantoms.lab.reports import Workload, separate, sets, union
from phantoms.session import ENABLED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Log = Callable[[str], None]


class SparkForms(ABC):
    """A workload's forms; one class per kind of workload.

    Attributes
    ----------
    name, dataset, table, title
        The benchmark, the data set it reads and its view, and what the first line of its log says.
    forms : tuple of str
        Every form results of this kind have, in the order of a round.
    absent : tuple of str
        Those that this workload does not have.
    named_only : tuple of str
        Those that are run only if named.
    acted : dict
        Per plugin form that may be declined and whose answer was computed, whether the plugin acted.
    """

    name: str
    dataset: str
    table: str
    title: str
    forms: tuple[str, ...]
    absent: tuple[str, ...] = ()
    named_only: tuple[str, ...] = ()
    acted: dict[str, bool]
    spark: SparkSession

    @abstractmethod
    def frames(self, form: str) -> list[DataFrame]:
        """The DataFrames a form consists of."""

    @abstractmethod
    def check(self, form: str, stored: Sequence[str]) -> str:
        """SQL computing the fingerprint of a form's stored answer."""

    @abstractmethod
    def proven(self, form: str, log: Log) -> None:
        """Look at the plan that just ran: the plugin's operators for its forms, none of them for the plain ones."""

    @abstractmethod
    def engine(self, form: str, path: Path) -> Engine:
        """Another engine on the files of the data set."""

    @abstractmethod
    def missing(self, found: answers.Fingerprint) -> list[str]:
        """Reports that an answer has to have rows of, and has not."""

    @abstractmethod
    def result(
        self, rows: int, spark: str, repeat: int, equal: bool, times: dict[str, float | None]
    ) -> BenchmarkResult:
        """What was measured."""

    def note(self, form: str, acted: dict[str, bool], log: Log) -> None:
        """Fail if a plain form ran through the plugin; note whether the plugin's did, and log why not."""
        if form.startswith("plain_"):
            require_plain(self.spark, form)
            return
        acted[form] = shared(self.spark)
        if not acted[form]:
            declined = explain(self.frames(form)[0]).declined
            reasons = list(dict.fromkeys(f"{d['code']}: {d['reason']}" for d in declined))
            log(f"  {form} is not shared: {'; '.join(reasons) or 'no reason given'}")

    def run(self, form: str) -> float:
        """Seconds to compute every row of a form."""
        switch(self.spark, form)
        started = time.perf_counter()
        for df in self.frames(form):
            noop(df)
        return time.perf_counter() - started

    def fingerprint(self, form: str, scratch: Path, log: Log) -> answers.Fingerprint:
        """Write the form's answer, prove which operators wrote it, and fingerprint the files with the plugin off."""
        switch(self.spark, form)
        frames = self.frames(form)
        for i, df in enumerate(frames):
            df.write.mode("overwrite").parquet(str(scratch / str(i)))
        self.proven(form, log)
        self.spark.conf.set(ENABLED, "false")
        stored = [f"parquet.`{scratch / str(i)}`" for i in range(len(frames))]
        found = answers.fingerprint(self.spark.sql(self.check(form, stored)).collect())
        shutil.rmtree(scratch, ignore_errors=True)
        return found


class ReportForms(SparkForms):
    """groupBys by different keys: separately, as a union, as grouping sets."""

    def __init__(self, workload: Workload) -> None:
        self.workload, self.forms = workload, FORMS
        self.acted: dict[str, bool] = {}
        self.name, self.dataset, self.table = workload.name, workload.dataset, workload.dataset
        self.title = f"{len(workload.reports)} groupBys; ONE is {workload.one}"

    def frames(self, form: str) -> list[DataFrame]:
        """The DataFrames a form consists of."""
        w, t = self.workload, self.table
        if form == "scan":
            return [self.spark.table(t).select(*w.columns)]
        if form == "one":
            index = [r.name for r in w.reports].index(w.one)
            return [self.spark.sql(separate(w, t)[index])]
        if form.endswith("_separate"):
            return [self.spark.sql(q) for q in separate(w, t)]
        return [self.spark.sql(union(w, t) if form.endswith("_union") else sets(w, t))]

    def check(self, form: str, stored: Sequence[str]) -> str:
        """SQL computing the fingerprint of a form's stored answer."""
        if form.endswith("_separate"):
            relation = " UNION ALL ".join(answers.padded_report(self.workload, i, s) for i, s in enumerate(stored))
        elif form.endswith("_union"):
            relation = f"SELECT * FROM {stored[0]}"
        else:
            relation = answers.named_sets(self.workload, stored[0])
        return answers.fingerprint_sql(self.workload, relation)

    def proven(self, form: str, log: Log) -> None:
        """Fail unless the plugin's forms, and only these, ran through its operators."""
        (require_shared if form.startswith("plugin_") else require_plain)(self.spark, form)

    def engine(self, form: str, path: Path) -> Engine:
        """Another engine on the files of the data set."""
        return ENGINES[form].open(self.workload, path)

    def missing(self, found: answers.Fingerprint) -> list[str]:
        """Reports without rows: every one has some."""
        return sorted({r.name for r in self.workload.reports} - found.keys())

    def result(
        self, rows: int, spark: str, repeat: int, equal: bool, times: dict[str, float | None]
    ) -> BenchmarkResult:
        """What was measured."""
        return BenchmarkResult(self.name, rows, spark, repeat, equal, times)


class FunctionForms(ReportForms):
    """groupBys whose functions are no sums: other engines take no part, and the plugin may decline."""

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.absent = tuple(ENGINES)

    def proven(self, form: str, log: Log) -> None:
        """Fail if a plain form ran through the plugin; note whether the plugin's did, and why not."""
        self.note(form, self.acted, log)

    def result(
        self, rows: int, spark: str, repeat: int, equal: bool, times: dict[str, float | None]
    ) -> BenchmarkResult:
        """What was measured."""
        return NotedResult(self.name, rows, spark, repeat, equal, times, dict(self.acted))
