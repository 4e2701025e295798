"""Stock trades, with the shape section 4.3.3 of "On-the-fly sharing" tells of its data.

Half of the volumes are 100, the fifteen most common make up 90 %, fewer than 2000 occur. 6000 symbols follow Zipf's
law; the first thousand are in the Russell 1000, the next two thousand in the Russell 2000, all of these in the 3000.
What the paper joins per query, the previous close and the indexes, is a column here: a join per query would cost plain
Spark more than what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from phantoms.lab.data.packets import Ints, draw, zipf_weights

DEFAULT_ROWS = 1_181_901
"""The trades between noon and one o'clock in the paper."""

HOUR = 3600
DAYS = 3 * 24 * HOUR

SYMBOLS = 6000
FILES = 8
START = np.int64(1_101_902_400_000_000)
"""The first trade's moment: 2004-12-01 12:00:00 UTC, in microseconds."""

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("symbol", pa.string()),
        ("price", pa.int64()),
        ("volume", pa.int32()),
        ("close", pa.int64()),
        ("r1000", pa.bool_()),
        ("r2000", pa.bool_()),
        ("r3000", pa.bool_()),
    ]
)
"""Prices are in cents: sums of integers are the same in whatever order they are added."""


def tables(seconds: int, rows: int, seed: int) -> Iterator[pa.Table]:
    """Yield the trades of so many seconds in time order, one table per file."""
    rng = np.random.default_rng([seed, 4])
    names = _names(rng)
    close = np.maximum(100, np.exp(3 + 0.8 * rng.standard_normal(SYMBOLS)) * 100).astype(np.int64)
    drift = rng.standard_normal(SYMBOLS) * 0.02
    weights = zipf_weights(SYMBOLS, 1.0)
    for lo, hi in pairwise(np.linspace(0, rows, min(FILES, rows) + 1).astype(np.int64)):
        n = int(hi - lo)
        # One trade in each of equal spans: in order without sorting.
        at = ((np.arange(lo, hi) + rng.random(n)) * (seconds * 1e6 / rows)).astype(np.int64)
        of = draw(rng, weights, n)
        moved = 1 + drift[of] + 0.001 * rng.standard_normal(n)
        columns = [
            pa.array(START + at).cast(SCHEMA.field("ts").type),
            names.take(pa.array(of)),
            pa.array(np.maximum(1, np.rint(close[of] * moved)).astype(np.int64)),
            pa.array(_volumes(rng, n)),
            pa.array(close[of]),
            pa.array(of < 1000),
            pa.array((of >= 1000) & (of < 3000)),
            pa.array(of < 3000),
        ]
        yield pa.Table.from_arrays(columns, schema=SCHEMA)


hour = partial(tables, HOUR)
"""``trades``: one hour."""

days = partial(tables, DAYS)
"""``trades-days``: three days around the clock, so that a window of a day is neither always nor never full."""


def _names(rng: np.random.Generator) -> pa.Array:
    """Distinct symbols, half of up to three letters and half of four, in random order."""
    short = 26 + 26**2 + 26**3
    codes: Ints = np.concatenate(
        (rng.choice(short, SYMBOLS // 2, replace=False), short + rng.choice(26**4, SYMBOLS // 2, replace=False))
    )
    return pa.array([_letters(int(code)) for code in rng.permutation(codes)])


def _letters(code: int) -> str:
    """A, ..., Z, AA, ...: all words of capitals, short ones first."""
    word = ""
    while code >= 0:
        word = chr(ord("A") + code % 26) + word
        code = code // 26 - 1
    return word


def _volumes(rng: np.random.Generator, n: int) -> npt.NDArray[np.int32]:
    kind = rng.random(n)
    common = 200 + 100 * np.minimum(rng.integers(0, 14, n), rng.integers(0, 14, n))
    odd = 10 * (1 + (1900 * rng.random(n) ** 3).astype(np.int64))
    return np.where(kind < 0.5, 100, np.where(kind < 0.9, common, odd)).astype(np.int32)
