"""Draws SMAP's figures from the CSV files of ``io.phantoms.spark.lab.papers.Smap``: ``smap.py RESULTS IMAGES``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

COLOURS = ("#4477aa", "#cc3344", "#228833", "#ccaa22", "#aa3377", "#66ccee", "#777777")
Row = Mapping[str, str]


def read(results: Path, name: str) -> list[dict[str, str]]:
    """Read the rows of one figure."""
    with (results / f"smap-{name}.csv").open() as file:
        return list(csv.DictReader(file))


def panels(count: int, title: str) -> tuple[Figure, Sequence[Any]]:
    """Make a figure with some axes side by side."""
    figure = Figure(figsize=(5.2 * count, 4), layout="constrained")
    figure.suptitle(title)
    return figure, figure.subplots(1, count, squeeze=False)[0]


def line(axes: Any, rows: Iterable[Row], x: str, y: str, label: str, colour: str, style: str = "o-") -> None:
    """Draw the points at which `y` has a value."""
    known = [r for r in rows if r[y]]
    axes.plot([float(r[x]) for r in known], [float(r[y]) for r in known], style, color=colour, label=label, ms=4)


def columns(axes: Any, rows: Sequence[Row], x: str, names: Sequence[str], ylabel: str, xlabel: str = "") -> None:
    """Draw a line for each column."""
    for name, colour in zip(names, COLOURS, strict=False):
        line(axes, rows, x, name, name, colour)
    axes.set(xlabel=xlabel or x, ylabel=ylabel)
    axes.legend()


def grouped(rows: Sequence[Row], key: str) -> dict[str, list[Row]]:
    """Rows by the value of a column, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def rates(axes: Any, rows: Sequence[Row], key: str, model: str, unit: str) -> None:
    """Draw measured rates as marks and those of the model as lines."""
    for (name, part), colour in zip(grouped(rows, key).items(), COLOURS, strict=False):
        line(axes, part, "g/b", "measured", f"{name}{unit}", colour, "o")
        line(axes, part, "g/b", model, "", colour, "-")
    axes.plot([], [], "k-", label=model)
    axes.set(xlabel="g/b", ylabel="collision rate")
    axes.legend()


def collisions(results: Path, save: Any) -> None:
    """Figs 7 to 12."""
    figure, (left, right) = panels(2, "Figs 7, 8: collision rates without clustering")
    rates(left, read(results, "fig7"), "groups", "eq 13", " groups, random")
    rates(right, read(results, "fig8"), "groups", "eq 13", " groups, of flows")
    save(figure, "fig7-8")

    figure, both = panels(2, "Figs 9, 10: measured flow length l_m")
    for axes, name, title in zip(
        both, ("fig9", "fig10"), ("ABCD(AB BCD(BC BD CD))", "ABCD(AB(A B) CD(C D))"), strict=True
    ):
        rows = read(results, name)
        columns(axes, rows, "g/b", [c for c in rows[0] if c != "g/b"], "l_m")
        axes.set(yscale="log", title=title)
    save(figure, "fig9-10")

    figure, (axes,) = panels(1, "Fig 11: collision rates of clustered data")
    rates(axes, read(results, "fig11"), "relation", "eq 15", "")
    save(figure, "fig11")

    figure, (left, right) = panels(2, "Fig 12: the collision rate curve")
    rows = read(results, "fig12")
    columns(left, rows, "g/b", ["eq 13"], "collision rate")
    columns(right, [r for r in rows if float(r["g/b"]) <= 1.2], "g/b", ["eq 13", "eq 16"], "collision rate")
    save(figure, "fig12")


def space(results: Path, save: Any) -> None:
    """Figs 15 and 23."""
    for name, title in (("fig15", "Fig 15: space allocation"), ("fig23", "Fig 23: space allocation, several epochs")):
        parts = grouped(read(results, name), "configuration")
        figure, all_axes = panels(len(parts), title)
        for axes, (configuration, rows) in zip(all_axes, parts.items(), strict=True):
            columns(axes, rows, "M", ["sl", "sr", "pl", "pr"], "cost / ES")
            axes.set_title(configuration)
        save(figure, name)


def choosing(results: Path, save: Any) -> None:
    """Figs 16 to 18, 24 and 25."""
    for name, title in (("fig16", "Fig 16: M = 40,000"), ("fig24", "Fig 24: M = 40,000, epochs 2, 3, 5, 6")):
        figure, (axes,) = panels(1, title)
        columns(axes, read(results, name), "phi", ["gcsl", "gp", "gcpl"], "cost / EPES")
        save(figure, name)

    figure, (axes,) = panels(1, "Fig 17: phantoms chosen one by one, M = 40,000")
    for (name, rows), colour in zip(grouped(read(results, "fig17"), "algorithm").items(), COLOURS, strict=False):
        line(axes, rows, "phantoms", "relative cost", name, colour)
    axes.set(xlabel="phantoms", ylabel="cost / EPES", xticks=range(4))
    axes.legend()
    save(figure, "fig17")

    for name, title in (("fig18", "Fig 18: GCSL and GP"), ("fig25", "Fig 25: GCSL and GP, epochs 2, 3, 5, 6")):
        figure, (axes,) = panels(1, title)
        rows = read(results, name)
        columns(axes, rows, "M", [c for c in rows[0] if c != "M"], "cost / EPES")
        save(figure, name)


def measured(results: Path, save: Any) -> None:
    """Figs 19 to 22, 26 and 27."""
    for name, title in (
        ("fig19", "Fig 19: uniform tuples, A B C D"),
        ("fig20", "Fig 20: packets, AB BC BD CD"),
        ("fig26", "Fig 26: uniform tuples, A B C D, epochs 2, 3, 5, 6"),
        ("fig27", "Fig 27: packets, AB BC BD CD, epochs 2, 3, 5, 6"),
    ):
        figure, (left, right) = panels(2, title)
        rows = read(results, name)
        columns(left, rows, "M", ["gcsl", "gp best phi"], "measured cost / EPES")
        columns(right, rows, "M", ["gcsl", "no phantom", "no phantom in 20000"], "measured cost / EPES")
        save(figure, name)

    figure, (axes,) = panels(1, "Fig 21: wrong numbers of groups")
    for (memory, rows), colour in zip(grouped(read(results, "fig21"), "M").items(), COLOURS, strict=False):
        line(axes, rows, "error in %", "no phantom / gcsl", f"M = {memory}", colour)
    axes.set(xlabel="largest error in %", ylabel="cost without phantoms / GCSL", ylim=(0, None))
    axes.legend()
    save(figure, "fig21")

    figure, (axes,) = panels(1, "Fig 22: peak load")
    columns(axes, read(results, "fig22"), "E_p in % of E_e", ["shrink", "shift"], "cost / without limit")
    axes.invert_xaxis()
    save(figure, "fig22")


def main(results: Path, images: Path) -> None:
    """Draw every figure."""
    images.mkdir(parents=True, exist_ok=True)

    def save(figure: Figure, name: str) -> None:
        figure.savefig(images / f"smap-{name}.png", dpi=110)

    for part in (collisions, space, choosing, measured):
        part(results, save)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
