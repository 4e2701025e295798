"""Python functions of what aggregates put out: the aggregates are shared all the same."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import pandas_udf

import phantoms
from conftest import LOCAL
from phantoms.lab.benchmark.session import PLUGIN_NODE

QUERIES = {
    "grouping sets": "SELECT a, b, label(sum(v)), count(*) FROM rows GROUP BY CUBE (a, b)",
    "of keys, totals and constants": (
        "SELECT a, label(a), label(sum(v) + a), twice(count(*)), concat(label(7), count(b)) AS c FROM rows "
        "GROUP BY GROUPING SETS ((a), (a, b), ())"
    ),
    "a branch of a union": (
        "SELECT a, label(sum(v)) AS l, count(*) AS n FROM rows GROUP BY a "
        "UNION ALL SELECT b, 'none', max(v) FROM rows GROUP BY b UNION ALL SELECT NULL, 'all', count(v) FROM rows"
    ),
    "all branches of a union, and a condition": (
        "SELECT a, label(sum(v)) AS l FROM rows GROUP BY a HAVING label(count(*)) > '<2' "
        "UNION ALL SELECT b, label(max(v)) FROM rows GROUP BY b"
    ),
    "sides of a join": (
        "SELECT x.a, x.l, y.t FROM (SELECT a, label(min(v)) AS l FROM rows GROUP BY a) x "
        "JOIN (SELECT b, twice(sum(v)) AS t FROM rows GROUP BY b) y ON x.a = y.b"
    ),
    "of distinct values": "SELECT a, label(count(DISTINCT b)), twice(sum(DISTINCT v)), max(v) FROM rows GROUP BY a",
    "no row": "SELECT a, b, label(sum(v)), twice(count(*)) FROM rows WHERE v > 1000 GROUP BY ROLLUP (a, b)",
}


@pytest.fixture(scope="module")
def rows(session: SparkSession) -> Iterator[SparkSession]:
    session.range(0, 500, 1, 3).selectExpr(
        "id % 7 AS a", "IF(id % 11 = 0, NULL, id % 4) AS b", "IF(id % 5 = 0, NULL, id * 31 % 97) AS v"
    ).createOrReplaceTempView("rows")
    # Of this environment, where pandas is.
    before, session.sparkContext.pythonExec = session.sparkContext.pythonExec, sys.executable
    session.udf.register("label", lambda v: f"<{v}>", "string")
    session.udf.register("twice", pandas_udf(lambda s: 2 * s, "double"))
    session.conf.set("spark.phantoms.minSavings", "-1e9")
    yield session
    session.conf.set("spark.phantoms.minSavings", LOCAL["spark.phantoms.minSavings"])
    session.sparkContext.pythonExec = before
    session.catalog.dropTempView("rows")


def plan(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


@pytest.mark.in_turn
@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_same_rows(rows: SparkSession, query: str, adaptive: str) -> None:
    rows.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        phantoms.disable(rows)
        plain = rows.sql(query)
        assert PLUGIN_NODE not in plan(plain)
        expected = Counter(map(str, plain.collect()))
        phantoms.enable(rows)
        shared = rows.sql(query)
        assert PLUGIN_NODE in plan(shared)
        assert shared.schema == plain.schema
        assert Counter(map(str, shared.collect())) == expected
    finally:
        rows.conf.unset("spark.sql.adaptive.enabled")
        phantoms.enable(rows)


def test_functions_of_the_input_are_left_alone(rows: SparkSession) -> None:
    for query in (
        "SELECT a, max(label(v)) FROM rows GROUP BY CUBE (a, b)",
        "SELECT label(v), count(*) FROM rows GROUP BY CUBE (label(v), b)",
    ):
        df = rows.sql(query)
        assert PLUGIN_NODE not in plan(df)
        assert "PYTHON_UDF" in str(phantoms.why_not(df))
