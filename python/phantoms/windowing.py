"""Several windows over one input as one DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from phantoms.errors import PhantomsError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["windows"]

_FORM = "(range,), (range, slide) or (range, slide, start), or a range alone, as pyspark.sql.functions.window has them"


def windows(
    df: DataFrame,
    ts: str | Column,
    windows: Mapping[str, str | Sequence[str]],
    keys: str | Column | Sequence[str | Column],
    aggs: Column | Sequence[Column] | Mapping[str, str],
    *,
    name: str = "window_name",
) -> DataFrame:
    """Aggregate one input over several windows.

    The union of ``df.groupBy(window(ts, ...), *keys).agg(*aggs)``, one for each window. With the extension in the
    session the input is read once, each row is added to the slice of time that it falls into, and windows are put
    together from slices (On-the-fly sharing, section 3). Without it the rows are the same.

    Parameters
    ----------
    df : DataFrame
        The input.
    ts : str or Column
        Its time, TIMESTAMP or TIMESTAMP_NTZ. Rows without one are in no window.
    windows : mapping
        By name, ``(range, slide)``, such as ``{"5m/1m": ("5 minutes", "1 minute")}``; ``(range,)`` or the range alone
        for windows one behind the other; ``(range, slide, start)`` for ones that begin at an offset.
    keys : str, Column or sequence of these
        What rows are grouped by beside the window; may be empty.
    aggs : Column, sequence of Column, or mapping
        Aggregates, as `pyspark.sql.GroupedData.agg` takes them.
    name : str, optional
        What the column is called that says whose window a row is of.

    Returns
    -------
    DataFrame
        Columns: ``name`` STRING, ``window`` STRUCT<start, end>, the keys, the aggregates; a row for each window of
        each kind and each group in it.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` if there is no window, no aggregate, or a window of another form.

    Examples
    --------
    >>> phantoms.windows(
    ...     trades, "ts", {"5m/1m": ("5 minutes", "1 minute"), "1h": "1 hour"}, "symbol", F.sum("volume").alias("total")
    ... )  # doctest: +SKIP
    """
    from pyspark.sql import Column, functions

    if not isinstance(windows, Mapping) or not windows:
        raise _bad("windows", windows, f"Give a mapping from names to windows, each {_FORM}.")
    grouped: list[Any] = [keys] if isinstance(keys, (str, Column)) else list(keys)
    calls: list[Any] = [aggs] if isinstance(aggs, (Column, Mapping)) else list(aggs)
    if not calls or (isinstance(aggs, Mapping) and not aggs):
        raise _bad("aggs", aggs, "Give at least one aggregate, such as F.count('*').")

    def one(label: str, spec: str | Sequence[str]) -> DataFrame:
        parts = (spec,) if isinstance(spec, str) else tuple(spec)
        if not 1 <= len(parts) <= 3 or not all(isinstance(p, str) for p in parts):
            raise _bad(f"windows[{label!r}]", spec, f"Give {_FORM}.")
        window = functions.window(ts, parts[0], *parts[1:]).alias("window")
        found = df.groupBy(window, *grouped).agg(*calls)
        return found.select(functions.lit(label).alias(name), "*")

    return reduce(lambda a, b: a.unionAll(b), [one(label, spec) for label, spec in windows.items()])


def _bad(what: str, value: Any, remedy: str) -> PhantomsError:
    return PhantomsError(
        "BAD_ARGUMENT", f"{what}: {value!r} is not usable.", remedy, {"argument": what, "value": repr(value)}
    )
