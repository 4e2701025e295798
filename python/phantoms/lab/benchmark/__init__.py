"""Benchmarks: plain Spark's forms of a workload, the plugin's, their floors and other engines; answers are compared."""

from phantoms.lab.benchmark.run import FORMS, BenchmarkResult, run

__all__ = ["FORMS", "BenchmarkResult", "run"]
