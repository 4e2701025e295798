"""Aggregations over a stream of captures: with the first part of them done by the readers, and by Spark.

A directory of captures is read as a stream until all of it was read, in batches of so many files: once grouped by
addresses, once in sliding windows under a watermark. Beside the plugin, plain Spark, and plain Spark whose user has
said by a schema which columns are wanted. All have to give the same rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms.lab.benchmark.answers import Fingerprint, fingerprint, fingerprint_by
from phantoms.lab.benchmark.session import open_session, require_repeat, settle, switch
from phantoms.lab.data import ensure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKETS = 10_000_000

FORMS = ("plugin_stream", "stream", "stream_schema")
"""Those that begin with ``plugin_`` have the plugin on."""

SCHEMA = "time timestamp, srcip int, dstip int, length int"


def hosts(packets: DataFrame) -> DataFrame:
    """Packets and bytes by source and destination."""
    return packets.groupBy("srcip", "dstip").agg({"*": "count", "length": "sum"})


def windows(packets: DataFrame) -> DataFrame:
    """Packets and bytes by source in windows of ten seconds, one each second."""
    from pyspark.sql.functions import window

    late = packets.withWatermark("time", "10 seconds")
    return late.groupBy(window("time", "10 seconds", "1 second"), "srcip").agg({"*": "count", "length": "sum"})


QUERIES = {"hosts": (hosts, "update"), "windows": (windows, "append")}
"""By name: the query and the output mode."""


def _fingerprint(spark: SparkSession, batch: DataFrame) -> Fingerprint:
    batch.createOrReplaceTempView("batch")
    if "window" in batch.columns:
        relation = "SELECT unix_micros(window.start) w, srcip, 0 dstip, `count(1)` n, `sum(length)` b FROM batch"
    else:
        relation = "SELECT 0 w, srcip, dstip, `count(1)` n, `sum(length)` b FROM batch"
    sql = fingerprint_by("'batch'", ("w", "srcip", "dstip", "n", "b"), relation)
    return fingerprint(batch.sparkSession.sql(sql).collect())


def _run(spark: SparkSession, capture: Path, files: int, query: str, form: str, check: bool) -> tuple[float, list[Any]]:
    """Seconds until all was read, and what came out of each batch."""
    answers: list[Any] = []

    def sink(batch: DataFrame, batch_id: int) -> None:
        if check:
            answers.append(_fingerprint(spark, batch))
        else:
            batch.write.format("noop").mode("overwrite").save()

    switch(spark, form)
    settle(spark)
    build, mode = QUERIES[query]
    reader = spark.readStream.format("lfta").option("addresses", "int").option("maxFilesPerTrigger", files)
    if form == "stream_schema":
        reader = reader.schema(SCHEMA)
    with tempfile.TemporaryDirectory(prefix="phantoms-") as checkpoint:
        start = time.perf_counter()
        stream = (
            build(reader.load(str(capture)))
            .writeStream.outputMode(mode)
            .trigger(availableNow=True)
            .option("checkpointLocation", checkpoint)
            .foreachBatch(sink)
            .start()
        )
        stream.awaitTermination()
        seconds = time.perf_counter() - start
    did = "StreamedGroups" in stream._jsq.explainInternal(False) if query == "hosts" else None
    if did is not None and did != form.startswith("plugin_"):
        raise RuntimeError(f"{query}, {form}: the readers {'did' if did else 'did not'} aggregate")
    return seconds, answers


def measure(spark: SparkSession, capture: Path, files: int, query: str, repeat: int) -> dict[str, Any]:
    """Every form, `repeat` times, in an order that alternates, after one run that checks its answer."""
    answers = [_run(spark, capture, files, query, form, check=True)[1] for form in FORMS]
    seconds: dict[str, list[float]] = {form: [] for form in FORMS}
    for turn in range(repeat):
        for form in FORMS if turn % 2 else reversed(FORMS):
            seconds[form].append(_run(spark, capture, files, query, form, check=False)[0])
    times = {form: statistics.median(taken) for form, taken in seconds.items()}
    return {
        "name": query,
        "repeat": repeat,
        "batches": len(answers[0]),
        "answers_equal": all(a == answers[0] for a in answers),
        "times": times,
        "ratios": {f"{form}_by_plugin": times[form] / times["plugin_stream"] for form in FORMS[1:]},
    }


def run(spark: SparkSession, packets: int, files: int, repeat: int) -> list[dict[str, Any]]:
    """All queries.

    Parameters
    ----------
    spark : SparkSession
        With the plugin in it.
    packets : int
        Of the capture.
    files : int
        Of a batch.
    repeat : int
        Timed runs of each form.

    Returns
    -------
    list of dict
        Per query ``name``, ``answers_equal``, ``batches``, median seconds by form, and ratios to the plugin's.
    """
    require_repeat(repeat)
    capture = ensure("capture", packets)
    return [measure(spark, capture, files, query, repeat) for query in QUERIES]


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate data if need be, run, print and write the results; 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m phantoms.lab.benchmark.streams", description=__doc__)
    parser.add_argument("--packets", type=int, default=PACKETS)
    parser.add_argument("--files", type=int, default=2, help="of a batch")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where results go")
    options = parser.parse_args(arguments)
    spark = open_session("phantoms streams", plugin=True)
    try:
        results = run(spark, options.packets, options.files, options.repeat)
        version = spark.version
    finally:
        spark.stop()
    for result in results:
        answers = "equal" if result["answers_equal"] else "DIFFER"
        print(f"{result['name']}: {options.packets:,} packets in {result['batches']} batches, answers {answers}")
        for form, seconds in result["times"].items():
            print(f"  {form:16} {seconds:8.3f} s")
        for ratio, value in result["ratios"].items():
            print(f"  {ratio} = {value:.2f}")
    if options.json is not None:
        found = {"spark": version, "packets": options.packets, "files_per_batch": options.files, "queries": results}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(r["answers_equal"] for r in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
