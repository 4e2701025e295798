"""The columns of packets and flows, without a session."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms.errors import PhantomsError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

# Written by `make docs-lfta` from the schemas of the readers.
_COLUMNS = Path(__file__).with_name("lfta_columns.json")


@cache
def columns() -> dict[str, list[dict[str, str]]]:
    """Names, kinds and meanings of the columns of ``packets`` and ``flows``, in order."""
    found: dict[str, list[dict[str, str]]] = json.loads(_COLUMNS.read_text(encoding="utf-8"))
    return found


def schema(records: str, *, addresses: str = "binary") -> StructType:
    """What the columns of packets or of flows are.

    Parameters
    ----------
    records : str
        ``"packets"`` or ``"flows"``.
    addresses : str, optional
        What an address is: ``"binary"``, ``"int"`` or ``"string"``, as the option of `read`.

    Returns
    -------
    StructType
        The schema of `read`'s rows, with what a column means as its comment; without ``_malformed``, which PERMISSIVE
        mode adds.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for other records or addresses.
    """
    from pyspark.sql.types import StructField, StructType

    if records not in columns():
        raise _bad("records", records, " or ".join(columns()))
    kinds = _types(addresses)
    return StructType(
        [StructField(c["name"], kinds[c["kind"]], True, {"comment": c["comment"]}) for c in columns()[records]]
    )


def _types(addresses: str) -> dict[str, DataType]:
    from pyspark.sql import types as t

    as_address: dict[str, DataType] = {"binary": t.BinaryType(), "int": t.IntegerType(), "string": t.StringType()}
    if addresses not in as_address:
        raise _bad("addresses", addresses, ", ".join(as_address))
    return {
        "INT": t.IntegerType(),
        "LONG": t.LongType(),
        "TIMESTAMP": t.TimestampType(),
        "ADDRESS": as_address[addresses],
        "BYTES": t.BinaryType(),
        "TEXT": t.StringType(),
        "MAP": t.MapType(t.StringType(), t.BinaryType()),
    }


def _bad(what: str, value: Any, known: str) -> PhantomsError:
    return PhantomsError("BAD_ARGUMENT", f"{what}: {value!r} is not known.", f"Give {known}.", {"argument": what})
