"""Delta Lake and the plugin in one session. Downloads Delta with Maven: `make test-delta`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import environment

pytestmark = pytest.mark.skipif(os.environ.get("PHANTOMS_TEST_DELTA") != "1", reason="downloads: make test-delta")

VERSION = "4.4.0"
"""The last Delta whose build for Spark 4.2 is on Maven Central."""

ARTIFACTS = [
    f"io.delta:delta-spark_4.2_2.13:{VERSION}",
    f"io.delta:delta-storage:{VERSION}",
    *(f"io.delta:delta-kernel-{part}:{VERSION}" for part in ("api", "defaults", "unitycatalog")),
]
DELTA = "io.delta.sql.DeltaSparkSessionExtension"

JOB = """
import json, os
import phantoms
from pyspark.sql import SparkSession
T = os.path.abspath("t")  # Delta takes no other path for a table
spark = phantoms.configure(SparkSession.builder).getOrCreate()
spark.range(20000).selectExpr("id % 7 AS a", "id % 11 AS b", "id AS n").write.format("delta").save(T)
spark.read.format("delta").load(T).createOrReplaceTempView("t")
spark.range(20).selectExpr("id AS a", "CAST(100 AS BIGINT) AS b", "id AS n").createOrReplaceTempView("news")
spark.sql(f"MERGE INTO delta.`{T}` AS t USING news ON t.a = news.a AND t.n = news.n "
          "WHEN MATCHED THEN UPDATE SET b = news.b WHEN NOT MATCHED THEN INSERT *")
CUBE = f"SELECT a, b, count(*) AS c, sum(n) AS s FROM delta.`{T}` GROUP BY CUBE (a, b)"
def rows():
    return sorted(map(str, spark.sql(CUBE).collect()))
shared, plan = rows(), spark.sql(CUBE)._jdf.queryExecution().executedPlan().toString()
versions = spark.sql(f"DESCRIBE HISTORY delta.`{T}`").count()
phantoms.disable(spark)
plain, plain_plan = rows(), spark.sql(CUBE)._jdf.queryExecution().executedPlan().toString()
print(json.dumps({
    "active": phantoms.is_active(spark),
    "extensions": spark.sparkContext.getConf().get("spark.sql.extensions"),
    "rows": spark.read.format("delta").load(T).count(),
    "merged": spark.sql(f"SELECT count(*) FROM delta.`{T}` WHERE b = 100").collect()[0][0],
    "versions": versions,
    "groups": len(shared), "equal": shared == plain,
    "shared": "PhantomsMerge" in plan, "plain": "Phantoms" not in plain_plan,
}))
"""


@pytest.fixture(scope="module")
def delta() -> list[Path]:
    """Delta's jars, fetched once into ``.data``."""
    folder = Path(__file__).resolve().parent.parent / ".data" / f"delta-{VERSION}"
    for artifact in ARTIFACTS:
        _, name, version = artifact.split(":")
        if not (folder / f"{name}-{version}.jar").exists():
            subprocess.run(
                ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"],
                check=True,
            )
    return sorted(folder.glob("*.jar"))


def run(job: Path, **extra: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(job)], capture_output=True, text=True, cwd=job.parent, env=environment() | extra,
        timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def test_read_write_merge_and_a_cube(delta: list[Path], tmp_path: Path) -> None:
    """All of it from a conf folder, with nothing but ``configure`` in the job."""
    confs = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.jars": ",".join(map(str, delta)),
        "spark.sql.extensions": DELTA,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "2",
        "spark.phantoms.minSavings": "-1",
        "spark.phantoms.strict": "true",
    }
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{k} {v}\n" for k, v in confs.items()))
    job = tmp_path / "job.py"
    job.write_text(JOB)
    found = run(job, SPARK_CONF_DIR=str(tmp_path))
    assert found["active"]
    assert found["extensions"] == f"{DELTA},io.phantoms.spark.PhantomsExtensions"
    # Of the 20 news 0 to 6 are there already; the others are not, since n = a is beyond 7 keys.
    assert (found["rows"], found["merged"], found["versions"]) == (20013, 20, 2)
    assert found["shared"]
    assert found["plain"]
    assert found["equal"]
    assert found["groups"] > 77
