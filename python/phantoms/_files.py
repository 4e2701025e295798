"""Reads files somebody named: regular ones of a limited size, without a word of what they hold in errors."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phantoms.errors import PhantomsError

MOST = 16 * 2**20
"""Bytes that a file of JSON may have."""


def read_json(path: str | Path, code: str, remedy: str, most: int = MOST) -> Any:
    """Return what a JSON file holds.

    Parameters
    ----------
    path : str or Path
        The file.
    code : str
        Class of the error if it cannot be read.
    remedy : str
        What to do then.
    most : int
        Bytes it may have.

    Raises
    ------
    PhantomsError
        If it is not there, is a pipe, a folder or a device, is too large, is not JSON, or has a name twice.
    """
    try:
        return json.loads(_text(path, most), object_pairs_hook=_once)
    except _UnusableError as e:
        raise PhantomsError(code, f"{path} cannot be read: {e}.", remedy) from None
    except json.JSONDecodeError as e:
        # The exception holds the whole text: not kept as a cause.
        where = f"line {e.lineno}, column {e.colno}"
        raise PhantomsError(code, f"{path} cannot be read: it is not valid JSON ({where}).", remedy) from None
    except (UnicodeDecodeError, ValueError, RecursionError, MemoryError) as e:
        raise PhantomsError(
            code, f"{path} cannot be read: it is not valid JSON ({type(e).__name__}).", remedy
        ) from None


class _UnusableError(Exception):
    """Why, as the end of a sentence."""


def _text(path: str | Path, most: int) -> str:
    try:
        # A pipe is opened without waiting for somebody to write; what was opened is what is looked at.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _UnusableError("it is not a regular file")
            content = file.read(most + 1)
    except OSError as e:
        raise _UnusableError(e.strerror or type(e).__name__) from None
    if len(content) > most:
        raise _UnusableError(f"it has more than the {most} bytes that are read of such a file")
    return content.decode("utf-8")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise _UnusableError("an object of it has a name twice")
    return dict(pairs)
