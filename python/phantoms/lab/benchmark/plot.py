"""The picture of a sweep: how many times faster the plugin is, by the size of the finest grouping."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phantoms.errors import PhantomsError

COLOURS = ("#4477aa", "#228833", "#ccaa22", "#cc3344")
TOLERANCE = 1 / 1.05
"""A plan the plugin slows down by 5 %."""


def installed() -> bool:
    """Tell whether matplotlib can be imported."""
    return importlib.util.find_spec("matplotlib") is not None


def require(file: Path) -> None:
    """Raise ``BAD_ARGUMENT`` unless matplotlib is installed and can draw such a file."""
    if not installed():
        raise PhantomsError(
            "BAD_ARGUMENT", "matplotlib is not installed.", "Install it: pip install 'spark-phantoms[plots]'."
        )
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if file.suffix.lower().removeprefix(".") not in known:
        raise PhantomsError(
            "BAD_ARGUMENT",
            f"--plot: no picture of the kind {file.suffix!r} can be drawn.",
            f"Known: {', '.join(known)}.",
        )


def draw(document: Mapping[str, Any], file: Path) -> None:
    """Draw the JSON document of a sweep: one line per number of sets, hollow marks where the plugin declined.

    Parameters
    ----------
    document : mapping
        `SweepResult.to_dict`.
    file : Path
        Where to write the picture; its suffix is the format.
    """
    require(file)
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes: Any = figure.subplots()
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.axhline(TOLERANCE, color="black", linewidth=0.8, linestyle=":", label="1 / 1.05")
    for i, count in enumerate(sorted({p["sets"] for p in document["points"]})):
        colour = COLOURS[i % len(COLOURS)]
        line = sorted((p for p in document["points"] if p["sets"] == count), key=lambda p: p["percent"])
        axes.plot([p["percent"] for p in line], [p["ratio"] for p in line], color=colour, label=f"{count} sets")
        for p in line:
            face = colour if p["shared"] else "white"
            axes.plot(p["percent"], p["ratio"], "o", markeredgecolor=colour, markerfacecolor=face)
    axes.plot([], [], "o", markeredgecolor="grey", markerfacecolor="white", label="declined")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sorted({p["percent"] for p in document["points"]}))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} %"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}x"))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda y, _: f"{y:g}x" if f"{y:e}"[0] in "25" else ""))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("groups of the finest grouping, in per cent of the rows")
    axes.set_ylabel("plain Spark's time / the plugin's")
    axes.set_title(f"GROUPING SETS over {document['rows']:,} rows, Spark {document['spark']}")
    figure.legend(loc="outside right upper")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
