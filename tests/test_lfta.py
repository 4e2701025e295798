"""Captures and flow exports through the facade: the rows that the files are made of."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import phantoms
from conftest import LOCAL
from phantoms import PhantomsError, lfta
from phantoms.lab.data import DATASETS, captures, generate
from phantoms.lab.reports import NFC22, union
from phantoms.lfta_options import OPTIONS, spark_options

PACKETS, FLOWS = 5_000, 3_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lfta")
    generate("capture", root / "capture", PACKETS)
    generate("export", root / "export", FLOWS)
    generate("export-capture", root / "export-capture", FLOWS)
    return root


def truth(name: str, rows: int, change: Callable[[pa.Table], pa.Table]) -> pa.Table:
    return change(pa.concat_tables(DATASETS[name].tables(rows, 7)))


def in_spark(spark: SparkSession, table: pa.Table, tmp_path: Path) -> DataFrame:
    pq.write_table(table, tmp_path / "truth.parquet")
    return spark.read.parquet(str(tmp_path / "truth.parquet"))


def check_same(df: DataFrame, wrote: DataFrame) -> None:
    """All rows of the one, of which those columns are compared that the other has."""
    casts = [f"CAST(`{f.name}` AS {f.dataType.simpleString()}) AS `{f.name}`" for f in wrote.schema]
    read = df.selectExpr(*casts)
    assert read.count() == wrote.count() > 0
    assert read.exceptAll(wrote).count() == 0


def test_packets_are_the_rows(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    df = lfta.read(spark, made / "capture", addresses="int")
    check_same(df, in_spark(spark, truth("packets", PACKETS, captures.as_captured), tmp_path))


@pytest.mark.parametrize("kind", ["export", "export-capture"])
def test_flows_are_the_rows(spark: SparkSession, made: Path, tmp_path: Path, kind: str) -> None:
    df = lfta.read(spark, made / kind, records="flows", addresses="int")
    check_same(df, in_spark(spark, truth("flows", FLOWS, captures.as_exported), tmp_path))
    assert df.where("version <> 5 OR _malformed IS NOT NULL").count() == 0
    exporters = {row[0] for row in df.select("exporter").distinct().collect()}
    assert exporters == ({None} if kind == "export" else {captures.EXPORTER - 2**32})


def test_an_export_is_flows_without_being_told(spark: SparkSession, made: Path) -> None:
    assert lfta.read(spark, made / "export").columns[:2] == ["srcaddr", "dstaddr"]
    assert lfta.read(spark, made / "export-capture").columns[:2] == ["time", "time_nanos"]


def test_several_paths(spark: SparkSession, made: Path) -> None:
    files = sorted((made / "capture").glob("*.pcap"))
    assert lfta.read(spark, files).count() == PACKETS
    assert lfta.read(spark, str(made / "capture" / "*-00001.pcap")).count() == lfta.read(spark, files[1:2]).count()


def test_in_sql(spark: SparkSession, made: Path) -> None:
    path = made / "capture"
    spark.sql(f"CREATE TEMPORARY VIEW seen USING lfta OPTIONS (path '{path}', addresses 'string')")
    try:
        query = "SELECT in_subnet(srcip, '128.0.0.0/1') AS high, count(*) AS n FROM seen GROUP BY high"
        sides = spark.sql(query).collect()
    finally:
        spark.catalog.dropTempView("seen")
    table = truth("packets", PACKETS, captures.as_captured)
    high = sum(address < 0 for address in table["srcip"].to_pylist())
    assert {row.high: row.n for row in sides} == {True: high, False: PACKETS - high}


@pytest.mark.parametrize("addresses", ["binary", "int", "string"])
@pytest.mark.parametrize("records", ["packets", "flows"])
def test_the_schema_needs_no_session(spark: SparkSession, made: Path, records: str, addresses: str) -> None:
    path = made / ("capture" if records == "packets" else "export")
    read = lfta.read(spark, path, addresses=addresses).schema
    ours = lfta.schema(records, addresses=addresses)
    assert read[-1].name == "_malformed"
    assert list(read)[:-1] == list(ours)
    assert lfta.read(spark, path, addresses=addresses, mode="FAILFAST").schema == ours


@pytest.mark.parametrize(("records", "addresses", "named"), [("rows", "binary", "packets"), ("flows", "hex", "string")])
def test_other_schemas_are_refused(records: str, addresses: str, named: str) -> None:
    with pytest.raises(PhantomsError, match=named) as e:
        lfta.schema(records, addresses=addresses)
    assert e.value.getErrorClass() == "BAD_ARGUMENT"


def test_options_are_those_of_the_source(spark: SparkSession) -> None:
    source = spark._jvm.io.phantoms.spark.source.LftaOptions  # type: ignore[union-attr]
    own = {}
    pairs = source.own().iterator()
    while pairs.hasNext():
        pair = pairs.next()
        own[pair._1()] = pair._2()
    assert {o.spark: o.default for o in OPTIONS.values() if not o.meaning.startswith("Spark's")} == own


def test_every_option_is_taken(spark: SparkSession, made: Path) -> None:
    given: dict[str, Any] = {
        "records": "packets", "addresses": "string", "mode": "DROPMALFORMED", "column_name_of_corrupt_record": "bad",
        "ports": [2055, 9995], "max_partition_bytes": 65_536, "tables_memory": "64k", "tables_kind": "direct",
        "flush": OPTIONS["flush"].default, "push_down_aggregate": False, "columnar": False,
        "recursive_file_lookup": True, "path_glob_filter": "*.pcap", "ignore_missing_files": True,
        "ignore_corrupt_files": False, "modified_before": "2100-01-01T00:00:00",
        "modified_after": "2000-01-01T00:00:00", "base_path": None,
    }  # fmt: skip
    assert set(given) == set(OPTIONS)
    assert lfta.read(spark, made / "capture", **given).count() == PACKETS


def test_spelling_and_values() -> None:
    given = spark_options({"push_down_aggregate": False, "ports": [1, 2], "tables_memory": 4096, "mode": None})
    assert given == {"pushDownAggregate": "false", "ports": "1,2", "tables.memory": "4096"}


@pytest.mark.parametrize(
    ("name", "said"),
    [("adresses", "Did you mean addresses?"), ("pushDownAggregate", "push_down_aggregate"), ("zzz", "Known: records,")],
)
def test_an_unknown_option_is_refused(spark: SparkSession, name: str, said: str) -> None:
    with pytest.raises(PhantomsError, match="no option") as e:
        lfta.read(spark, "x", **{name: "1"})
    assert said in str(e.value)
    assert e.value.getMessageParameters() == {"argument": name}


def test_no_path_is_refused(spark: SparkSession) -> None:
    with pytest.raises(PhantomsError, match="files, directories or globs"):
        lfta.read(spark, [])


def test_the_22_reports_of_a_capture_of_exports(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    lfta.read(spark, made / "export-capture", records="flows", addresses="int").createOrReplaceTempView("decoded")
    in_spark(spark, truth("flows", FLOWS, captures.as_exported), tmp_path).createOrReplaceTempView("wrote")
    found = spark.sql(union(NFC22, "decoded"))
    assert phantoms.explain(found).shared
    check_same(found, spark.sql(union(NFC22, "wrote")))


CONNECT = """
import json, sys
from pyspark.sql import SparkSession, functions as F
from phantoms import lfta
builder = SparkSession.builder.remote("local[2]")
for key, value in json.loads(sys.argv[1]).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
df = lfta.read(spark, [sys.argv[2]], addresses="string")
rows = df.groupBy("prot").agg(F.count("*").alias("packets")).orderBy("prot").collect()
print(json.dumps({"module": type(df).__module__, "rows": [list(r) for r in rows], "first": df.columns[0]}))
spark.stop()
"""


@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect's client is not installed")
def test_from_connect(python: Callable[..., Any], made: Path, jar: Path) -> None:
    # The jar alone: the source needs no extension.
    confs = {k: v for k, v in LOCAL.items() if k != "spark.master" and not k.startswith("spark.phantoms.")}
    done = python("-c", CONNECT, json.dumps(confs | {"spark.jars": str(jar)}), str(made / "capture"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    counts = truth("packets", PACKETS, captures.as_captured)["prot"].value_counts().to_pylist()
    assert found == {
        "module": "pyspark.sql.connect.dataframe",
        "rows": sorted([c["values"], c["counts"]] for c in counts),
        "first": "time",
    }
