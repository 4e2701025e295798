"""Seeded data sets of the shapes the benchmarks, the demo and the tests use.

`ensure` returns the directory of Parquet files of a data set, generating it on first use.
"""

from phantoms import extras

extras.require("data", "numpy", "pyarrow")

from phantoms.lab.data.store import DATASETS, GENERATOR_VERSION, Dataset, ensure, generate  # noqa: E402

__all__ = ["DATASETS", "GENERATOR_VERSION", "Dataset", "ensure", "generate"]
