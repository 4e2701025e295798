"""The points of the sweep: how many grouping sets, over how fine a grouping; and the grouping sets of each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, cycle

from phantoms.errors import PhantomsError
from phantoms.lab.data import sweep as data
from phantoms.lab.reports import Report, Workload

SETS = (2, 4, 16, 64)
"""Numbers of grouping sets."""

SIZES = (3, 1, 5, 2, 4, 6)
"""Numbers of keys of the sets that follow the finest: coarse and fine ones in turn."""


@dataclass(frozen=True)
class Point:
    """One point: `sets` grouping sets, the finest of which has `percent` groups per hundred rows."""

    percent: float
    sets: int

    def __str__(self) -> str:
        return f"{self.sets}@{self.percent:g}"


def all_points() -> list[Point]:
    """Every point, cheap ones first."""
    return [Point(p, n) for p in data.PERCENTAGES for n in SETS]


def parse(texts: Sequence[str] | None) -> list[Point]:
    """Read the points asked for, in the order of `all_points`.

    Parameters
    ----------
    texts : sequence of str, optional
        ``SETS@PERCENT`` each; a side left out stands for all: ``64@``, ``@0.1``. All points if omitted.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for a text that names no point.
    """
    known = all_points()
    if texts is None:
        return known
    chosen: set[Point] = set()
    for text in texts:
        sets, _, percent = text.partition("@")
        found = [p for p in known if sets in ("", str(p.sets)) and percent in ("", f"{p.percent:g}")]
        if not found or "@" not in text:
            raise PhantomsError(
                "BAD_ARGUMENT",
                f"{text!r} names no point of the sweep.",
                f"Give SETS@PERCENT (a side may be left out) of {', '.join(map(str, SETS))} sets and "
                f"{', '.join(f'{p:g}' for p in data.PERCENTAGES)} per cent.",
            )
        chosen.update(found)
    return [p for p in known if p in chosen]


def workload(point: Point) -> Workload:
    """The grouping sets of a point; those of fewer sets are among those of more."""
    reports = tuple(Report("_".join(keys), keys) for keys in _subsets(point.sets))
    return Workload(
        name=f"sweep {point}",
        dataset=data.name(point.percent),
        reports=reports,
        aggregates=(("count(*)", "n"), ("sum(v)", "total")),
        one=reports[0].name,
    )


def _subsets(count: int) -> list[tuple[str, ...]]:
    """All keys, then distinct subsets of them."""
    rng = random.Random(7)
    found = [data.KEYS]
    left = {size: _shuffled(rng, size) for size in SIZES}
    for size in cycle(SIZES):
        if len(found) == count:
            break
        if left[size]:
            found.append(left[size].pop())
    return found


def _shuffled(rng: random.Random, size: int) -> list[tuple[str, ...]]:
    """All subsets of that many keys, in random order, so that no key is preferred."""
    subsets = list(combinations(data.KEYS, size))
    rng.shuffle(subsets)
    return subsets
