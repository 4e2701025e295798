"""The plugin through the facade, in one session."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import phantoms
from conftest import notation
from phantoms.errors import PhantomsError
from phantoms.lab.benchmark.session import PLUGIN_NODE, last_plan
from phantoms.lab.demo.run import differing_rows
from phantoms.lab.reports import WORKLOADS, Workload, sets, union
from phantoms.tree import of


def plan(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


FORMS: dict[str, Callable[[Workload, str], str]] = {"union": union, "sets": sets}


PlainAnswers = dict[tuple[str, str], Path]


@pytest.fixture(scope="module")
def plain_answers() -> PlainAnswers:
    """Where plain Spark's answers are stored, by workload and form: one serves adaptive execution on and off."""
    return {}


@pytest.mark.in_turn
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_same_rows_row_by_row(
    spark: SparkSession, tmp_path: Path, plain_answers: PlainAnswers, workload: Workload, form: str, adaptive: str
) -> None:
    query = FORMS[form](workload, workload.dataset)
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        phantoms.disable(spark)
        plain = spark.sql(query)
        assert PLUGIN_NODE not in plan(plain)
        if (workload.name, form) not in plain_answers:
            plain_answers[workload.name, form] = tmp_path / "plain"
            plain.write.parquet(str(tmp_path / "plain"))
        phantoms.enable(spark)
        shared = spark.sql(query)
        assert PLUGIN_NODE in plan(shared)
        assert shared.schema == plain.schema
        shared.write.parquet(str(tmp_path / "shared"))
        assert PLUGIN_NODE in last_plan(spark)
        phantoms.disable(spark)
        assert differing_rows(spark, plain_answers[workload.name, form], tmp_path / "shared") == 0
        assert spark.read.parquet(str(tmp_path / "shared")).count() > len(workload.reports)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_the_comparison_finds_differences(spark: SparkSession, tmp_path: Path) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    spark.sql("SELECT id % 3 AS a, CAST(NULL AS INT) AS b FROM range(6)").write.parquet(str(left))
    spark.sql("SELECT id % 3 AS a, CAST(NULL AS INT) AS b FROM range(7)").write.parquet(str(right))
    assert differing_rows(spark, left, left) == 0
    assert differing_rows(spark, left, right) == 1


def test_explanation(spark: SparkSession) -> None:
    df = spark.sql(sets(WORKLOADS["smap4"], "packets"))
    explanation = phantoms.explain(df)
    (configuration,) = explanation.configurations
    assert configuration in str(explanation)
    document = explanation.to_dict()
    assert json.loads(json.dumps(document)) == document
    (decision,) = explanation.shared
    assert notation(of(decision["relations"])) == configuration
    columns = {frozenset(r["keys"]) for r in decision["relations"]}
    assert {frozenset(r.keys) for r in WORKLOADS["smap4"].reports} <= columns
    assert explanation.svg().count("<svg") == 1
    assert "<svg" in explanation._repr_html_()


def test_the_last_execution(spark: SparkSession) -> None:
    df = spark.sql(sets(WORKLOADS["smap4"], "packets"))
    rows = len(df.collect())
    found = phantoms.last_execution(spark)
    assert found is not None
    lfta, merge = found["operators"]
    assert (lfta["operator"], merge["operator"]) == ("PhantomsLfta", "PhantomsMerge")
    assert [lfta["configuration"]] == [merge["configuration"]] == phantoms.explain(df).configurations
    assert lfta["metrics"]["rows"] == spark.table("packets").count()
    assert merge["metrics"]["numOutputRows"] == rows
    assert lfta["metrics"]["externalEvictions"] + lfta["metrics"]["bypassed"] >= merge["metrics"]["received"] > 0
    # What was not shared leaves no trace, and the next shared one takes its place.
    assert phantoms.last_execution(spark) == found
    spark.sql("SELECT srcip, dstip, sum(length) FROM packets GROUP BY CUBE (srcip, dstip)").collect()
    other = phantoms.last_execution(spark)
    assert other is not None
    assert other["execution_id"] > found["execution_id"]
    assert other["operators"][-1]["configuration"] != merge["configuration"]


def test_a_join_of_two_groupings(spark: SparkSession) -> None:
    packets = spark.table("packets")
    sources = packets.groupBy("srcip").agg(F.count("*").alias("n"))
    pairs = packets.groupBy("srcip", "dstip").agg(F.max("length").alias("most"))
    df = sources.join(pairs, "srcip").where("n > 3")
    (decision,) = phantoms.explain(df).shared
    assert decision["consumers"] == 2
    assert "read in 2 places" in str(phantoms.explain(df))
    rows = sorted(df.collect())
    phantoms.disable(spark)
    assert rows == sorted(df.select("*").collect())
    phantoms.enable(spark)


def test_why_not_gives_a_code(spark: SparkSession) -> None:
    single = spark.sql("SELECT srcip, count(*) FROM packets GROUP BY srcip")
    assert PLUGIN_NODE not in plan(single)
    ordered = spark.sql("SELECT srcip, dstip, first(length) FROM packets GROUP BY CUBE (srcip, dstip)")
    assert "ORDER_DEPENDENT" in phantoms.why_not(ordered)
    explanation = phantoms.explain(ordered)
    assert not explanation.shared
    assert [d["code"] for d in explanation.declined] == ["ORDER_DEPENDENT"]
    phantoms.disable(spark)
    assert "DISABLED" in phantoms.why_not(spark.sql(sets(WORKLOADS["smap4"], "packets")))


def test_chooser_none_shares_nothing(spark: SparkSession) -> None:
    spark.conf.set("spark.phantoms.chooser", "none")
    assert PLUGIN_NODE not in plan(spark.sql(sets(WORKLOADS["smap4"], "packets")))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.phantoms.enabled", "yes please"),
        ("spark.phantoms.lfta.memory", "much"),
        ("spark.phantoms.minSavings", "1.5"),
        ("spark.phantoms.maxQueries", "1"),
        ("spark.phantoms.chooser", "magic"),
    ],
)
def test_malformed_confs_are_refused_when_set(spark: SparkSession, key: str, value: str) -> None:
    from pyspark.errors import IllegalArgumentException

    with pytest.raises(IllegalArgumentException, match=key.replace(".", r"\.")):
        spark.conf.set(key, value)


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(PhantomsError) as e:
        call()
    assert e.value.error_class == "BAD_STATISTICS"
    return str(e.value)


def test_statistics_of_an_unknown_column(spark: SparkSession) -> None:
    message = refused(lambda: phantoms.stats.set_groups("packets", ["srcip", "colour"], 10, spark=spark))
    assert "colour" in message
    assert "dstport" in message  # the columns there are
    refused(lambda: phantoms.stats.set_flow_length("packets", ["colour"], 2.0, spark=spark))


def test_bad_numbers(spark: SparkSession) -> None:
    for bad in (0, -5, float("nan"), True):
        refused(lambda bad=bad: phantoms.stats.set_rows("packets", bad, spark=spark))  # type: ignore[misc]
    refused(lambda: phantoms.stats.set_flow_length("packets", ["srcip"], 0.5, spark=spark))
    refused(lambda: phantoms.stats.set_groups("packets", "srcip", 5, spark=spark))


def test_statistics_survive_a_file(spark: SparkSession, tmp_path: Path) -> None:
    phantoms.stats.set_rows("packets", 123_456, spark=spark)
    phantoms.stats.set_groups("packets", ["srcip", "dstip"], 4_321, spark=spark)
    phantoms.stats.save(tmp_path / "stats.json", spark=spark)
    text = (tmp_path / "stats.json").read_text()
    assert "123456" in text
    assert "4321" in text
    phantoms.stats.clear(spark=spark)
    phantoms.stats.load(tmp_path / "stats.json", spark=spark)
    phantoms.stats.save(tmp_path / "again.json", spark=spark)
    assert (tmp_path / "again.json").read_text() == text


def test_statistics_files_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    refused(lambda: phantoms.stats.load(tmp_path / "absent.json", spark=spark))
    (tmp_path / "bad.json").write_text("{")
    refused(lambda: phantoms.stats.load(tmp_path / "bad.json", spark=spark))


def test_sample(spark: SparkSession) -> None:
    found = phantoms.stats.sample(spark.table("packets"))
    assert 0 < found["columns"]["srcip"]["groups"] <= found["rows"]


def test_statistics_decide(spark: SparkSession) -> None:
    """With as many groups as rows in every query there is nothing to gain, and the cost model says so."""
    spark.conf.set("spark.phantoms.minSavings", "0.1")
    query = "SELECT srcip, dstip, count(*) FROM packets GROUP BY GROUPING SETS ((srcip, dstip), (srcip), (dstip))"
    phantoms.stats.set_rows("packets", 50_000_000, spark=spark)
    for cols, few in ((["srcip", "dstip"], 1000), (["srcip"], 100), (["dstip"], 100)):
        phantoms.stats.set_groups("packets", cols, few, spark=spark)
    few_groups = phantoms.explain(spark.sql(query))
    assert few_groups.configurations
    cheap = few_groups.shared[0]["cost"]
    spark.conf.set("spark.phantoms.minSavings", "-1")
    for cols in (["srcip", "dstip"], ["srcip"], ["dstip"]):
        phantoms.stats.set_groups("packets", cols, 50_000_000, spark=spark)
    assert phantoms.explain(spark.sql(query)).shared[0]["cost"] > 2 * cheap


def test_statistics_find_the_session_from_any_thread(spark: SparkSession) -> None:
    found: list[Any] = []

    def ask() -> None:
        # A plain thread has no active session of its own.
        try:
            phantoms.stats.set_rows("flows", 12345)
            found.append(phantoms.stats.observed())
        except PhantomsError as e:
            found.append(e)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found and isinstance(found[0], list)
    text = str(
        phantoms.explain(spark.sql("SELECT srcaddr, dstaddr, count(*) FROM flows GROUP BY CUBE (srcaddr, dstaddr)"))
    )
    assert "rows 12345 (supplied)" in text
