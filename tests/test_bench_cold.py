"""``phantoms bench --cold``: what one process runs, and what is made of many."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from phantoms.cli.main import main
from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import FORMS, cold, cold_profile, cold_run, run_cold
from phantoms.lab.data import ensure


def test_phases() -> None:
    found = cold_run.phases([(1.0, 2.0, 4), (1.5, 2.5, 4), (4.0, 5.0, 1)], 6.0)
    assert found == {"before": 1.0, "stages": 2.5, "between": 2.5}
    assert cold_run.phases([], 0.5) == {"before": 0.5, "stages": 0.0, "between": 0.0}


@pytest.mark.parametrize("form", ["plain_union", "plugin_sets", "one"])
def test_one_run(form: str, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the session there is, which is not to be stopped."""
    monkeypatch.setattr(cold_run, "open_session", lambda *_: session)
    monkeypatch.setattr(type(session), "stop", lambda _: None)
    path = ensure("packets", 500, root=tmp_path)
    asked = form != "one"
    try:
        found = cold_run.run({"name": "smap4", "form": form, "path": str(path), "conf": {}, "answer": asked})
    finally:
        session.conf.set("spark.phantoms.enabled", "true")
    assert json.loads(json.dumps(found)) is not None
    assert found["spark"] == session.version
    assert 0 < found["phases"]["before"] < found["seconds"]
    assert sum(found["phases"].values()) == pytest.approx(found["seconds"])
    assert found["stages"] and all(0 <= a <= b for a, b, _ in found["stages"])
    assert (found["answer"].keys() == {"AB", "BC", "BD", "CD"}) if asked else found["answer"] is None


def _found(job: Mapping[str, Any], seconds: float, rows: int = 7) -> dict[str, Any]:
    phases = {"before": seconds / 2, "stages": seconds / 4, "between": seconds / 4}
    answer = {"AB": [rows, 1, 2]} if job["answer"] else None
    return {"seconds": seconds, "phases": phases, "stages": [], "spark": "4.2.0", "answer": answer, "shared": None}


def test_many_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHANTOMS_DATA", str(tmp_path / "data"))
    jobs: list[Mapping[str, Any]] = []
    seconds = {"plain_union": [8.0, 9.0, 10.0], "plugin_union": [3.0, 1.0, 2.0], "one": [1.0, 1.0, 1.0]}

    def process(job: Mapping[str, Any]) -> dict[str, Any]:
        jobs.append(job)
        return _found(job, seconds[job["form"]][sum(j["form"] == job["form"] for j in jobs) - 1])

    monkeypatch.setattr(cold, "process", process)
    out = tmp_path / "cold.json"
    result = run_cold("smap4", 500, 3, list(seconds), out, lambda _: None, {"a": "b"})
    found = json.loads(out.read_text())
    assert found == result.to_dict()
    assert found["cold"] and found["answers_equal"] and found["repeat"] == 3
    assert list(found["times"]) == list(FORMS)
    assert found["times"]["plain_union"] == 9.0
    assert found["ratios"]["best_plain"] == 4.5
    assert found["phases"]["plugin_union"] == {"before": 1.0, "stages": 0.5, "between": 0.5}
    # Every other round is in reverse order; answers are computed in the first, of what has one.
    assert [j["form"] for j in jobs] == [*seconds, *reversed(seconds), *seconds]
    assert [j["form"] for j in jobs if j["answer"]] == ["plain_union", "plugin_union"]
    assert all(j["conf"] == {"a": "b"} for j in jobs)


def test_answers_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHANTOMS_DATA", str(tmp_path))
    rows = {"plain_union": 7, "plugin_union": 8}
    monkeypatch.setattr(cold, "process", lambda job: _found(job, 1.0, rows[job["form"]]))
    said: list[str] = []
    assert not run_cold("smap4", 500, 1, list(rows), None, said.append).answers_equal
    assert "  answer of plugin_union: AB: 7 rows expected, 8 found" in said


def test_a_process_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that fails at once: it knows no such benchmark."""
    with pytest.raises(PhantomsError, match=r"COLD_RUN_FAILED.* of nothing failed: .*nothing"):
        cold.process({"name": "nothing", "form": "one", "path": str(tmp_path), "conf": {}, "answer": False})


def test_not_of_a_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "sweep", "--cold"]) == 2
    assert "--cold has no meaning for sweep" in capsys.readouterr().err


def test_samples_by_phase() -> None:
    text = """jdk.ExecutionSample {
  startTime = 10:00:00.000
  stackTrace = [
    java.util.HashMap.get(Object) line: 1
    io.phantoms.spark.search.Chooser.choose() line: 2
  ]
}
jdk.ExecutionSample {
  startTime = 10:00:00.010
  stackTrace = [
    java.lang.ClassLoader.loadClass(String) line: 1
    io.phantoms.spark.search.Chooser.choose() line: 2
  ]
}
jdk.ExecutionSample {
  startTime = 10:00:00.020
  stackTrace = [
    org.apache.spark.scheduler.LiveListenerBus.post() line: 1
  ]
}
"""
    assert cold_profile.count(cold_profile.samples(text)) == {
        "plugin: search": 0.333,
        "loading classes": 0.333,
        "all else": 0.333,
    }
