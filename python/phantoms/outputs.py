"""Files that results are written to: found out before the work whether they can be."""

from __future__ import annotations

from pathlib import Path

from phantoms.errors import PhantomsError


def check(file: str | Path | None, option: str) -> None:
    """Raise ``BAD_ARGUMENT`` if a file cannot be written; it is left as it is.

    Parameters
    ----------
    file : str or Path, optional
        Where something will be written; nothing is checked if there is none.
    option : str
        What the user calls it.
    """
    if file is None:
        return
    path = Path(file)
    try:
        existed = path.exists()
        # A pipe or a terminal is left alone: opening one may wait for a reader.
        if not existed or path.is_file() or path.is_dir():
            with path.open("ab"):
                pass
        if not existed:
            path.unlink()
    except OSError as e:
        raise PhantomsError(
            "BAD_ARGUMENT",
            f"{option}: {path} cannot be written ({e.strerror}).",
            "Name a file, in a folder that exists.",
            {"file": str(path)},
        ) from e
