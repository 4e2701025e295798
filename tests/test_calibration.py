from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import phantoms
from phantoms.calibration import MACHINE, MEANINGS
from phantoms.cli.main import main
from phantoms.errors import PhantomsError
from phantoms.lab.reports import WORKLOADS, sets


def document(constants: dict[str, float]) -> dict[str, Any]:
    return {"format": "phantoms-machine", "version": 1, "spark": "4.2.0", "cores": 2, "constants": constants}


def refused(call: Callable[[], Any], error_class: str = "BAD_CALIBRATION") -> str:
    with pytest.raises(PhantomsError) as e:
        call()
    assert e.value.error_class == error_class
    return str(e.value)


def machine_of(spark: SparkSession) -> dict[str, float]:
    (decision,) = phantoms.explain(spark.sql(sets(WORKLOADS["smap4"], "packets"))).shared
    return dict(decision["machine"])


@pytest.mark.in_turn
def test_calibrate_save_and_load(spark: SparkSession, tmp_path: Path) -> None:
    """Too few rows to measure anything but the cost of tasks, and all steps all the same."""
    file = tmp_path / "machine.json"
    views = spark.catalog.listTables()
    found = phantoms.calibrate(spark, rows=4_000, repeat=1, path=file)
    assert set(found.constants) == set(MEANINGS)
    assert all(value > 0 for value in found.constants.values())
    assert set(found.r2) == {"map", "reduce", "plain"}
    assert (found.spark_version, found.cores) == (spark.version, 2)
    for name, value in found.constants.items():
        assert f"  {name} " in str(found)
        assert value <= 20 * found.to_dict()["defaults"][name] * 1.001
    assert spark.catalog.listTables() == views
    assert spark.conf.get("spark.phantoms.enabled", "true") == "true"
    # Applied at once, and again from the file.
    assert machine_of(spark) == pytest.approx(found.constants)
    spark.conf.unset(MACHINE)
    assert machine_of(spark)["c2"] == found.to_dict()["defaults"]["c2"]
    loaded = phantoms.load_calibration(spark, file)
    assert loaded == found
    assert machine_of(spark) == pytest.approx(found.constants)
    assert json.loads(file.read_text()) == loaded.to_dict()
    # A job needs no code: the conf names the file.
    spark.conf.set(MACHINE, str(file))
    assert machine_of(spark) == pytest.approx(found.constants)


def test_constants_decide(spark: SparkSession) -> None:
    """Where plain Spark is nearly free there is nothing to gain."""
    query = spark.sql(sets(WORKLOADS["smap4"], "packets"))
    spark.conf.set("spark.phantoms.minSavings", "0.1")
    spark.conf.set(MACHINE, "plainRow=1000,fixed=0")
    assert phantoms.explain(query).shared
    spark.conf.set(MACHINE, "plainRow=1,plainGroup=1")
    assert phantoms.explain(query).declined[0]["code"] == "NO_BENEFIT"


def test_wrong_constants(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import IllegalArgumentException

    with pytest.raises(IllegalArgumentException, match="c9"):
        spark.conf.set(MACHINE, "c9=1")
    usual = machine_of(spark)
    spark.conf.set(MACHINE, str(tmp_path / "absent.json"))  # warned about
    assert machine_of(spark) == usual
    for text in ("{", "[]", "{}", json.dumps(document({"c1": 1}) | {"version": 2})):
        (tmp_path / "bad.json").write_text(text)
        refused(lambda: phantoms.load_calibration(spark, tmp_path / "bad.json"))
    (tmp_path / "bad.json").write_text(json.dumps(document({"c9": 1.0})))
    assert "c9" in refused(lambda: phantoms.load_calibration(spark, tmp_path / "bad.json"))
    refused(lambda: phantoms.load_calibration(spark, tmp_path / "absent.json"))
    refused(lambda: phantoms.calibrate(spark, rows=0), "BAD_ARGUMENT")
    refused(lambda: phantoms.calibrate(spark, repeat=0), "BAD_ARGUMENT")
    assert machine_of(spark) == usual


def test_clamped_constants_are_told() -> None:
    clamped = [{"name": "merge", "measured": 1.0, "used": 3.0}]
    found = phantoms.Calibration.from_dict(document({"merge": 3.0, "fixed": 2e7}) | {"clamped": clamped})
    assert "clamped: merge came out as 1 ns" in str(found)
    assert found.conf == "merge=3,fixed=2e+07"
    assert phantoms.Calibration.from_dict(found.to_dict()) == found


def test_cli(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = phantoms.Calibration.from_dict(document({"c1": 7.0}))
    asked: dict[str, Any] = {}

    def calibrate(_: SparkSession, **arguments: Any) -> phantoms.Calibration:
        asked.update(arguments)
        return found

    monkeypatch.setattr("phantoms.calibration.calibrate", calibrate)
    monkeypatch.setattr("phantoms.lab.benchmark.session.open_session", lambda *_, **__: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    assert main(["calibrate", "--rows", "4_000", "--json", "machine.json"]) == 0
    assert asked == {"rows": 4000, "repeat": 3, "path": Path("machine.json"), "apply": False}
    assert "--conf spark.phantoms.machine=machine.json" in capsys.readouterr().out
    assert main(["calibrate"]) == 0
    assert "--conf spark.phantoms.machine=c1=7\n" in capsys.readouterr().out
