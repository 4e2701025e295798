"""The workloads of windows and predicates over trades: sliding windows by symbol, and those of "On-the-fly sharing".

The paper's queries sum the value of all trades in a window (its template, Query 4), with ranges of 600 to 900 s, slides
of 300 to 600 s and predicates of two conjuncts (Table 8). Each is a groupBy over ``window(ts, range, slide)``; a
workload is their ``UNION ALL`` or, where all windows have the same predicates, one aggregate per window with a FILTER
clause per predicate.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

SEED = 7


@dataclass(frozen=True)
class Window:
    """A window: so many seconds, every so many seconds, beginning at multiples of the slide since the epoch."""

    range: int
    slide: int

    @property
    def sql(self) -> str:
        """Spark's grouping expression."""
        return f"window(ts, '{self.range} seconds', '{self.slide} seconds')"


@dataclass(frozen=True)
class WindowQuery:
    """One groupBy: a name, its window, and the condition its rows meet, in SQL that all engines here read alike."""

    name: str
    window: Window
    predicate: str | None = None


@dataclass(frozen=True)
class Aggregate:
    """An aggregate: how it is computed of rows, and the function that combines those of parts."""

    sql: str
    name: str
    combine: str = "sum"


@dataclass(frozen=True)
class WindowWorkload:
    """Several windowed groupBys over one table, with the same keys and aggregates.

    Attributes
    ----------
    name : str
        Name used by ``phantoms bench``.
    dataset : str
        Data set of `phantoms.lab.data` it reads.
    queries : tuple of WindowQuery
        Its groupBys.
    aggregates : tuple of Aggregate
        What each computes.
    columns : tuple of str
        Columns of the table that it reads.
    one : WindowQuery
        The query timed alone as the floor "one".
    keys : tuple of str
        Grouping columns beside the window.
    named_only : tuple of str
        Forms that take too long to be run unless named.
    """

    name: str
    dataset: str
    queries: tuple[WindowQuery, ...]
    aggregates: tuple[Aggregate, ...]
    columns: tuple[str, ...]
    one: WindowQuery
    keys: tuple[str, ...] = ()
    named_only: tuple[str, ...] = ()

    @property
    def windows(self) -> dict[Window, list[WindowQuery]]:
        """The queries of each window."""
        found: dict[Window, list[WindowQuery]] = {}
        for q in self.queries:
            found.setdefault(q.window, []).append(q)
        return found

    @property
    def predicates(self) -> tuple[str | None, ...]:
        """The distinct predicates."""
        return tuple(dict.fromkeys(q.predicate for q in self.queries))

    @property
    def has_filter_form(self) -> bool:
        """Whether several queries share a window, and all windows have the same predicates, in the same order."""
        lists = [tuple(q.predicate for q in qs) for qs in self.windows.values()]
        return len(lists[0]) > 1 and len(set(lists)) == 1


def separate(workload: WindowWorkload, query: WindowQuery, table: str) -> str:
    """One query: its name, the window's start, the keys, the aggregates."""
    keys = "".join(f", {k}" for k in workload.keys)
    aggregates = ", ".join(f"{a.sql} AS {a.name}" for a in workload.aggregates)
    where = f" WHERE {query.predicate}" if query.predicate else ""
    return (
        f"SELECT '{query.name}' AS query, window.start AS start{keys}, {aggregates} FROM {table}{where} "
        f"GROUP BY {query.window.sql}{keys}"
    )


def union(workload: WindowWorkload, table: str) -> str:
    """All queries as one ``UNION ALL``; a single query is itself.

    Returns
    -------
    str
        SQL; columns: ``query``, ``start``, the keys, the aggregates.
    """
    return "\nUNION ALL\n".join(separate(workload, q, table) for q in workload.queries)


def conditional(workload: WindowWorkload, table: str) -> str:
    """One aggregate per window with a FILTER clause per predicate.

    Returns
    -------
    str
        SQL; columns: ``first`` (the window's first query), ``start``, and ``p0``, ``p1`` ...: the aggregate of each
        predicate, NULL where no row meets it. The union form has no row there.

    Raises
    ------
    ValueError
        If the workload has no such form.
    """
    if not workload.has_filter_form or len(workload.aggregates) > 1 or workload.keys:
        raise ValueError(f"{workload.name} has no form with FILTER clauses")
    branches = []
    for window, queries in workload.windows.items():
        columns = ", ".join(
            f"{workload.aggregates[0].sql} FILTER (WHERE {q.predicate}) AS p{i}" for i, q in enumerate(queries)
        )
        branches.append(
            f"SELECT '{queries[0].name}' AS first, window.start AS start, {columns} FROM {table} GROUP BY {window.sql}"
        )
    return "\nUNION ALL\n".join(branches)


def unpivoted(workload: WindowWorkload, relation: str) -> str:
    """SQL giving the rows of the `conditional` form the columns of the union form."""
    windows = list(workload.windows.values())
    number = {queries[0].name: i for i, queries in enumerate(windows)}
    # The name of a query is that of its window's first one and its place: looked up rather than spelled.
    names = ", ".join(f"'{q.name}'" for queries in windows for q in queries)
    of_window = " ".join(f"WHEN '{first}' THEN {i}" for first, i in number.items())
    per = len(windows[0])
    columns = ", ".join(f"p{i}" for i in range(per))
    return (
        f"SELECT element_at(array({names}), CASE first {of_window} END * {per} + CAST(substr(p, 2) AS INT) + 1) "
        f"AS query, start, value AS {workload.aggregates[0].name} "
        f"FROM {relation} UNPIVOT EXCLUDE NULLS (value FOR p IN ({columns}))"
    )


_TEMPLATE = (Aggregate("sum(price * volume)", "value"),)
_BY_SYMBOL = (
    Aggregate("count(*)", "trades"),
    Aggregate("sum(volume)", "volume"),
    Aggregate("max(price)", "top", "max"),
)


def _slide(window_range: int, slide: int, dataset: str, named_only: tuple[str, ...] = ()) -> WindowWorkload:
    return WindowWorkload(
        name=f"slide{window_range}",
        dataset=dataset,
        queries=(WindowQuery("sliding", Window(window_range, slide)),),
        aggregates=_BY_SYMBOL,
        columns=("ts", "symbol", "volume", "price"),
        one=WindowQuery("tumbling", Window(slide, slide)),
        keys=("symbol",),
        named_only=named_only,
    )


def random_windows(rng: random.Random, count: int) -> list[Window]:
    """Distinct windows of Table 8."""
    found: dict[Window, None] = {}
    while len(found) < count:
        found[Window(rng.randint(600, 900), rng.randint(300, 600))] = None
    return list(found)


def random_predicates(rng: random.Random, count: int) -> list[str]:
    """Distinct predicates of Table 8: in an index or not, and a quantity above or below that of some trade."""
    from phantoms.lab.data import trades

    # Constants are of the distribution the data has, but not of its rows: workloads are the same for any size.
    sample = next(trades.hour(8 * 4096, SEED)).to_pydict()
    found: dict[str, None] = {}
    while len(found) < count:
        row = rng.randrange(len(sample["ts"]))
        price, volume, close = (sample[c][row] for c in ("price", "volume", "close"))
        quantity, constant = rng.choice(
            [
                ("volume", str(volume)),
                ("price * volume", str(price * volume)),
                # An exponent makes it a double everywhere.
                ("abs(price - close) / close", f"{abs(price - close) / close:.4e}"),
            ]
        )
        member = rng.choice(["", "NOT "]) + rng.choice(["r3000", "r1000", "r2000"])
        found[f"{member} AND {quantity} {rng.choice('<>')} {constant}"] = None
    return list(found)


def _paper(name: str, queries: list[WindowQuery]) -> WindowWorkload:
    predicates = any(q.predicate for q in queries)
    columns = ("ts", "price", "volume", *(("close", "r1000", "r2000", "r3000") if predicates else ()))
    return WindowWorkload(name, "trades", tuple(queries), _TEMPLATE, columns, one=queries[0])


def _sts(count: int) -> WindowWorkload:
    windows = random_windows(random.Random(SEED), count)
    return _paper(f"sts{count}", [WindowQuery(f"w{i}", w) for i, w in enumerate(windows)])


def _sdf256() -> WindowWorkload:
    predicates = random_predicates(random.Random(SEED), 256)
    return _paper("sdf256", [WindowQuery(f"p{i}", Window(600, 600), p) for i, p in enumerate(predicates)])


def _sds16x16() -> WindowWorkload:
    rng = random.Random(SEED)
    windows, predicates = random_windows(rng, 16), random_predicates(rng, 16)
    pairs = [(i, w, j, p) for i, w in enumerate(windows) for j, p in enumerate(predicates)]
    return _paper("sds16x16", [WindowQuery(f"w{i}p{j}", w, p) for i, w, j, p in pairs])


def _sds256() -> WindowWorkload:
    rng = random.Random(SEED)
    pairs = zip(random_windows(rng, 256), random_predicates(rng, 256), strict=True)
    return _paper("sds256", [WindowQuery(f"q{i}", w, p) for i, (w, p) in enumerate(pairs)])


WINDOW_WORKLOADS: dict[str, Callable[[], WindowWorkload]] = {
    "slide3600": partial(_slide, 3600, 10, "trades"),
    # Plain Spark copies each row 1440 times.
    "slide86400": partial(_slide, 86400, 60, "trades-days", ("plain_union",)),
    "sts16": partial(_sts, 16),
    "sts64": partial(_sts, 64),
    "sts256": partial(_sts, 256),
    "sdf256": _sdf256,
    "sds16x16": _sds16x16,
    "sds256": _sds256,
}
"""By name; made when asked for, since constants of predicates are those of generated trades."""
