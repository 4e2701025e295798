from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phantoms import __version__, outputs
from phantoms.cli.main import main
from phantoms.lab.benchmark import FORMS, BenchmarkResult
from phantoms.lab.benchmark.engines import ENGINES

Command = Callable[[list[str]], int]

KEYS = ["name", "rows", "spark", "repeat", "answers_equal", "times", "ratios"]
RATIOS = ["best_plain", "one", "duckdb", "polars", "chdb"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as e:
        main(["--version"])
    assert e.value.code == 0
    assert capsys.readouterr().out.strip() == f"phantoms {__version__}"


@pytest.mark.in_turn
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


@pytest.mark.parametrize(
    "argv",
    [
        ["demo", "--html", "{0}/nowhere/page.html"],
        ["demo", "--html", "{0}"],
        ["bench", "nfc22", "--json", "{0}/nowhere/r.json"],
        ["bench", "sweep", "--json", "{0}/nowhere/r.json"],
        ["bench", "sweep", "--plot", "{0}/nowhere/r.png"],
        ["bench", "sweep", "--plot", "{0}/r.nothing"],
        ["calibrate", "--json", "{0}/nowhere/m.json"],
        ["data", "flows", "{0}"],
        ["data", "nothing", "{0}/x"],
    ],
)
def test_outputs_are_checked_before_the_work(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("began to work")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").touch()
    for started in ("benchmark.session.open_session", "benchmark.sweep.open_session", "benchmark.run.open_session",
                    "data.store.generate", "data.generate", "demo.run.open_session"):  # fmt: skip
        monkeypatch.setattr(
            importlib.import_module("phantoms.lab." + started.rpartition(".")[0]), started.split(".")[-1], work
        )
    assert main([a.format(tmp_path) for a in argv]) == 2
    assert "BAD_ARGUMENT" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


def test_an_output_that_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    there, new = tmp_path / "there.json", tmp_path / "new.json"
    there.write_text("before")
    outputs.check(there, "--json")
    outputs.check(new, "--json")
    outputs.check("/dev/null", "--json")
    assert there.read_text() == "before"
    assert not new.exists()


WITHOUT_EXTRAS = """
import sys
for absent in ("numpy", "pyarrow", "duckdb", "polars", "chdb", "matplotlib", "pandas"):
    sys.modules[absent] = None
from phantoms.lab.benchmark import session
from phantoms.cli.main import main
from phantoms.errors import PhantomsError
def opened(*_, **__):
    raise PhantomsError("OPENED", "this far.", "Go on.")
session.open_session = opened
for argv in (["demo"], ["bench", "nfc22"], ["bench", "sweep"], ["data", "flows", "x"], ["calibrate"]):
    assert main(argv) == 2
"""


def test_without_extras(python: Callable[..., Any], tmp_path: Path) -> None:
    """Every command that generates data names the extra; calibrate, whose data Spark generates, needs none."""
    done = python("-c", WITHOUT_EXTRAS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stderr.strip().splitlines()
    assert [line.split("]")[0] for line in said] == ["phantoms: [MISSING_EXTRA"] * 4 + ["phantoms: [OPENED"]
    assert all("numpy and pyarrow" in line and "[data]" in line for line in said[:4])


def test_without_pyspark(python: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text("{}")
    code = "import sys; sys.modules['pyspark'] = None; from phantoms.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for argv in (["demo"], ["bench", "nfc22"], ["calibrate"], ["plan", "spec.json"]):
        done = python("-c", code, *argv, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("MISSING_PYSPARK")) == (2, 1), done.stderr
        assert "Traceback" not in done.stderr


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


def bench(name: str, rows: int, asked: list[str], out: Path) -> list[str]:
    return ["bench", name, "--rows", str(rows), "--repeat", "1", "--json", str(out),
            "--conf", "spark.phantoms.minSavings=-1", "--forms", *asked]  # fmt: skip


def check_bench(name: str, rows: int, asked: list[str], out: Path, said: str) -> None:
    result = json.loads(out.read_text())
    assert list(result) == KEYS
    assert (result["name"], result["rows"], result["repeat"], result["answers_equal"]) == (name, rows, 1, True)
    assert list(result["times"]) == list(FORMS)
    absent = {f for f in FORMS if f not in asked or (f in ENGINES and not ENGINES[f].installed())}
    assert {f for f, t in result["times"].items() if t is None} == absent
    assert all(t > 0 for f, t in result["times"].items() if f not in absent)
    assert list(result["ratios"]) == RATIOS
    assert "answers equal" in said


# All forms of one workload, in a session of its own; of the others those of one kind.
def test_bench(python: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    done = python("-m", "phantoms.cli.main", *bench("smap4", 50_000, list(FORMS), out), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    check_bench("smap4", 50_000, list(FORMS), out, done.stdout)


@pytest.mark.parametrize(
    ("name", "rows", "asked"),
    [("nfc22", 20_000, ["plain_union", "plugin_union"]), ("cube4", 50_000, ["plain_sets", "plugin_sets", "one"])],
)
def test_bench_of_other_workloads(
    name: str, rows: int, asked: list[str], here: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    assert here(bench(name, rows, asked, out)) == 0
    check_bench(name, rows, asked, out, capsys.readouterr().out)


def test_bench_refuses_to_compare_spark_to_itself(here: Command, capsys: pytest.CaptureFixture[str]) -> None:
    refused = ["bench", "smap4", "--rows", "20000", "--repeat", "1", "--forms", "plugin_sets",
               "--conf", "spark.phantoms.chooser=none"]  # fmt: skip
    assert here(refused) == 2
    assert "NOT_SHARED" in capsys.readouterr().err


def test_demo(python: Callable[..., Any], tmp_path: Path) -> None:
    done = python("-m", "phantoms.cli.main", "demo", "--rows", "50000", "--repeat", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "answers equal" in done.stdout
    assert "configuration" in done.stdout
    page = (tmp_path / "phantoms-demo.html").read_text()
    assert "<svg" in page
    assert "the time of plain Spark over the time with spark-phantoms" in page
    assert re.search(r"<td>spark-phantoms</td><td class=n>[\d.]+ s</td><td class=n>[\d.]+ s</td>", page)
    assert re.search(r"<td>DetailCallRecord</td><td class=n>[\d,]+</td><td class=n>[\d,]+</td>", page)
    assert "DetailCallRecord" in page
