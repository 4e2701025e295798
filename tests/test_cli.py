from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phantoms import __version__
from phantoms.benchmark import FORMS, BenchmarkResult
from phantoms.benchmark.engines import ENGINES
from phantoms.cli.main import main

KEYS = ["name", "rows", "spark", "repeat", "answers_equal", "times", "ratios"]
RATIOS = ["best_plain", "one", "duckdb", "polars", "chdb"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as e:
        main(["--version"])
    assert e.value.code == 0
    assert capsys.readouterr().out.strip() == f"phantoms {__version__}"


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["bench", "nothing"], "nfc22"),
        (["bench", "nfc22", "--repeat", "0"], "repeat"),
        (["bench", "nfc22", "--forms", "plain_magic"], "plain_magic"),
        (["plan", "/nonexistent/spec.json"], "spec.json"),
    ],
)
def test_errors_are_told_and_returned(argv: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["dance"], ["bench"], ["bench", "nfc22", "--rows", "-3"],
                                  ["bench", "nfc22", "--conf", "novalue"]])  # fmt: skip
def test_usage_errors(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as e:
        main(argv)
    assert e.value.code == 2


def test_ratios() -> None:
    times = dict.fromkeys(FORMS, None) | {
        "plain_separate": 9.0, "plain_union": 8.0, "plain_sets": 12.0,
        "plugin_union": 1.0, "plugin_sets": 2.0, "one": 4.0, "duckdb": 1.0, "polars": 4.0,
    }  # fmt: skip
    result = BenchmarkResult("x", 1, "4.2.0", 1, True, times)
    assert result.ratios == {"best_plain": 4.0, "one": 0.5, "duckdb": 2.0, "polars": 0.5, "chdb": None}
    assert list(result.to_dict()) == KEYS
    assert "8.00x plain_union" in str(result)
    nothing = BenchmarkResult("x", 1, "4.2.0", 1, True, dict.fromkeys(FORMS, None))
    assert nothing.ratios == dict.fromkeys(RATIOS)


@pytest.mark.parametrize(("name", "rows"), [("nfc22", 20_000), ("smap4", 50_000), ("cube4", 50_000)])
def test_bench(name: str, rows: int, python: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    done = python(
        "-m", "phantoms.cli.main", "bench", name, "--rows", str(rows), "--repeat", "1", "--json", str(out),
        "--conf", "spark.phantoms.minSavings=-1", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text())
    assert list(result) == KEYS
    assert (result["name"], result["rows"], result["repeat"], result["answers_equal"]) == (name, rows, 1, True)
    assert list(result["times"]) == list(FORMS)
    absent = {f for f in ENGINES if not ENGINES[f].installed()}
    assert {f for f, t in result["times"].items() if t is None} == absent
    assert all(t > 0 for f, t in result["times"].items() if f not in absent)
    assert list(result["ratios"]) == RATIOS
    assert "answers equal" in done.stdout


def test_bench_refuses_to_compare_spark_to_itself(python: Callable[..., Any], tmp_path: Path) -> None:
    done = python(
        "-m", "phantoms.cli.main", "bench", "smap4", "--rows", "20000", "--repeat", "1",
        "--forms", "plugin_sets", "--conf", "spark.phantoms.chooser=none", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "NOT_SHARED" in done.stderr


def test_demo(python: Callable[..., Any], tmp_path: Path) -> None:
    done = python("-m", "phantoms.cli.main", "demo", "--rows", "200000", "--repeat", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "answers equal" in done.stdout
    assert "configuration" in done.stdout
    page = (tmp_path / "phantoms-demo.html").read_text()
    assert "<svg" in page
    assert "DetailCallRecord" in page
