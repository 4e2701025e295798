"""Benchmarks of windows and predicates: SQL of every form, the same rows from each."""

from __future__ import annotations

import importlib
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from phantoms.cli.main import main
from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import WINDOW_FORMS, WindowResult, alone, answers, run
from phantoms.lab.benchmark.catalog import check, possible
from phantoms.lab.benchmark.result import FLOORS
from phantoms.lab.benchmark.session import register
from phantoms.lab.benchmark.windowed import WindowForms
from phantoms.lab.data import DATASETS, ensure
from phantoms.lab.windows import (
    WINDOW_WORKLOADS,
    WindowWorkload,
    conditional,
    random_predicates,
    random_windows,
    union,
)

SIZES = {"sts16": 16, "sts64": 64, "sts256": 256, "sdf256": 256, "sds16x16": 256, "sds256": 256}
Opened = Callable[[WindowWorkload], WindowForms]
ROWS = 60
"""Plain Spark copies each 1440 times into windows of a day."""

CONDITIONAL = ("sdf256", "sds16x16")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trades")


@pytest.mark.in_turn
@pytest.mark.parametrize("name", WINDOW_WORKLOADS)
def test_workloads_are_sound(name: str) -> None:
    workload = WINDOW_WORKLOADS[name]()
    assert workload == WINDOW_WORKLOADS[name]()
    assert workload.name == name
    assert len(workload.queries) == SIZES.get(name, 1)
    assert len({q.name for q in workload.queries}) == len({replace(q, name="") for q in workload.queries})
    assert len({q.name for q in workload.queries}) == len(workload.queries)
    assert workload.has_filter_form == (name in CONDITIONAL)
    assert set(workload.columns) <= set(next(DATASETS[workload.dataset].tables(10, 7)).column_names)
    assert union(workload, "t").count("UNION ALL") == len(workload.queries) - 1
    if name in CONDITIONAL:
        assert conditional(workload, "t").count("FILTER") == 256
    else:
        with pytest.raises(ValueError, match="no form with FILTER"):
            conditional(workload, "t")


def test_the_papers_parameters() -> None:
    windows = random_windows(random.Random(1), 256)
    assert len(set(windows)) == 256
    assert all(600 <= w.range <= 900 and 300 <= w.slide <= 600 for w in windows)
    predicates = random_predicates(random.Random(1), 256)
    assert len(set(predicates)) == 256
    for text in ("r3000 AND", "NOT r1000 AND", "volume <", "price * volume >", "abs(price - close) / close >"):
        assert any(text in p for p in predicates)
    regular = WINDOW_WORKLOADS["sds16x16"]()
    assert (len(regular.windows), len(regular.predicates)) == (16, 16)


@pytest.mark.parametrize("name", WINDOW_WORKLOADS)
def test_two_steps_in_duckdb_are_what_copied_rows_give(name: str, root: Path) -> None:
    """All queries of each workload; every row is copied into each window it is in."""
    workload = WINDOW_WORKLOADS[name]()
    path = ensure(workload.dataset, ROWS, root=root)
    keys = "".join(f", {k}" for k in workload.keys)
    aggregates = ", ".join(f"{a.sql} AS {a.name}" for a in workload.aggregates)
    copied = []
    for q in workload.queries:
        at, w = "epoch_us(ts) // 1000000", q.window
        starts = f"unnest(range(({at} - {w.range}) // {w.slide} + 1, {at} // {w.slide} + 1)) * {w.slide}"
        copied.append(
            f"SELECT '{q.name}' AS query, make_timestamp(start * 1000000) AS start{keys}, {aggregates} "
            f"FROM (SELECT *, {starts} AS start FROM trades WHERE {q.predicate or 'true'}) GROUP BY start{keys}"
        )
    opened = WindowForms(workload).engine("duckdb", path)
    columns = ", ".join((*workload.keys, *(a.name for a in workload.aggregates)))
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE trades AS FROM read_parquet('{path}/*.parquet')")
        db.execute(f"CREATE TABLE copied AS {' UNION ALL '.join(copied)}")
        db.execute(f"CREATE TABLE steps AS {opened.sql}")
        assert db.sql("SELECT count(*) FROM copied").fetchall()[0][0] > 0
        for a, b in (("copied", "steps"), ("steps", "copied")):
            both = f"SELECT query, start, {columns} FROM {a} EXCEPT ALL SELECT query, start, {columns} FROM {b}"
            assert db.sql(both).fetchall() == []
    opened.close()


@pytest.fixture
def opened(session: SparkSession, root: Path) -> Iterator[Opened]:
    """Gives a workload's forms in the session, over few trades."""

    def forms(workload: WindowWorkload) -> WindowForms:
        found = WindowForms(workload)
        found.spark = session
        register(session, found.table, ensure(workload.dataset, ROWS, root=root))
        return found

    yield forms
    session.conf.set("spark.phantoms.enabled", "true")


def few(workload: WindowWorkload) -> WindowWorkload:
    """Some of the queries, of the same kind: planning a union of 256 takes longer than all other tests of a file."""
    if len(workload.queries) == 256 and workload.has_filter_form:
        windows = list(workload.windows.values())
        chosen = tuple(q for queries in windows[:2] for q in queries[:3])
    else:
        chosen = workload.queries[:4]
    return replace(workload, queries=chosen)


# Of workloads that differ in numbers only one runs here; `make test-long` runs all.
ONE_OF_EACH = ("slide3600", "sts16", "sdf256", "sds256")


@pytest.mark.parametrize("name", WINDOW_WORKLOADS if os.environ.get("PHANTOMS_LONG") else ONE_OF_EACH)
def test_every_form_gives_the_same_rows(name: str, opened: Opened, root: Path, tmp_path: Path) -> None:
    workload = few(WINDOW_WORKLOADS[name]())
    forms = opened(workload)
    log: list[str] = []
    expected: answers.Fingerprint | None = None
    for form in possible(forms, WINDOW_FORMS, named=False):
        if form in FLOORS:
            assert forms.run(form) > 0
            continue
        if form == "duckdb":
            duck = forms.engine(form, ensure(workload.dataset, ROWS, root=root))
            found = duck.fingerprint()
            assert duck.run() > 0
            duck.close()
        else:
            found = forms.fingerprint(form, tmp_path / form, log.append)
        if expected is None:
            expected = found
            assert forms.missing(found) == []
        assert answers.differences(expected, found) == []
    assert expected
    if not name.startswith("sd"):
        assert forms.acted == {"plugin_union": True}
    # What the plugin left alone is told with its reason.
    assert len(log) == sum(not did for did in forms.acted.values())
    assert all(": " in line for line in log)


@pytest.mark.in_turn
def test_conditional_aggregates_in_full(opened: Opened, root: Path, tmp_path: Path) -> None:
    """256 FILTER clauses are one aggregate, so all of them can be tested."""
    forms = opened(WINDOW_WORKLOADS["sdf256"]())
    expected = forms.engine("duckdb", ensure("trades", ROWS, root=root)).fingerprint()
    assert answers.differences(expected, forms.fingerprint("plain_filter", tmp_path / "x", print)) == []


def test_forms_asked_for() -> None:
    assert check("sdf256", 1, ["duckdb", "plain_filter"]) == ["plain_filter", "duckdb"]
    with pytest.raises(PhantomsError, match="plain_sets"):
        check("sdf256", 1, ["plain_sets"])
    with pytest.raises(PhantomsError, match="plain_filter"):
        check("nfc22", 1, ["plain_filter"])
    sliding, day, regular = (WindowForms(WINDOW_WORKLOADS[n]()) for n in ("slide3600", "slide86400", "sds16x16"))
    every = list(WINDOW_FORMS)
    assert possible(sliding, every, named=False) == [f for f in every if "_filter" not in f]
    assert "plain_union" not in possible(day, every, named=False)
    assert possible(day, ["plain_union"], named=True) == ["plain_union"]
    assert possible(regular, every, named=False) == [f for f in every if f != "output"]
    with pytest.raises(PhantomsError, match="sds16x16 has no output"):
        possible(regular, ["output"], named=True)


def test_ratios() -> None:
    times = dict.fromkeys(WINDOW_FORMS, None) | {
        "plain_union": 60.0, "plain_filter": 10.0, "plugin_union": 1.0, "plugin_filter": 2.0,
        "one": 0.5, "output": 0.5, "duckdb": 4.0,
    }  # fmt: skip
    result = WindowResult("sdf256", 1, "4.2.0", 1, True, times, {"plugin_union": True, "plugin_filter": False})
    assert result.ratios == {"union": 60.0, "filter": 5.0, "one": 4.0, "floor": 2.0, "duckdb": 0.5}
    assert "plugin_filter was declined" in str(result)
    assert "plugin_union was declined" not in str(result)
    assert list(result.to_dict())[-1] == "shared"
    nothing = WindowResult("x", 1, "4.2.0", 1, True, dict.fromkeys(WINDOW_FORMS, None), {})
    assert set(nothing.ratios.values()) == {None}


def test_errors_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "sts17"]) == 2
    assert "sts16" in capsys.readouterr().err
    assert main(["bench", "sts16", "--forms", "plugin_sets"]) == 2
    assert "plugin_sets" in capsys.readouterr().err


@pytest.mark.in_turn
def test_bench(session: SparkSession, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole run, in the session there is."""
    module = importlib.import_module("phantoms.lab.benchmark.run")
    monkeypatch.setattr(module, "open_session", lambda *_: session)
    monkeypatch.setattr(type(session), "stop", lambda _: None)
    monkeypatch.setattr(module, "settle", lambda _: None)
    monkeypatch.setenv("PHANTOMS_DATA", str(root))
    out = tmp_path / "result.json"
    said: list[str] = []
    result = run("slide3600", ROWS, 1, None, out, said.append)
    session.conf.set("spark.phantoms.enabled", "true")
    document = json.loads(out.read_text())
    assert document == result.to_dict()
    assert document["answers_equal"]
    assert document["shared"] == {"plugin_union": True}
    absent = {"plain_filter", "plugin_filter"}
    assert {f for f, t in document["times"].items() if t is None} == absent
    assert list(document["times"]) == list(WINDOW_FORMS)
    assert document["ratios"]["filter"] is None
    assert document["ratios"]["floor"] > 0
    assert "answers equal" in said[-1]


def test_one_tumbling_window_and_one_predicate_are_left_alone(session: SparkSession, root: Path) -> None:
    register(session, "trades", ensure("trades", 1000, root=root))
    found = alone.run(session, 1)
    assert [q["name"] for q in found["queries"]] == list(alone.QUERIES)
    assert all(q["same_plan"] and q["plain"] > 0 and q["plugin"] > 0 for q in found["queries"])
    assert session.conf.get("spark.phantoms.enabled") == "true"
