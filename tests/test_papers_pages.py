"""What docs/papers/smap.md prints is what the checked-in results say, to as many digits as are printed."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from conftest import ROOT

PAGE = (ROOT / "docs/papers/smap.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks/papers/results"


def column(name: str, column: str, **where: str) -> list[float]:
    """A column of a result, of the rows that have these values."""
    path: Path = RESULTS / f"smap-{name}.csv"
    with path.open(encoding="utf-8", newline="") as f:
        rows = [r for r in csv.DictReader(f) if all(r[k] == v for k, v in where.items())]
    assert rows
    return [float(r[column]) for r in rows]


def printed(start: str, cells: str = r"(.*)") -> list[str]:
    """The numbers that a row of a table prints, from where ``cells`` begins to match."""
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| {start}")]
    assert len(rows) == 1, rows
    found = re.search(cells, rows[0][len(start) + 2 :])
    assert found
    return re.findall(r"\d+(?:\.\d+)?", found.group(1))


def same(numbers: list[str], expected: list[float]) -> None:
    assert len(numbers) == len(expected)
    for text, value in zip(numbers, expected, strict=True):
        digits = len(text.partition(".")[2])
        assert abs(float(text) - value) <= 0.5 * 10**-digits + 1e-9, (numbers, expected)


@pytest.mark.parametrize("allocation", ["SL", "SR", "PL", "PR"])
@pytest.mark.parametrize(("data", "file"), [("uniform", "table3-uniform"), ("packets", "table3-clustered")])
def test_table_3(allocation: str, data: str, file: str) -> None:
    same(printed(f"{allocation}, {data}"), column(file, allocation.lower()))


@pytest.mark.parametrize(("data", "file"), [("uniform", "table4-uniform"), ("packets", "table4-clustered")])
def test_table_4(data: str, file: str) -> None:
    same(printed(f"{data} |"), column(file, "sl best in %"))


def test_figures() -> None:
    same(printed("Fig 18,", r"always under GP \| (.*?); GP"), column("fig18", "gcsl"))
    same(printed("Fig 19(a)", r"GCSL within.*\| GCSL (.*?); GP"), column("fig19", "gcsl"))
    same(printed("Fig 19(a)", r"\| GCSL .*; GP ([\d., ]+) \|"), column("fig19", "gp best phi"))
    same(printed("Fig 19(b)", r"many cases \| (.*?) \|"), column("fig19", "no phantom / gcsl"))
    same(printed("Fig 20(a)", r"\| GCSL (\d.*?); GP"), column("fig20", "gcsl"))
    same(printed("Fig 20(a)", r"; GP ([\d., ]+) \|"), column("fig20", "gp best phi"))
    same(printed("Fig 20(b)", r"far above \| (.*?) \|"), column("fig20", "no phantom / gcsl"))


def test_windows_after_the_first() -> None:
    # "second window" is there twice: of one epoch, and of several.
    rows = [line for line in PAGE.splitlines() if re.match(r"\| (first|second|third) window|\| epochs of 2, 3", line)]
    expected = [("one", "1"), ("one", "2"), ("one", "3"), ("several", "1"), ("several", "2")]
    with (RESULTS / "smap-next-windows.csv").open(encoding="utf-8", newline="") as f:
        names = list(dict.fromkeys(r["epochs"] for r in csv.DictReader(f)))
    assert len(names) == 2
    assert len(rows) == len(expected)
    for row, (epochs, window) in zip(rows, expected, strict=True):
        numbers = re.findall(r"\d\.\d{3}", row.rsplit("|", 2)[1])
        which = names[0] if epochs == "one" else names[1]
        same(numbers, column("next-windows", "gcsl / gp best phi", epochs=which, window=window))


@pytest.mark.parametrize("queries", ["A B C D", "AB BC BD CD"])
def test_data_that_were_not_selected(queries: str) -> None:
    columns = ["gcsl / epes mean", "gcsl / epes max", "gcsl / best gp mean", "gcsl / best gp max"]
    same(
        printed(f"{queries} |", r"(.*) \| [^|]* \|$"),
        [column("other-data", c, queries=queries)[0] for c in columns],
    )
    share = column("other-data", "no worse than gp in %", queries=queries)[0]
    said = {"A B C D": "26 % of the cases", "AB BC BD CD": "all"}[queries]
    assert f"| {said} |" in PAGE
    assert said == ("all" if share == 100 else f"{share:.0f} % of the cases")
