"""What is installed with an extra of the package, and may be missing."""

from __future__ import annotations

import importlib.util

from phantoms.errors import PhantomsError


class MissingExtraError(PhantomsError, ImportError):
    """A package that belongs to an extra is not installed; an `ImportError`, for those who guard their imports."""


def require(extra: str, *modules: str) -> None:
    """Raise ``MISSING_EXTRA`` unless all modules can be imported.

    Parameters
    ----------
    extra : str
        The extra that brings them.
    modules : str
        Names of top-level modules.
    """
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if missing:
        raise MissingExtraError(
            "MISSING_EXTRA",
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed.",
            f"Install the extra [{extra}]: pip install 'spark-phantoms[{extra}]', or pip install '.[{extra}]' "
            "in a checkout.",
            {"extra": extra, "modules": ", ".join(missing)},
        )
