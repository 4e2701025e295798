"""Statistics the chooser uses: supplied ones here, those earlier executions observed, a bounded sample otherwise.

All functions act on a session: the active one, or else the process's, unless `spark` is given. `table` is the
name of a table or view.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import _jvm
from phantoms.errors import PhantomsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["clear", "count", "load", "observed", "sample", "save", "set_flow_length", "set_groups", "set_rows"]


def _session(spark: SparkSession | None) -> SparkSession:
    found = _jvm.running_session() if spark is None else spark
    if found is None:
        raise PhantomsError(
            "NOT_ACTIVE", "there is no Spark session.", "Create one with phantoms.configure, or pass spark=."
        )
    return found


def _call(spark: SparkSession, what: str, name: str, arguments: Mapping[str, Any] | None = None, df: Any = None) -> Any:
    return _jvm.guarded(
        "BAD_STATISTICS",
        "Check the table, the column names and the file.",
        what,
        lambda: _jvm.call(spark, f"stats.{name}", arguments, df=df),
    )


def _positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise PhantomsError(
            "BAD_STATISTICS", f"{name} must be a positive number, not {value!r}.", "Pass a count or an estimate of it."
        )


def _columns(cols: Sequence[str]) -> list[str]:
    if isinstance(cols, str) or not all(isinstance(c, str) for c in cols):
        raise PhantomsError("BAD_STATISTICS", f"cols must be a list of column names, not {cols!r}.", "Use ['a', 'b'].")
    return list(cols)


def set_rows(table: str, n: int, *, spark: SparkSession | None = None) -> None:
    """Tell how many rows a table has.

    Parameters
    ----------
    table : str
        Table or view.
    n : int
        Its rows.
    spark : SparkSession, optional
        The active session if omitted.

    Raises
    ------
    PhantomsError
        ``BAD_STATISTICS`` for an unknown table or a number that is not positive; ``NOT_ACTIVE``.
    """
    _positive("n", n)
    _call(_session(spark), f"rows of {table}", "set_rows", {"table": table, "n": float(n)})


def set_groups(table: str, cols: Sequence[str], n: int, *, spark: SparkSession | None = None) -> None:
    """Tell how many groups a grouping has (the paper's g_R).

    Parameters
    ----------
    table : str
        Table or view.
    cols : sequence of str
        The grouping columns, in any order.
    n : int
        Distinct combinations of their values.
    spark : SparkSession, optional
        The active session if omitted.

    Raises
    ------
    PhantomsError
        ``BAD_STATISTICS`` for an unknown table or column or a number that is not positive; ``NOT_ACTIVE``.
    """
    _positive("n", n)
    session, columns = _session(spark), _columns(cols)
    given = {"table": table, "columns": columns, "n": float(n)}
    _call(session, f"groups of {table} by {', '.join(cols)}", "set_groups", given)


def set_flow_length(table: str, cols: Sequence[str], length: float, *, spark: SparkSession | None = None) -> None:
    """Tell the effective flow length l_a of a grouping (SMAP, eq. 15).

    Parameters
    ----------
    table : str
        Table or view.
    cols : sequence of str
        The grouping columns, in any order.
    length : float
        Rows of one group that meet a table bucket in a row, on average; at least 1.
    spark : SparkSession, optional
        The active session if omitted.

    Raises
    ------
    PhantomsError
        ``BAD_STATISTICS`` for an unknown table or column or a length below 1; ``NOT_ACTIVE``.
    """
    _positive("length", length)
    if length < 1:
        raise PhantomsError("BAD_STATISTICS", f"a flow length is at least 1, not {length}.", "1 means no clustering.")
    session, columns = _session(spark), _columns(cols)
    given = {"table": table, "columns": columns, "length": float(length)}
    _call(session, f"flow length of {table} by {', '.join(cols)}", "set_flow_length", given)


def sample(df: DataFrame) -> dict[str, Any]:
    """Sample the input a DataFrame reads, and keep the sample for planning later queries over it.

    Parameters
    ----------
    df : DataFrame
        A table, or projections and filters over one.

    Returns
    -------
    dict
        ``rows``, ``sampled`` and, by column, estimated ``groups`` and ``flow_length``.

    Raises
    ------
    PhantomsError
        ``BAD_STATISTICS`` if it cannot be sampled; ``NOT_ACTIVE``.
    """
    return dict(_call(_jvm.session_of(df), "sample", "sample", df=df))


def count(df: DataFrame, groupings: Sequence[Sequence[str]], *, deviation: float = 0.02) -> dict[str, Any]:
    """Read the input of a DataFrame once and count its rows and the groups of many groupings.

    Each grouping is counted by a HyperLogLog sketch of its own in the same pass, so that the error does not depend on
    how many groups there are, as that of a sample does. The counts are kept with the observed statistics of the input:
    the next plan over it uses them, and they end with the state the input is in.

    Parameters
    ----------
    df : DataFrame
        A table, or projections and filters over one, as the queries read it.
    groupings : sequence of sequences of str
        Columns of each grouping, in any order.
    deviation : float, default 0.02
        Relative standard deviation of a count, from 0.002 to 0.2; memory grows as its inverse square.

    Returns
    -------
    dict
        ``rows``, and ``groups``: a list of ``columns`` with their number of ``groups``.

    Raises
    ------
    PhantomsError
        ``BAD_STATISTICS`` for an unknown column, an input whose state cannot be told, or while
        ``spark.phantoms.stats.observe`` is off; ``NOT_ACTIVE``.
    """
    given = {"groupings": groupings, "deviation": deviation}
    return dict(_call(_jvm.session_of(df), "count", "count", given, df=df))


def observed(*, spark: SparkSession | None = None) -> list[dict[str, Any]]:
    """Tell what earlier executions found out about their inputs.

    Only executions with ``spark.phantoms.stats.observe`` on leave something. Those kept in the directory
    ``spark.phantoms.stats.path`` are included.

    Parameters
    ----------
    spark : SparkSession, optional
        The active session if omitted.

    Returns
    -------
    list of dict
        One for each input: ``source``, ``filters`` and ``snapshot`` tell which rows it had, in which state of the
        source; ``rows`` how many (None if no execution read all of them); ``groups`` and ``flow_length`` are lists of
        ``columns``, as the observed query named them, with their ``groups`` or their effective flow length in ``rows``.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE``.
    """
    return list(_call(_session(spark), "observed", "observed"))


def save(path: str | Path, *, spark: SparkSession | None = None) -> None:
    """Write the supplied and the observed statistics to a JSON file.

    Raises
    ------
    PhantomsError
        ``BAD_STATISTICS`` if it cannot be written; ``NOT_ACTIVE``.
    """
    _call(_session(spark), f"save to {path}", "save", {"path": str(path)})


def load(path: str | Path, *, spark: SparkSession | None = None) -> None:
    """Add the statistics of a JSON file written by `save`.

    Raises
    ------
    PhantomsError
        ``BAD_STATISTICS`` if it cannot be read or names an unknown column; ``NOT_ACTIVE``.
    """
    _call(_session(spark), f"load from {path}", "load", {"path": str(path)})


def clear(*, spark: SparkSession | None = None) -> None:
    """Forget all supplied, sampled and observed statistics, and the choices made with them.

    The files of observed ones in the directory ``spark.phantoms.stats.path`` are deleted; other files there stay.
    """
    _call(_session(spark), "clear", "clear")
