"""The TPC-DS benchmark: texts from a jar, what its results say, and a run over a handful of rows."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import tpcds
from phantoms.lab.benchmark.session import numbered
from phantoms.lab.benchmark.texts import find_jar, from_jar, uncut

SHARED = "select i_brand, i_class, sum(ss_price) from sales group by rollup(i_brand, i_class) limit 100"
ALONE = "SELECT count(*) FROM customer WHERE c_last_review_date > 3;"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "spark-sql_2.13-4.2.0-tests.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tpcds/", "")
        for name in ("tpcds/q14b", "tpcds/q5", "tpcds-v2.7.0/q5a", "tpcds-v2.7.0/q14"):
            archive.writestr(f"{name}.sql", SHARED)
        archive.writestr("tpcds-modifiedQueries/q5.sql", ALONE)
        archive.writestr("tpcds/q2.sql", ALONE)
    return path


def test_texts_of_a_jar(jar: Path) -> None:
    found = from_jar(jar)
    assert list(found) == ["q2", "q5", "q14b", "q5a-v2.7", "q14-v2.7"]
    assert found["q2"] == ALONE
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("other.sql", ALONE)
    with pytest.raises(PhantomsError, match="BAD_ARGUMENT"):
        from_jar(jar)
    jar.write_text("no archive")
    with pytest.raises(PhantomsError, match="BAD_ARGUMENT"):
        from_jar(jar)


def test_the_jar_of_this_spark_is_found_before_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("COURSIER_CACHE", raising=False)
    with pytest.raises(PhantomsError, match="MISSING_PACKAGE"):
        find_jar("4.2.0")
    cache = tmp_path / ".cache/coursier/v1"
    cache.mkdir(parents=True)
    for version in ("4.1.2", "4.2.0", "4.2.1"):
        (cache / f"spark-sql_2.13-{version}-tests.jar").touch()
    assert find_jar("4.2.0").name == "spark-sql_2.13-4.2.0-tests.jar"
    assert find_jar("4.2.7").name == "spark-sql_2.13-4.2.1-tests.jar"


def test_uncut() -> None:
    assert uncut(SHARED).endswith("LIMIT 2000000000")
    assert uncut(ALONE) == ALONE


def _query(name: str, plain: float = 1.0, plugin: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"name": name, "equal": True, "shared": [], "reasons": [], "plain": plain, "plugin": plugin, **more}


def test_counts_and_the_gate() -> None:
    queries = [
        _query("q1", shared=["AB(A)"], reasons=["NO_BENEFIT"]),
        _query("q2", plugin=1.04, reasons=["NO_BENEFIT", "SINGLE_AGGREGATE"]),
        _query("q3", plugin=1.06, reasons=["SINGLE_AGGREGATE"]),
        _query("q4"),
    ]
    counts = tpcds.count(queries)
    assert counts == {"SHARED": 1, "SINGLE_AGGREGATE": 2, "NO_BENEFIT": 1, "NO_GROUP_BY": 1}
    assert tpcds.slower(queries, 1.05) == ["q3"]
    result = {"queries": queries, "counts": counts}
    assert tpcds.report(result, None) == 0
    assert tpcds.report(result, 1.05) == 1
    assert tpcds.report(result, 1.1) == 0
    queries[0]["equal"] = False
    assert tpcds.report(result, None) == 1


def test_rows_that_a_limit_may_cut_off_are_no_difference(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another row each time: what two plans may do to rows that sort alike.
    answers = iter(range(100))
    monkeypatch.setattr(tpcds, "canonical", lambda rows: [len(rows)] if len(rows) > 1 else [next(answers)])
    found = tpcds.measure(spark, "q", "select id from range(3) order by id % 1 limit 1", 1)
    assert found["equal"]
    found = tpcds.measure(spark, "q", "select max(id) from range(3)", 1)
    assert not found["equal"]


def test_a_query_beyond_the_gate_runs_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr(tpcds.time, "perf_counter", lambda: next(clock))
    sql = "select max(id) from range(3)"
    assert tpcds.measure(spark, "q", sql, 2)["runs"] == 2
    assert tpcds.measure(spark, "q", sql, 2, gate=1.05)["runs"] == 2
    assert tpcds.measure(spark, "q", sql, 2, gate=0.9)["runs"] == 2 * tpcds.AGAIN


def test_plans_are_compared_but_for_their_numbers(spark: SparkSession) -> None:
    assert tpcds.measure(spark, "q", "select max(id) m from range(3) group by id % 2", 1)["same_plan"]
    two = numbered("Scan a#17L, b#18 [plan_id=4]\n+- Sort a#17L")
    assert two == numbered("Scan a#27L, b#38 [plan_id=9]\n+- Sort a#27L")
    assert two != numbered("Scan a#27L, b#38 [plan_id=9]\n+- Sort a#38L")


def test_a_run(jar: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "sf0.01"
    data.mkdir()
    rows = range(50)
    sales = {"i_brand": [r % 3 for r in rows], "i_class": [r % 5 for r in rows], "ss_price": list(rows)}
    pq.write_table(pa.table(sales), data / "sales.parquet")
    pq.write_table(pa.table({"c_last_review_date_sk": list(rows)}), data / "customer.parquet")
    (data / "queries.json").write_text(json.dumps({"q5": SHARED}))
    # One session for all tests: it is not to be stopped.
    monkeypatch.setattr(tpcds, "open_session", lambda *_, **__: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    written = tmp_path / "tpcds.json"
    options = ["--sf", "0.01", "--data", str(tmp_path), "--repeat", "1", "--json", str(written)]
    assert tpcds.main([*options, "--texts-jar", str(jar), "--queries", "q2", "q5a-v2.7"]) == 0
    result = json.loads(written.read_text())
    assert result.keys() == {"name", "sf", "spark", "repeat", "counts", "queries"}
    assert result["counts"]["SHARED"] == 1
    alone, shared = result["queries"]
    assert (alone["name"], alone["equal"], alone["shared"]) == ("q2", True, [])
    assert (shared["name"], shared["equal"], len(shared["shared"])) == ("q5a-v2.7", True, 1)
    monkeypatch.setattr(tpcds, "canonical", lambda rows: [object()])
    assert tpcds.main([*options, "--queries", "q5"]) == 1
    with pytest.raises(PhantomsError, match="BAD_ARGUMENT"):
        tpcds.main([*options, "--queries", "q99"])
