"""What a benchmark measured: medians, ratios, the JSON document and the table printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from phantoms.lab.benchmark.engines import ENGINES

FORMS = ("plain_separate", "plain_union", "plain_sets", "plugin_union", "plugin_sets", "scan", "one", *ENGINES)
"""The forms of reports that can be timed, in the order of a round."""

WINDOW_FORMS = ("plain_union", "plain_filter", "plugin_union", "plugin_filter", "scan", "one", "output", "duckdb")
"""The forms of windows and predicates."""

QUERY_FORMS = ("plain_query", "plain_by_hand", "plugin_query", "scan", "one")
"""The forms of one query."""

FLOORS = ("scan", "one", "output")
"""Forms that do not compute the workload."""


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
        plain = [t for f, t in self.times.items() if f.startswith("plain_") and t is not None]
        return {
            "best_plain": over(min(plain, default=None), self.slowest),
            "one": over(self.slowest, self.times["one"]),
            **{engine: over(self.slowest, self.times[engine]) for engine in ENGINES if engine in self.times},
        }

    @property
    def slowest(self) -> float | None:
        """Seconds of the slowest plugin form."""
        return max((t for f, t in self.times.items() if f.startswith("plugin_") and t is not None), default=None)

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
        run = {f: t for f, t in self.times.items() if t is not None}
        lines += [f"  {form:<15} {t:9.3f} s" for form, t in run.items()]
        for p in (f for f in run if f.startswith("plugin_")):
            pairs = [f"{run[q] / run[p]:.2f}x {q}" for q in run if not q.startswith("plugin_")]
            lines.append(f"  {p} is faster by: {', '.join(pairs)}")
        lines += [f"  {name} = {value:.2f}" for name, value in self.ratios.items() if value is not None]
        lines.append(f"  answers {'equal' if self.answers_equal else 'DIFFER'}")
        return "\n".join(lines)


@dataclass(frozen=True)
class NotedResult(BenchmarkResult):
    """What a benchmark measured whose plugin forms may be declined.

    Attributes
    ----------
    shared : dict
        Per plugin form that was run, whether the plugin acted; if not, it was plain Spark's plan that was timed.
    """

    shared: dict[str, bool]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``--json``."""
        return {**super().to_dict(), "shared": dict(self.shared)}

    def __str__(self) -> str:
        """The table, and which forms were plain Spark's after all."""
        declined = [f"  {form} was declined: plain Spark's plan" for form, did in self.shared.items() if not did]
        return "\n".join([super().__str__(), *declined])


@dataclass(frozen=True)
class WindowResult(NotedResult):
    """What a benchmark of windows or predicates measured."""

    @property
    def ratios(self) -> dict[str, float | None]:
        """Ratios of medians, None where a form is missing.

        ``union`` = plain_union / plugin_union, ``filter`` = plain_filter / slowest plugin form, ``one``, ``floor`` and
        ``duckdb`` = slowest plugin form / ONE, / (ONE + output), / DuckDB.
        """
        t = self.times
        one, output = t["one"], t["output"]
        return {
            "union": over(t["plain_union"], t["plugin_union"]),
            "filter": over(t["plain_filter"], self.slowest),
            "one": over(self.slowest, one),
            "floor": over(self.slowest, None if one is None or output is None else one + output),
            "duckdb": over(self.slowest, t["duckdb"]),
        }


def over(a: float | None, b: float | None) -> float | None:
    """The ratio of two times, if there are both."""
    return None if a is None or b is None else a / b
