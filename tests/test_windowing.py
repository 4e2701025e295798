"""Several windows as one DataFrame: the rows that plain Spark has, and one pass over the input."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import phantoms
from phantoms import PhantomsError

WINDOWS = {
    "5m/1m": ("5 minutes", "1 minute"),
    "7m/90s+10s": ("7 minutes", "90 seconds", "10 seconds"),
    "1h": "1 hour",
    "10m": ("10 minutes",),
}


@pytest.fixture
def trades(spark: SparkSession) -> DataFrame:
    return spark.range(5000).selectExpr(
        "timestamp_seconds(1101902400 + id * 7) AS ts", "hash(id) & 3 AS symbol", "id % 90 AS volume"
    )


@pytest.mark.parametrize("keys", ["symbol", ["symbol", "volume"], []])
def test_the_rows_of_plain_spark(spark: SparkSession, trades: DataFrame, keys: Any) -> None:
    df = phantoms.windows(trades, "ts", WINDOWS, keys, [F.count("*").alias("n"), F.max("volume").alias("top")])
    (shared,) = phantoms.explain(df).shared
    assert {q for r in shared["relations"] for q in r["queries"]} == set(range(4))
    found = sorted(map(repr, df.collect()))
    phantoms.disable(spark)
    try:
        plain = phantoms.windows(trades, "ts", WINDOWS, keys, [F.count("*").alias("n"), F.max("volume").alias("top")])
        assert plain.schema == df.schema
        assert sorted(map(repr, plain.collect())) == found
    finally:
        phantoms.enable(spark)


def test_each_row_names_its_window(trades: DataFrame) -> None:
    df = phantoms.windows(trades, F.col("ts"), WINDOWS, F.col("symbol"), {"volume": "sum"}, name="kind")
    assert df.columns == ["kind", "window", "symbol", "sum(volume)"]
    spans = {
        (r.kind, r.span) for r in df.selectExpr("kind", "CAST(window.end - window.start AS STRING) span").collect()
    }
    assert {k for k, _ in spans} == set(WINDOWS)
    assert len(spans) == len(WINDOWS)


@pytest.mark.parametrize(
    ("windows", "aggs", "what"),
    [
        ({}, [F.count], "windows"),
        ("5 minutes", [F.count], "windows"),
        ({"5m": ("5 minutes", 60)}, [F.count], "windows['5m']"),
        ({"5m": ()}, [F.count], "windows['5m']"),
        ({"5m": "5 minutes"}, [], "aggs"),
    ],
)
def test_what_is_refused(trades: DataFrame, windows: Any, aggs: Any, what: str) -> None:
    with pytest.raises(PhantomsError) as e:
        phantoms.windows(trades, "ts", windows, [], [f("*") for f in aggs])
    assert e.value.getErrorClass() == "BAD_ARGUMENT"
    assert e.value.getMessageParameters()["argument"] == what
