"""The jar in a session of another Spark minor: it does nothing, and says so.

Opt-in, for each such Spark is 400 MB: ``PHANTOMS_OTHER_SPARK`` lists Python executables (separated as in ``PATH``) of
environments with another pyspark, as ``python -m venv v && v/bin/pip install pyspark==4.1.1`` makes them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import environment

PYTHONS = [p for p in os.environ.get("PHANTOMS_OTHER_SPARK", "").split(os.pathsep) if p]

SCRIPT = """
import json, sys
import phantoms
from phantoms.session import EXTENSION
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars", sys.argv[1])
         .config("spark.sql.extensions", EXTENSION).config("spark.sql.shuffle.partitions", "1").getOrCreate())
spark.conf.set("spark.phantoms.minSavings", "-1")
df = spark.range(100).selectExpr("id % 3 as a", "id % 5 as b").cube("a", "b").count()
plan = df._jdf.queryExecution().executedPlan().toString()

def code(action):
    try:
        return repr(action())
    except phantoms.PhantomsError as e:
        return e.error_class

def in_sql(function):
    try:
        return repr(spark.sql("select * from " + function).collect())
    except AnalysisException as e:
        return e.getCondition()

print(json.dumps({
    "spark": spark.version,
    "rows": len(df.collect()),
    "plan": plan,
    "active": phantoms.is_active(spark),
    "why_not": phantoms.why_not(df),
    "text": str(phantoms.explain(df)),
    "codes": [d["code"] for d in phantoms.explain(df).declined],
    "refused": {
        "enable": code(lambda: phantoms.enable(spark)),
        "disable": code(lambda: phantoms.disable(spark)),
        "set_rows": code(lambda: phantoms.stats.set_rows("t", 10)),
        "set_groups": code(lambda: phantoms.stats.set_groups("t", ["a"], 10)),
        "set_flow_length": code(lambda: phantoms.stats.set_flow_length("t", ["a"], 10)),
        "sample": code(lambda: phantoms.stats.sample(df)),
        "count": code(lambda: phantoms.stats.count(df, [["a"]])),
        "observed": code(lambda: phantoms.stats.observed()),
        "save": code(lambda: phantoms.stats.save(sys.argv[1] + ".json")),
        "load": code(lambda: phantoms.stats.load("none.json")),
        "clear": code(lambda: phantoms.stats.clear()),
        "calibrate": code(lambda: phantoms.calibrate(spark, rows=10)),
        "load_calibration": code(lambda: phantoms.load_calibration(spark, sys.argv[2])),
        "last_execution": code(lambda: phantoms.last_execution(spark)),
    },
    "in_sql": [in_sql(f) for f in ("phantoms_last()", "phantoms_explain('select 1')", "phantoms_why_not('select 1')")],
    "planned": code(lambda: phantoms.plan([["a"], ["b"]], {"rows": 1e6, "groups": {"a": 10, "b": 10, "a,b": 50}})),
}))
"""


@pytest.mark.skipif(not PYTHONS, reason="PHANTOMS_OTHER_SPARK names no other Spark")
@pytest.mark.parametrize("python", PYTHONS)
def test_another_minor(python: str, jar: Path, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)
    machine = tmp_path / "machine.json"
    constants = {"format": "phantoms-machine", "version": 1, "spark": "4.2.0", "cores": 2, "constants": {"c1": 7.0}}
    machine.write_text(json.dumps(constants))
    env = {**environment(), "PYSPARK_PYTHON": python}
    command = [python, str(script), str(jar), str(machine)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    assert not said["spark"].startswith("4.2."), "this is the jar's own Spark"
    assert said["rows"] == 24
    assert "Phantoms" not in said["plan"]
    assert said["active"] is False
    assert said["codes"] == ["WRONG_SPARK"]
    assert "WRONG_SPARK" in said["why_not"] and said["spark"] in said["why_not"]
    assert "WRONG_SPARK" in said["text"]
    assert set(said["refused"].values()) == {"UNSUPPORTED_SPARK"}, said["refused"]
    # The functions are not there: what they are made of is the jar's own Spark.
    assert set(said["in_sql"]) == {"UNRESOLVABLE_TABLE_VALUED_FUNCTION"}, said["in_sql"]
    # The chooser alone needs nothing of Spark.
    assert said["planned"].startswith("Plan(")
    assert "spark-phantoms is off" in done.stderr
