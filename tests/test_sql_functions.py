"""The table functions of SQL, from a classic session and from a Spark Connect client."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import phantoms
from conftest import LOCAL, environment

SETS = "SELECT srcip, dstip, count(*) AS n FROM packets GROUP BY GROUPING SETS ((srcip), (dstip), ())"
ONE = "SELECT srcip, count(*) AS n FROM packets GROUP BY srcip"


def test_the_same_as_the_facade(spark: SparkSession) -> None:
    (shared,) = phantoms.explain(spark.sql(SETS)).shared
    rows = spark.sql("SELECT * FROM phantoms_explain(:q)", args={"q": SETS}).collect()
    assert [(r.configuration, r.relation, r["keys"], r.queries) for r in rows] == [
        (shared["notation"], r["relation"], r["keys"], r["queries"]) for r in shared["relations"]
    ]
    (declined,) = phantoms.explain(spark.sql(ONE)).declined
    (row,) = spark.sql(f"SELECT * FROM phantoms_why_not('{ONE}')").collect()
    assert row.asDict() == {
        "operator": declined["subject"],
        "reason": declined["code"],
        "message": declined["reason"],
        "tree": declined["tree"],
        "workload": declined["workload"],
        "advice": declined["advice"],
    }
    assert [declined] == phantoms.why_not(spark.sql(ONE)).declined
    spark.sql(SETS).collect()
    last = phantoms.last_execution(spark)
    assert last is not None
    told = {(r.position, r.metric): r.value for r in spark.sql("SELECT * FROM phantoms_last()").collect()}
    assert told == {(i, n): v for i, o in enumerate(last["operators"]) for n, v in o["metrics"].items()}


CONNECT = """
import json, sys
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
builder = SparkSession.builder.remote("local[2]")
for key, value in json.loads(sys.argv[1]).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.read.parquet(sys.argv[2]).createOrReplaceTempView("packets")
sets, one = sys.argv[3:5]
last = spark.sql("SELECT * FROM phantoms_last() WHERE metric = 'rows'")
before = last.collect()
explained = spark.sql("SELECT * FROM phantoms_explain(:q)", args={"q": sets}).where("shared").collect()
spark.sql(sets).collect()
try:
    refused = spark.sql("SELECT * FROM phantoms_explain('DROP VIEW packets')").collect()
except AnalysisException as e:
    refused = e.getCondition()
print(json.dumps({
    "module": type(spark).__module__,
    "queries": sorted(q for r in explained for q in r.queries),
    "why_not": [r.reason for r in spark.sql("SELECT * FROM phantoms_why_not(:q)", args={"q": one}).collect()],
    "before": len(before),
    "rows": [r.value for r in last.collect()],
    "count": spark.table("packets").count(),
    "refused": refused,
}))
spark.stop()
"""


@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect's client is not installed")
def test_from_connect(jar: Path, packets: Path) -> None:
    # The master is what the client connects to.
    confs = {k: v for k, v in LOCAL.items() if k != "spark.master"}
    confs |= {"spark.jars": str(jar), "spark.sql.extensions": "io.phantoms.spark.PhantomsExtensions"}
    command = [sys.executable, "-c", CONNECT, json.dumps(confs), str(packets), SETS, ONE]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    rows = found["count"]
    assert found == {
        "module": "pyspark.sql.connect.session",
        "queries": [0, 1, 2],
        "why_not": ["SINGLE_AGGREGATE"],
        "before": 0,
        "rows": [rows],
        "count": 50_000,
        "refused": "INVALID_STATEMENT_OR_CLAUSE",
    }


@pytest.mark.parametrize("argument", ["NULL", "uuid()", "'DROP VIEW packets'", "'SELEC'", "7"])
def test_what_is_no_query(spark: SparkSession, argument: str) -> None:
    with pytest.raises(AnalysisException) as e:
        spark.sql(f"SELECT * FROM phantoms_explain({argument})")
    assert e.value.getCondition()
    assert spark.catalog.tableExists("packets")
