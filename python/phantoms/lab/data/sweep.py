"""Eight integer keys whose finest grouping has a chosen share of the rows as groups.

The keys' value counts grow as powers of the number of groups, from a twentieth of its logarithm to two fifths, so that
subsets of the keys range from a handful of groups to nearly all of them, whatever that number is. Rows of a group are
Pareto many, and in random order: unlike packets of a flow they are not clustered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from phantoms.lab.data.packets import Ints, draw, split, zipf_weights

DEFAULT_ROWS = 2_000_000
FILES = 8
PERCENTAGES = (0.1, 1.0, 10.0, 50.0, 100.0)
"""Groups of the finest grouping per hundred rows."""

EXPONENTS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40)
"""Of the number of groups, per key: they sum to 1.8, so that there are far more combinations than groups."""

KEYS = tuple(f"k{i + 1}" for i in range(len(EXPONENTS)))
"""From the coarsest to the finest."""

SCHEMA = pa.schema([*((k, pa.int32()) for k in KEYS), ("v", pa.int64())])


def name(percent: float) -> str:
    """The data set's name."""
    return f"sweep-{percent:g}"


def groups(rows: int, percent: float) -> int:
    """Groups of the finest grouping."""
    return max(1, round(rows * percent / 100))


def tables(percent: float, rows: int, seed: int) -> Iterator[pa.Table]:
    """Yield the rows, one table per file."""
    rng = np.random.default_rng([seed, 3, round(percent * 1000)])
    count = groups(rows, percent)
    sizes = [max(2, int(np.ceil(count**e))) for e in EXPONENTS]
    values = [rng.choice(np.iinfo(np.int32).max, size=n, replace=False).astype(np.int32) for n in sizes]
    codes = _combinations(rng, sizes, count)
    group = rng.permutation(np.repeat(codes, split(rows, rng.pareto(1.3, count) + 0.05)))
    edges = np.linspace(0, rows, min(FILES, rows) + 1).astype(np.int64)
    for lo, hi in pairwise(edges):
        yield _rows(rng, sizes, values, group[lo:hi])


def _combinations(rng: np.random.Generator, sizes: list[int], count: int) -> Ints:
    """Distinct combinations of skewed values, each as one number in the mixed radix of `sizes`."""
    weights = [zipf_weights(n, 0.5) for n in sizes]
    codes = np.empty(0, dtype=np.int64)
    while len(codes) < count:
        wanted = (count - len(codes)) * 5 // 4 + 16
        drawn = np.zeros(wanted, dtype=np.int64)
        for n, w in zip(sizes, weights, strict=True):
            drawn = drawn * n + draw(rng, w, wanted)
        codes = np.unique(np.concatenate((codes, drawn)))
    return np.asarray(rng.permutation(codes)[:count], dtype=np.int64)


def _rows(rng: np.random.Generator, sizes: list[int], values: list[npt.NDArray[np.int32]], codes: Ints) -> pa.Table:
    columns: list[pa.Array] = []
    rest = codes
    for n, v in zip(reversed(sizes), reversed(values), strict=True):
        columns.insert(0, pa.array(v[rest % n]))
        rest = rest // n
    columns.append(pa.array(rng.integers(0, 1_000_000, len(codes))))
    return pa.Table.from_arrays(columns, schema=SCHEMA)
