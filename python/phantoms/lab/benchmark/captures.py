"""Reports straight from captures and flow exports, beside the same rows as Parquet.

SMAP's four groupings of packets, over a capture: with the plugin (one pass, phantoms behind the decoder), with the
reader's own tables (each grouping reads the capture, and its readers aggregate), without either, and over Parquet. The
22 reports of flow records, from NetFlow v5 datagrams in a capture and one after another in files. All forms of a
workload have to give the same answer.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import lfta
from phantoms.lab.benchmark.answers import fingerprint, fingerprint_sql
from phantoms.lab.benchmark.session import noop, open_session, require_repeat, require_shared, settle, switch
from phantoms.lab.data import ensure
from phantoms.lab.reports import NFC22, SMAP4, Workload, union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKETS = 10_000_000
FLOWS = 3_000_000

Forms = dict[str, str]
"""Ways to answer a workload, by name, as SQL: names that begin with ``plugin_`` have the plugin on."""


def _view(df: DataFrame, name: str) -> str:
    df.createOrReplaceTempView(name)
    return name


def _parquet(spark: SparkSession, df: DataFrame, folder: Path, name: str) -> str:
    """Write the rows of a source as Parquet, and name a view of them."""
    df.write.parquet(str(folder / name))
    return _view(spark.read.parquet(str(folder / name)), name)


def _columns(workload: Workload, view: str) -> str:
    return f"SELECT {', '.join(workload.columns)} FROM {view}"


def smap4_forms(spark: SparkSession, capture: Path, folder: Path) -> Forms:
    """The forms of SMAP's query set; ``length`` is that of the frame."""
    tables = _view(lfta.read(spark, capture, addresses="int"), "packets_tables")
    rows = _view(lfta.read(spark, capture, addresses="int", push_down_aggregate=False), "packets_rows")
    parquet = _parquet(spark, spark.sql(_columns(SMAP4, rows)), folder, "packets_parquet")
    return {
        "plugin_lfta": union(SMAP4, tables),
        "lfta_tables": union(SMAP4, tables),
        "lfta_rows": union(SMAP4, rows),
        "parquet": union(SMAP4, parquet),
        "plugin_parquet": union(SMAP4, parquet),
        "decoding": _columns(SMAP4, rows),
    }


def nfc22_forms(spark: SparkSession, capture: Path, export: Path, folder: Path) -> Forms:
    """The forms of the 22 reports."""
    captured = _view(lfta.read(spark, capture, records="flows", addresses="int"), "flows_capture")
    exported = _view(lfta.read(spark, export, addresses="int"), "flows_export")
    parquet = _parquet(spark, spark.sql(_columns(NFC22, captured)), folder, "flows_parquet")
    return {
        "plugin_capture": union(NFC22, captured),
        "plugin_export": union(NFC22, exported),
        "plugin_parquet": union(NFC22, parquet),
        "parquet": union(NFC22, parquet),
        "decoding": _columns(NFC22, captured),
        "decoding_export": _columns(NFC22, exported),
    }


def _number(text: str) -> int:
    """A metric as the UI shows it: a total, or one with its distribution on a line of its own."""
    found = re.search(r"[\d,]+", text.split("\n")[-1])
    return int(found.group().replace(",", "")) if found else 0


_LEAVING = {"PhantomsMerge": "entries received", "BatchScan": "number of output rows", "Scan": "number of output rows"}
"""Operators, by how their names begin, and the metric that says what the map side's first ones handed on."""


def leaving_rows(spark: SparkSession) -> int:
    """Rows that left the map side's first operators in the last execution: readers, or the plugin's tables."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store: Any = spark._jsparkSession.sharedState().statusStore()
    execution = store.executionsList().last().executionId()
    values, nodes = store.executionMetrics(execution), store.planGraph(execution).allNodes()
    sent = dict.fromkeys(_LEAVING, 0)
    for node in (nodes.apply(i) for i in range(nodes.size())):
        kind = next((k for k in _LEAVING if node.name().startswith(k)), None)
        for metric in (node.metrics().apply(m) for m in range(node.metrics().size())):
            if kind is not None and metric.name() == _LEAVING[kind] and values.contains(metric.accumulatorId()):
                sent[kind] += _number(values.apply(metric.accumulatorId()))
    return sent["PhantomsMerge"] or sent["BatchScan"] + sent["Scan"]


def measure(spark: SparkSession, workload: Workload, forms: Forms, repeat: int) -> dict[str, Any]:
    """Every form, `repeat` times, in an order that alternates, after one run that checks its answer."""
    answers = []
    for form, sql in forms.items():
        switch(spark, form)
        if not form.startswith("decoding"):
            answers.append(fingerprint(spark.sql(fingerprint_sql(workload, sql)).collect()))
        if form.startswith("plugin_"):
            require_shared(spark, f"{workload.name}, {form}")
    seconds: dict[str, list[float]] = {form: [] for form in forms}
    rows = {}
    for turn in range(-1, repeat):
        for form in forms if turn % 2 else reversed(forms):
            switch(spark, form)
            settle(spark)
            start = time.perf_counter()
            noop(spark.sql(forms[form]))
            taken = time.perf_counter() - start
            rows[form] = leaving_rows(spark)
            if turn >= 0:
                seconds[form].append(taken)
    return {
        "name": workload.name,
        "repeat": repeat,
        "answers_equal": all(a == answers[0] for a in answers),
        "times": {form: statistics.median(taken) for form, taken in seconds.items()},
        "leaving_rows": rows,
    }


def _ratios(result: dict[str, Any], workload: Workload) -> dict[str, float]:
    times = result["times"]
    if workload is SMAP4:
        return {
            "plugin_lfta_by_parquet": times["plugin_lfta"] / times["parquet"],
            "tables_by_parquet": times["lfta_tables"] / times["parquet"],
        }
    return {
        "capture_by_parquet_and_decoding": times["plugin_capture"] / (times["plugin_parquet"] + times["decoding"]),
        "export_by_parquet_and_decoding": times["plugin_export"] / (times["plugin_parquet"] + times["decoding_export"]),
    }


def run(spark: SparkSession, packets: int, flows: int, repeat: int) -> list[dict[str, Any]]:
    """Both workloads.

    Parameters
    ----------
    spark : SparkSession
        With the plugin in it.
    packets, flows : int
        Rows of the data sets.
    repeat : int
        Timed runs of each form.

    Returns
    -------
    list of dict
        Per workload ``name``, ``answers_equal``, median seconds and rows that leave the map side by form, and ratios.
    """
    require_repeat(repeat)
    with tempfile.TemporaryDirectory(prefix="phantoms-") as name:
        folder = Path(name)
        smap4 = smap4_forms(spark, ensure("capture", packets), folder)
        found = [(SMAP4, packets, measure(spark, SMAP4, smap4, repeat))]
        nfc22 = nfc22_forms(spark, ensure("export-capture", flows), ensure("export", flows), folder)
        found.append((NFC22, flows, measure(spark, NFC22, nfc22, repeat)))
    return [{**result, "rows": rows, "ratios": _ratios(result, workload)} for workload, rows, result in found]


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate data if need be, run, print and write the results; 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m phantoms.lab.benchmark.captures", description=__doc__)
    parser.add_argument("--packets", type=int, default=PACKETS)
    parser.add_argument("--flows", type=int, default=FLOWS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where results go")
    options = parser.parse_args(arguments)
    spark = open_session("phantoms captures", plugin=True)
    try:
        results = run(spark, options.packets, options.flows, options.repeat)
        version = spark.version
    finally:
        spark.stop()
    for result in results:
        print(f"{result['name']}: {result['rows']:,} records, answers {'equal' * result['answers_equal'] or 'DIFFER'}")
        for form, seconds in result["times"].items():
            left = result["leaving_rows"][form]
            print(f"  {form:16} {seconds:8.3f} s  {left:12,} rows leave the map side ({left / result['rows']:.3f})")
        for ratio, value in result["ratios"].items():
            print(f"  {ratio} = {value:.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps({"spark": version, "workloads": results}, indent=1) + "\n")
    return 0 if all(r["answers_equal"] for r in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
