"""The 22 reports where memory is short: a driver of 1 GiB, of which Spark may use next to nothing for execution."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from phantoms.lab.benchmark import answers
from phantoms.lab.data import ensure
from phantoms.lab.reports import NFC22, union

ROWS = 120_000
GIB = 2**30

SCRIPT = """
import json, sys
from pathlib import Path
from phantoms.lab.benchmark.session import open_session, register, require_shared
from phantoms.lab.reports import NFC22, sets, union

flows, fraction, out = sys.argv[1:]
spark = open_session("little memory", plugin=True, extra={
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.memory.fraction": fraction,
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.files.minPartitionNum": "4",
    "spark.unsafe.exceptionOnMemoryLeak": "true",
    "spark.phantoms.strict": "true",
})
register(spark, "flows", Path(flows))


def spilled():
    store = spark._jsparkSession.sharedState().statusStore()
    last = store.executionsList().last()
    values = store.executionMetrics(last.executionId())
    return [
        values.get(m.accumulatorId()).get()
        for m in (last.metrics().apply(i) for i in range(last.metrics().size()))
        if m.name() == "spilled to disk" and values.get(m.accumulatorId()).isDefined()
    ]


metrics = {}
for name, form in (("union", union), ("sets", sets)):
    spark.sql(form(NFC22, "flows")).write.parquet(f"{out}/{name}")
    require_shared(spark, name)
    metrics[name] = spilled()
jvm = spark._jvm.java.lang.Runtime.getRuntime()
print(json.dumps({
    "heap": jvm.maxMemory(),
    "execution": spark._jsc.sc().env().memoryManager().maxOnHeapStorageMemory(),
    "spilled": metrics,
}))
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure("flows", ROWS, root=tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def expected(session: SparkSession, records: Path) -> answers.Fingerprint:
    """What plain Spark answers. With the memory of these tests it cannot: its own aggregation fails."""
    session.conf.set("spark.phantoms.enabled", "false")
    try:
        session.read.parquet(str(records)).createOrReplaceTempView("records")
        query = answers.fingerprint_sql(NFC22, union(NFC22, "records"))
        return answers.fingerprint(session.sql(query).collect())
    finally:
        session.conf.unset("spark.phantoms.enabled")


# The fraction is of the heap less 300 MiB. Spark accepts whatever leaves a byte: the first leaves 75, so that every
# request is refused; the second 7 MiB, so that some are granted.
@pytest.mark.in_turn
@pytest.mark.parametrize(("fraction", "most"), [("0.0000001", 100), ("0.01", 8 * 2**20)])
def test_the_reports_in_one_gib(
    python: Callable[..., Any],
    records: Path,
    expected: answers.Fingerprint,
    tmp_path: Path,
    fraction: str,
    most: int,
) -> None:
    done = python("-c", SCRIPT, str(records), fraction, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "OutOfMemory" not in done.stderr
    report = json.loads(done.stdout.strip().splitlines()[-1])
    assert report["heap"] <= GIB
    assert 0 < report["execution"] <= most
    assert sum(n for n, _, _ in expected.values()) > 2 * ROWS
    for form in ("union", "sets"):
        stored = f"read_parquet('{tmp_path}/{form}/*.parquet')"
        relation = f"SELECT * FROM {stored}" if form == "union" else answers.named_sets(NFC22, stored)
        found = answers.fingerprint(duckdb.sql(answers.fingerprint_sql(NFC22, relation)).fetchall())
        assert answers.differences(expected, found) == []
        assert any("MiB" in size for size in report["spilled"][form]), report


LONG_STRINGS = """
import json
from phantoms.lab.benchmark.session import open_session, require_shared

spark = open_session("many tasks", plugin=True, extra={
    "spark.master": "local[16]",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "16",
    "spark.unsafe.exceptionOnMemoryLeak": "true",
    "spark.phantoms.strict": "true",
    "spark.phantoms.minSavings": "-1",
    "spark.phantoms.lfta.memory": "16m",
})
spark.range(0, 640_000, 1, 16).selectExpr(
    "concat(div(id, 2) % 211, repeat('x', 5000)) a", "int(div(id, 2)) b", "id v"
).createOrReplaceTempView("t")
sets = "select a, b, count(*) n, sum(v) s from t group by grouping sets ((a, b), (a))"
found = spark.sql(
    "select b is null, count(*), sum(n), sum(s), sum(length(a)), count_if(a not like concat(b % 211, 'x%'))"
    f" from ({sets}) group by 1 order by 1"
).collect()
require_shared(spark, "sets")
print(json.dumps([list(row) for row in found]))
"""


@pytest.mark.in_turn
def test_long_strings_in_sixteen_tasks_of_one_gib(python: Callable[..., Any]) -> None:
    """In a process of its own: the heap is the point, and a JVM without memory is of no use to other tests.

    A task's table holds 20,000 pairs of which each has one of 211 long strings: 100 MB once they are written.
    """
    done = python("-c", LONG_STRINGS)
    assert done.returncode == 0, done.stderr
    assert "OutOfMemory" not in done.stderr
    pairs, longs = json.loads(done.stdout.strip().splitlines()[-1])
    rows, strings = 640_000, 211
    total = rows * (rows - 1) // 2
    lengths = [len(str(i % strings)) + 5000 for i in range(rows // 2)]
    assert pairs == [False, rows // 2, rows, total, sum(lengths), 0]
    assert longs == [True, strings, rows, total, sum(lengths[:strings]), 0]
