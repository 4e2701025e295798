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


DEFAULT_PORTS = (2055, 4739, 9995, 9996)
"""IANA's port of IPFIX, and those that collectors of NetFlow listen on."""

_ALL = (
    Option("records", "records", "as the files are", "what a row is: `packets` or `flows`"),
    Option("addresses", "addresses", "binary", "what an address is: `binary` (4 or 16 bytes), `int` or `string`"),
    Option("mode", "mode", "PERMISSIVE", "what becomes of what cannot be decoded, see [below](#modes)"),
    Option(
        "column_name_of_corrupt_record",
        "columnNameOfCorruptRecord",
        "_malformed",
        "the column that says what is wrong with a row, in the mode `PERMISSIVE`",
    ),
    Option("ports", "ports", ",".join(map(str, DEFAULT_PORTS)), "UDP ports of collectors, for flows within captures"),
    Option(
        "max_partition_bytes",
        "maxPartitionBytes",
        "spark.sql.files.maxPartitionBytes",
        "about how many bytes of files a task reads",
    ),
    Option("tables_memory", "tables.memory", "1m", "memory of a task's table, where the reader aggregates"),
    Option("tables_kind", "tables.kind", "secondChance", "how that table makes room: `direct` or `secondChance`"),
    Option("flush", "flush", "end", "when groups leave it that did not have to make room"),
    Option("push_down_aggregate", "pushDownAggregate", "true", "whether the reader may aggregate"),
    Option("columnar", "columnar", "true", "whether the reader hands out batches of columns where it can"),
    Option("recursive_file_lookup", "recursiveFileLookup", "false", "Spark's: files in directories below, too"),
    Option("path_glob_filter", "pathGlobFilter", "", "Spark's: only files whose names match, such as `*.pcap`"),
    Option("ignore_missing_files", "ignoreMissingFiles", "false", "Spark's: files that are gone are passed over"),
    Option(
        "ignore_corrupt_files",
        "ignoreCorruptFiles",
        "false",
        "Spark's: what cannot be read of a file is passed over, with a warning in the log",
    ),
    Option("modified_before", "modifiedBefore", "", "Spark's: only files that are older than this time"),
    Option("modified_after", "modifiedAfter", "", "Spark's: only files that are newer than this time"),
    Option("base_path", "basePath", "", "Spark's: where names of partitions begin"),
)

OPTIONS: dict[str, Option] = {o.name: o for o in _ALL}
"""What `read` knows, by Python's name."""

_OF_PORTS = (
    Option("ring_memory", "ring.memory", "64m", "memory for datagrams until their batch is done"),
    Option("max_datagrams_per_trigger", "maxDatagramsPerTrigger", "", "datagrams of a batch"),
)

LISTEN_OPTIONS: dict[str, Option] = {
    name: OPTIONS[name] for name in ("addresses", "mode", "column_name_of_corrupt_record")
} | {o.name: o for o in _OF_PORTS}
"""What `listen` knows, by Python's name."""


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
