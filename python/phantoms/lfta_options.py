"""The options of ``format("lfta")`` under the names that Python has for them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phantoms.errors import PhantomsError


@dataclass(frozen=True)
class Option:
    """An option of the source.

    Attributes
    ----------
    name : str
        As `phantoms.lfta.read` takes it.
    spark : str
        As ``spark.read.option`` takes it.
    default : str
        What holds if it is not given.
    meaning : str
        What it does.
    """

    name: str
    spark: str
    default: str
    meaning: str


_ALL = (
    Option("records", "records", "by content", "`packets` or `flows`: what a row is"),
    Option("addresses", "addresses", "`binary`", "what an address is: `binary` (4 or 16 bytes), `int` or `string`"),
    Option("mode", "mode", "`PERMISSIVE`", "what becomes of what cannot be decoded: see below"),
    Option(
        "column_name_of_corrupt_record",
        "columnNameOfCorruptRecord",
        "`_malformed`",
        "the column that says what is wrong with a row, in PERMISSIVE mode",
    ),
    Option("ports", "ports", "`2055,4739,9995,9996`", "UDP ports of collectors: where flow records are in a capture"),
    Option("max_partition_bytes", "maxPartitionBytes", "Spark's", "about how much of a file one task reads"),
    Option("tables_memory", "tables.memory", "`1m`", "bytes of a task's tables for aggregates in the reader"),
    Option("tables_kind", "tables.kind", "`direct`", "how these tables are kept: `direct` or `secondChance`"),
    Option("flush", "flush", "`lazy`", "when a finished epoch leaves the tables: `lazy` or `eager`"),
    Option("push_down_aggregate", "pushDownAggregate", "`true`", "whether Spark may have the reader aggregate"),
    Option("recursive_file_lookup", "recursiveFileLookup", "`false`", "whether directories are read with all below"),
    Option("path_glob_filter", "pathGlobFilter", "none", "only files whose names match, such as `*.pcap`"),
    Option("ignore_missing_files", "ignoreMissingFiles", "`false`", "whether files that are gone are passed over"),
)

OPTIONS: dict[str, Option] = {o.name: o for o in _ALL}
"""What `read` knows, by Python's name."""


def spark_options(given: Mapping[str, Any], known: Mapping[str, Option] = OPTIONS) -> dict[str, str]:
    """Options as the source takes them.

    Parameters
    ----------
    given : mapping
        Values by Python's names; None for those that are not given. A list is joined by commas.
    known : mapping, optional
        The options there are.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for a name that is no option's, with those there are.
    """
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, known, 1) or [o.name for o in known.values() if o.spark == unknown]
        guess = f"Did you mean {near[0]}? " if near else ""
        raise PhantomsError(
            "BAD_ARGUMENT",
            f"{unknown} is no option of captures and flow exports.",
            f"{guess}Known: {', '.join(known)}.",
            {"argument": unknown},
        )
    return {known[name].spark: _text(value) for name, value in given.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)
