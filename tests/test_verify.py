"""Plain Spark's plan beside the plugin's: spark.phantoms.verify, as docs/verify.md describes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import phantoms

QUERY = "SELECT srcip, dstip, count(*), sum(length), avg(length) FROM packets GROUP BY CUBE (srcip, dstip)"


@pytest.fixture
def verified(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.phantoms.verify", "full")
    yield spark
    spark.conf.unset("spark.phantoms.verify")


def test_a_verified_query(verified: SparkSession) -> None:
    df = verified.sql(QUERY)
    rows = df.collect()
    found = phantoms.last_execution(verified)
    assert found is not None
    (comparison,) = found["verified"]
    assert (comparison["outcome"], comparison["plain_rows"], comparison["differing_rows"]) == ("EQUAL", len(rows), 0)
    assert comparison["plain"] == comparison["shared"]
    assert int(comparison["plain"][:16], 16) == len(rows)
    assert comparison["configuration"] in phantoms.explain(df).configurations
    (operator,) = (o for o in found["operators"] if o["operator"] == "PhantomsVerified")
    assert operator["metrics"]["verifiedRows"] == len(rows)
    explanation = phantoms.explain(df)
    assert "verified: with plain Spark's rows, which are returned" in str(explanation)
    assert explanation.shared[0]["verify"] == {"mode": "full", "impossible": None}

    verified.conf.set("spark.phantoms.verify", "off")
    assert sorted(map(str, verified.sql(QUERY).collect())) == sorted(map(str, rows))
    last = phantoms.last_execution(verified)
    assert last is not None and last["verified"] == []


def test_what_is_written_is_compared_once(verified: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("verified") / "rows")
    verified.sql(QUERY).write.parquet(path)
    found = phantoms.last_execution(verified)
    assert found is not None
    assert [c["outcome"] for c in found["verified"]] == ["EQUAL"]
    assert verified.read.parquet(path).count() == found["verified"][0]["plain_rows"]


def test_what_cannot_be_compared(verified: SparkSession) -> None:
    df = verified.sql(QUERY.replace("FROM packets", "FROM (SELECT * FROM packets LIMIT 50)"))
    (decision,) = phantoms.explain(df).shared
    assert "Limit" in decision["verify"]["impossible"]
    df.collect()
    found = phantoms.last_execution(verified)
    assert found is not None and found["verified"] == []


def test_a_wrong_value_is_refused(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="'off', 'sample', 'full'"):
        spark.conf.set("spark.phantoms.verify", "always")
    with pytest.raises(Exception, match="fraction above 0"):
        spark.conf.set("spark.phantoms.verify.fraction", "2")
