"""Observed statistics from Python: listed, used, kept in files, forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import phantoms

OBSERVE = "spark.phantoms.stats.observe"
QUERY = "SELECT srcip, dstip, count(*) FROM packets GROUP BY GROUPING SETS ((srcip, dstip), (srcip), (dstip))"


def counted(found: dict[str, Any]) -> dict[tuple[str, ...], float]:
    return {tuple(g["columns"]): g["groups"] for g in found["groups"]}


def test_an_execution_is_observed_and_the_next_plan_says_so(spark: SparkSession) -> None:
    spark.conf.set(OBSERVE, "true")
    assert phantoms.stats.observed(spark=spark) == []
    assert "(observed)" not in str(phantoms.explain(spark.sql(QUERY)))
    spark.sql(QUERY).collect()
    [found] = phantoms.stats.observed(spark=spark)
    packets = spark.table("packets")
    assert found["rows"] == packets.count()
    assert found["filters"] == ""
    assert counted(found) == {
        ("srcip",): packets.select("srcip").distinct().count(),
        ("dstip",): packets.select("dstip").distinct().count(),
        ("dstip", "srcip"): packets.select("srcip", "dstip").distinct().count(),
    }
    assert all(f["rows"] >= 1 for f in found["flow_length"])
    assert "(observed)" in str(phantoms.explain(spark.sql(QUERY)))
    phantoms.stats.clear(spark=spark)
    assert phantoms.stats.observed(spark=spark) == []
    assert "(observed)" not in str(phantoms.explain(spark.sql(QUERY)))


def test_supplied_statistics_go_first(spark: SparkSession) -> None:
    spark.conf.set(OBSERVE, "true")
    spark.sql(QUERY).collect()
    phantoms.stats.set_rows("packets", 77_777, spark=spark)
    text = str(phantoms.explain(spark.sql(QUERY)))
    assert "rows 77777 (supplied)" in text
    assert "(observed)" in text


def test_on_by_default_and_switched_off(spark: SparkSession) -> None:
    spark.conf.unset(OBSERVE)
    spark.sql(QUERY).collect()
    assert len(phantoms.stats.observed(spark=spark)) == 1
    phantoms.stats.clear(spark=spark)
    spark.conf.set(OBSERVE, "false")
    spark.sql(QUERY).collect()
    assert phantoms.stats.observed(spark=spark) == []


def test_groups_counted_in_one_pass(spark: SparkSession) -> None:
    spark.conf.set(OBSERVE, "true")
    packets = spark.table("packets")
    found = phantoms.stats.count(packets, [["srcip"], ["dstip", "srcip"]])
    assert found["rows"] == packets.count()
    truth = packets.select("srcip", "dstip").distinct().count()
    assert abs(counted(found)[("srcip", "dstip")] / truth - 1) < 0.1
    assert f"rows {packets.count()} (observed)" in str(phantoms.explain(spark.sql(QUERY)))
    with pytest.raises(phantoms.PhantomsError, match="no column nope"):
        phantoms.stats.count(packets, [["nope"]])
    with pytest.raises(phantoms.PhantomsError, match="lists of column names"):
        phantoms.stats.count(packets, ["srcip"])
    with pytest.raises(phantoms.PhantomsError, match="lists of column names"):
        phantoms.stats.count(packets, "srcip")
    with pytest.raises(phantoms.PhantomsError, match="deviation") as e:
        phantoms.stats.count(packets, [["srcip"]], deviation="small")  # type: ignore[arg-type]
    assert e.value.error_class == "BAD_STATISTICS"


def test_saved_and_loaded_with_the_others(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(OBSERVE, "true")
    spark.sql(QUERY).collect()
    before = phantoms.stats.observed(spark=spark)
    phantoms.stats.save(tmp_path / "stats.json", spark=spark)
    phantoms.stats.clear(spark=spark)
    phantoms.stats.load(tmp_path / "stats.json", spark=spark)
    assert phantoms.stats.observed(spark=spark) == before


@pytest.mark.in_turn
def test_kept_in_files_for_the_next_application(submit: Callable[..., Any], packets: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    script = tmp_path / "job.py"
    script.write_text(
        "import json, sys\n"
        "import phantoms\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        f"spark.read.parquet({str(packets)!r}).createOrReplaceTempView('packets')\n"
        f"text = str(phantoms.explain(spark.sql({QUERY!r})))\n"
        "print('OBSERVED' if '(observed)' in text else 'FIRST')\n"
        f"spark.sql({QUERY!r}).collect()\n"
        "spark.stop()\n"
    )
    conf = {
        OBSERVE: "true",
        "spark.phantoms.stats.path": str(kept),
        "spark.phantoms.minSavings": "-1",
        "spark.phantoms.strict": "true",
    }
    first = submit(script, conf=conf)
    assert first.returncode == 0, first.stderr
    assert "FIRST" in first.stdout
    [file] = kept.iterdir()
    assert json.loads(file.read_text())["format"] == "phantoms-observed"
    second = submit(script, conf=conf)
    assert second.returncode == 0, second.stderr
    assert "OBSERVED" in second.stdout
