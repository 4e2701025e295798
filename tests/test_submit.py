"""Unmodified scripts under spark-submit: nothing but confs brings the plugin in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

SCRIPT = """
import json, sys
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
packets = spark.read.parquet(sys.argv[1])
totals = (F.count(F.lit(1)).alias("n"), F.sum("length").alias("octets"))
by_host = packets.groupBy("srcip", "dstip").agg(*totals).select(
    "srcip", "dstip", F.lit(None).cast("int").alias("dstport"), "n", "octets")
by_port = packets.groupBy("srcip", "dstport").agg(*totals).select(
    "srcip", F.lit(None).cast("int").alias("dstip"), "dstport", "n", "octets")
df = by_host.unionAll(by_port)
rows = sorted(df.collect(), key=str)
cube = packets.cube("srcip", "dstip").agg(*totals)
print(json.dumps({
    "rows": [list(r) for r in rows],
    "cube": sorted(map(str, cube.collect())),
    "plans": [str(d._jdf.queryExecution().executedPlan().toString()) for d in (df, cube)],
    "text": [str(d._jdf.queryExecution().toString()) for d in (df, cube)],
}))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(SCRIPT)
    return path


def answer(done: Any) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def normal(plan: str) -> str:
    """A plan's text without what differs between any two runs."""
    plan = re.sub(r"#\d+L?", "#", plan)
    plan = re.sub(r"plan_id=\d+", "plan_id=", plan)
    return re.sub(r"\bid=\d+", "id=", plan)


def test_two_confs_are_enough_and_an_unknown_one_is_warned_about(
    submit: Callable[..., Any], script: Path, packets: Path
) -> None:
    always = {"spark.phantoms.minSavings": "-1"}
    plain = answer(submit(script, str(packets), plugin=False))
    done = submit(script, str(packets), conf={**always, "spark.phantoms.lfta.memry": "8m"})
    shared = answer(done)
    assert all("PhantomsMerge" in p for p in shared["plans"])
    assert not any("Phantoms" in p for p in plain["plans"])
    assert shared["rows"] == plain["rows"]
    assert shared["cube"] == plain["cube"]
    warning = [line for line in done.stderr.splitlines() if "spark.phantoms.lfta.memry" in line]
    assert warning
    assert all("WARN" in w and "did you mean spark.phantoms.lfta.memory" in w for w in warning)
    off = answer(submit(script, str(packets), conf={**always, "spark.phantoms.enabled": "false"}))
    assert [normal(t) for t in off["text"]] == [normal(t) for t in plain["text"]]


def test_a_malformed_conf_is_an_error(submit: Callable[..., Any], script: Path, packets: Path) -> None:
    done = submit(script, str(packets), conf={"spark.phantoms.maxQueries": "lots"})
    assert done.returncode != 0
    said = done.stdout + done.stderr  # spark-submit sends a script's traceback to its standard output
    assert "INVALID_CONF_VALUE" in said
    assert "'lots' in the config \"spark.phantoms.maxQueries\"" in said


@pytest.mark.in_turn
@pytest.mark.parametrize("example", sorted(p.name for p in EXAMPLES.glob("*.py")))
def test_examples_run(python: Callable[..., Any], example: str, tmp_path: Path) -> None:
    done = python(str(EXAMPLES / example), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
