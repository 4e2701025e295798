from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from phantoms.cli.main import main
from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import plot, points, sweep
from phantoms.lab.benchmark.points import SETS, Point
from phantoms.lab.data import DATASETS
from phantoms.lab.data import sweep as data
from phantoms.lab.reports import SMAP4, sets

Command = Callable[[list[str]], int]

POINT_KEYS = [
    "sets", "percent", "groups", "result_rows", "shared", "reason", "estimated", "answers_equal", "times", "ratio",
]  # fmt: skip


def measured(sets: int, percent: float, ratio: float, shared: bool = True) -> sweep.Measured:
    reason = None if shared else "NO_BENEFIT: no"
    times = {"plain_sets": ratio, "plugin_sets": 1.0}
    return sweep.Measured(sets, percent, 10, 100, shared, reason, None, True, times, ratio)


@pytest.fixture
def result() -> sweep.SweepResult:
    found = sweep.SweepResult(1_000, "4.2.0", 1, {})
    for m in (measured(64, 100.0, 9.0), measured(2, 0.1, 1.0, shared=False), measured(64, 0.1, 20.0)):
        found.add(m)
    return found


@pytest.mark.parametrize("percent", data.PERCENTAGES)
@pytest.mark.parametrize("rows", [1, 50, 20_000])
def test_groups_of_the_finest_grouping(percent: float, rows: int) -> None:
    made = pa.concat_tables(DATASETS[data.name(percent)].tables(rows, 7))
    assert made.num_rows == rows
    assert made.schema == data.SCHEMA
    assert made.group_by(list(data.KEYS)).aggregate([]).num_rows == data.groups(rows, percent)
    assert made.equals(pa.concat_tables(DATASETS[data.name(percent)].tables(rows, 7)))


def test_subsets_are_coarse_and_fine() -> None:
    made = pa.concat_tables(DATASETS[data.name(10.0)].tables(200_000, 7))
    finest = data.groups(200_000, 10.0)
    sizes = [
        made.group_by(list(r.keys)).aggregate([]).num_rows / finest for r in points.workload(Point(10.0, 64)).reports
    ]
    assert sum(s > 0.5 for s in sizes) >= 10
    assert sum(s < 0.1 for s in sizes) >= 20


def test_sets_are_distinct_and_hold_the_finest() -> None:
    found = [[r.keys for r in points.workload(Point(1.0, n)).reports] for n in SETS]
    for n, keys in zip(SETS, found, strict=True):
        assert len(keys) == len(set(keys)) == n
        assert keys[0] == data.KEYS
        assert keys == found[-1][:n]


def test_points_asked_for() -> None:
    assert len(points.parse(None)) == 20
    assert points.parse(["16@10", "2@0.1"]) == [Point(0.1, 2), Point(10.0, 16)]
    assert points.parse(["64@"]) == [Point(p, 64) for p in data.PERCENTAGES]
    assert points.parse(["@50", "2@50"]) == [Point(50.0, n) for n in SETS]


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["bench", "sweep", "--points", "3@1"], "3@1"),
        (["bench", "sweep", "--points", "16"], "16"),
        (["bench", "sweep", "--repeat", "0"], "repeat"),
        (["bench", "sweep", "--resume"], "--json"),
        (["bench", "sweep", "--forms", "scan"], "--forms"),
        (["bench", "nfc22", "--points", "2@1"], "--points"),
        (["bench", "nfc22", "--resume"], "--resume"),
    ],
)
def test_errors(argv: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert named in capsys.readouterr().err


def test_a_sweep_is_kept(result: sweep.SweepResult, tmp_path: Path) -> None:
    file = tmp_path / "new" / "sweep.json"
    result.save(file)
    assert [p.name for p in file.parent.iterdir()] == ["sweep.json"]
    again = sweep.SweepResult(1_000, "4.2.0", 1, {})
    again.load(file)
    assert again == result
    assert [m.point for m in again.points] == [Point(0.1, 2), Point(0.1, 64), Point(100.0, 64)]


@pytest.mark.parametrize(("change", "named"), [({"rows": 2_000}, "rows=1000"), ({"conf": {"a": "b"}}, "conf={}")])
def test_no_resuming_under_other_conditions(
    change: dict[str, Any], named: str, result: sweep.SweepResult, tmp_path: Path
) -> None:
    result.save(tmp_path / "sweep.json")
    other = sweep.SweepResult(**({"rows": 1_000, "spark": "4.2.0", "repeat": 1, "conf": {}} | change))
    with pytest.raises(PhantomsError, match=named):
        other.load(tmp_path / "sweep.json")
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(PhantomsError, match="holds no sweep"):
        other.load(tmp_path / "sweep.json")


def test_the_picture(result: sweep.SweepResult, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "images" / "sweep.png"
    plot.draw(result.to_dict(), file)
    assert file.read_bytes().startswith(b"\x89PNG")
    plot.draw(result.to_dict(), file.with_suffix(".svg"))
    svg = file.with_suffix(".svg").read_text()
    assert svg.count("<!-- 64 sets -->") == 1
    assert "<!-- declined -->" in svg


def test_no_matplotlib(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(plot, "installed", lambda: False)
    assert main(["bench", "sweep", "--plot", str(tmp_path / "sweep.png")]) == 2
    assert "matplotlib" in capsys.readouterr().err


@pytest.mark.in_turn
def test_end_to_end(
    python: Callable[..., Any], here: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two points, shared since savings do not matter; then one more, of which the first two are kept."""
    out = tmp_path / "sweep.json"
    args = ["bench", "sweep", "--rows", "20000", "--repeat", "1", "--json", str(out)]
    conf = ["--conf", "spark.phantoms.minSavings=-1"]
    done = python("-m", "phantoms.cli.main", *args, *conf, "--points", "4@1", "16@100", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[2/2] 16 sets" in done.stdout
    result = json.loads(out.read_text())
    assert list(result) == ["name", "rows", "spark", "repeat", "conf", "answers_equal", "points"]
    assert (result["rows"], result["repeat"], result["answers_equal"]) == (20_000, 1, True)
    assert [(p["sets"], p["percent"], p["groups"]) for p in result["points"]] == [(4, 1.0, 200), (16, 100.0, 20_000)]
    for p in result["points"]:
        assert list(p) == POINT_KEYS
        assert p["shared"]
        assert p["reason"] is None
        assert p["answers_equal"]
        assert p["result_rows"] >= p["groups"]
        assert p["ratio"] == p["times"]["plain_sets"] / p["times"]["plugin_sets"]

    drawn = ["--plot", str(tmp_path / "sweep.png")] if plot.installed() else []
    assert here([*args, *conf, "--points", "4@1", "2@1", "--resume", *drawn]) == 0
    assert "[1/1] 2 sets" in capsys.readouterr().out
    again = json.loads(out.read_text())["points"]
    assert [p for p in again if p["sets"] != 2] == result["points"]
    assert len(again) == 3
    assert (tmp_path / "sweep.png").exists() == plot.installed()


def test_a_declined_point_is_plain_spark(here: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sweep.json"
    declined = ["bench", "sweep", "--rows", "5000", "--repeat", "1", "--points", "2@1", "--json", str(out),
                "--conf", "spark.phantoms.chooser=none"]  # fmt: skip
    assert here(declined) == 0
    (point,) = json.loads(out.read_text())["points"]
    assert not point["shared"]
    assert point["reason"]
    assert "declined" in capsys.readouterr().out


@pytest.mark.parametrize("change", ["value off by one", "report lost", "rows lost", "NULL as 0"])
def test_a_wrong_answer_is_seen(change: str, spark: SparkSession) -> None:
    query = sets(SMAP4, "packets")
    names = ("gid", *SMAP4.keys, *(name for _, name in SMAP4.aggregates))
    changed = {
        "value off by one": query.replace("sum(length)", "sum(length) + 1"),
        "report lost": f"SELECT * FROM ({query}) WHERE gid <> 3",
        "rows lost": f"SELECT * FROM ({query}) LIMIT 100",
        "NULL as 0": f"SELECT {', '.join(f'coalesce({n}, 0) AS {n}' for n in names)} FROM ({query})",
    }[change]
    right, acted = sweep._answer(spark, "plain_sets", query, ", ".join(names))
    assert not acted
    assert sweep._answer(spark, "plugin_sets", query, ", ".join(names)) == (right, True)
    assert sweep._answer(spark, "plain_sets", changed, ", ".join(names))[0] != right
