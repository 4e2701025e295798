from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from phantoms.lab.benchmark import answers
from phantoms.lab.reports import NFC22, SMAP4, WORKLOADS, Workload, separate, sets, union


def of(workload: Workload, relation: str) -> answers.Fingerprint:
    return answers.fingerprint(duckdb.sql(answers.fingerprint_sql(workload, relation)).fetchall())


@pytest.fixture
def source(packets: Path) -> str:
    return f"read_parquet('{packets}/*.parquet')"


def test_equal_answers_have_equal_fingerprints(source: str) -> None:
    parts = [answers.padded_report(SMAP4, i, f"({q})") for i, q in enumerate(separate(SMAP4, source))]
    expected = of(SMAP4, " UNION ALL ".join(parts))
    assert expected.keys() == {r.name for r in SMAP4.reports}
    assert of(SMAP4, union(SMAP4, source)) == expected
    assert of(SMAP4, answers.named_sets(SMAP4, f"({sets(SMAP4, source)})")) == expected


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("change", "touched"),
    [
        ("SELECT * FROM ({u}) WHERE NOT (report = 'AB' AND srcip = (SELECT max(srcip) FROM ({u})))", {"AB"}),
        ("SELECT * REPLACE (octets + CASE WHEN report = 'BC' AND octets > 1000 THEN 1 ELSE 0 END AS octets) FROM ({u})",
         {"BC"}),
        ("SELECT * REPLACE (CASE WHEN report = 'CD' THEN dstport ELSE srcport END AS srcport, "
         "CASE WHEN report = 'CD' THEN srcport ELSE dstport END AS dstport) FROM ({u})", {"CD"}),
        ("SELECT * REPLACE (coalesce(dstport, 0) AS dstport) FROM ({u})", {"AB", "BC"}),
        ("SELECT * FROM ({u}) UNION ALL SELECT * FROM ({u}) WHERE report = 'BD'", {"BD"}),
        ("SELECT * FROM ({u}) WHERE report <> 'AB'", {"AB"}),
    ],
    ids=["row lost", "value off by one", "columns swapped", "NULL as 0", "rows doubled", "report lost"],
)  # fmt: skip
def test_differences_are_found(source: str, change: str, touched: set[str]) -> None:
    right = union(SMAP4, source)
    found = answers.differences(of(SMAP4, right), of(SMAP4, change.format(u=right)))
    assert {line.split(":")[0] for line in found} == touched


def test_values_moved_between_rows_are_found(source: str) -> None:
    """The sums of all columns stay the same: only the pairing changes."""
    right = union(SMAP4, source)
    moved = (
        f"SELECT a.* REPLACE (b.octets AS octets) FROM (SELECT *, row_number() OVER (PARTITION BY report ORDER BY "
        f"srcip, dstip, srcport, dstport) AS i, count(*) OVER (PARTITION BY report) AS n FROM ({right})) a "
        f"JOIN (SELECT *, row_number() OVER (PARTITION BY report ORDER BY srcip, dstip, srcport, dstport) AS i "
        f"FROM ({right})) b ON a.report = b.report AND b.i = CASE WHEN a.i = a.n THEN 1 ELSE a.i + 1 END"
    )
    assert len(answers.differences(of(SMAP4, right), of(SMAP4, moved))) == 4


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_spark_and_duckdb_compute_the_same(spark: SparkSession, flows: Path, packets: Path, workload: Workload) -> None:
    spark.conf.set("spark.phantoms.enabled", "false")
    files = f"read_parquet('{flows if workload is NFC22 else packets}/*.parquet')"
    query = answers.fingerprint_sql(workload, union(workload, workload.dataset))
    assert answers.fingerprint(spark.sql(query).collect()) == of(workload, union(workload, files))
