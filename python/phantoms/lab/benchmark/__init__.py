"""Benchmarks: plain Spark's forms of a workload, the plugin's, their floors and other engines; answers are compared."""

from phantoms.lab.benchmark.catalog import BENCHMARKS
from phantoms.lab.benchmark.cold import ColdResult, run_cold
from phantoms.lab.benchmark.result import FORMS, QUERY_FORMS, WINDOW_FORMS, BenchmarkResult, WindowResult
from phantoms.lab.benchmark.run import run

__all__ = [
    "BENCHMARKS",
    "FORMS",
    "QUERY_FORMS",
    "WINDOW_FORMS",
    "BenchmarkResult",
    "ColdResult",
    "WindowResult",
    "run",
    "run_cold",
]
