"""Plans and runs many different queries in one small driver, and says what stays in memory: ``make soak``.

Every query has groupings, functions and a filter of its own, as those of a notebook or of a report generator: nothing
that is remembered of one helps the next, everything that is not forgotten adds up. Exits with 1 where heap or
metaspace, after a collection, still grow when everything that has a bound has reached it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import phantoms

KEYS = [f"k{i}" for i in range(12)]
FUNCTIONS = ["count(*)", "sum(v)", "min(v)", "max(v)", "avg(w)", "sum(w)", "max(s)", "count(s)"]

# Spark's own records of jobs, stages and plans grow up to bounds of their own, which thousands of queries do not reach.
CONFS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.shuffle.partitions": "2",
    "spark.phantoms.minSavings": "-1",
    "spark.phantoms.strict": "true",
}

# MiB by which a collection may leave more than another one.
SLACK = {"heap": 24, "metaspace": 8}


def query(number: int) -> str:
    """The query of this number: the same in every run."""
    draw = random.Random(number)
    sets = {tuple(sorted(draw.sample(KEYS, draw.randint(1, 5)))) for _ in range(draw.randint(4, 10))}
    keys = sorted({k for s in sets for k in s})
    functions = [f"{f} f{i}" for i, f in enumerate(draw.sample(FUNCTIONS, draw.randint(2, 5)))]
    groupings = ", ".join(f"({', '.join(s)})" for s in sorted(sets))
    return (
        f"SELECT {', '.join(keys + functions)} FROM soak WHERE v >= {number} AND k0 <> {number % 7} "
        f"GROUP BY GROUPING SETS ({groupings})"
    )


def write(spark: SparkSession, rows: int, folder: str) -> None:
    """The table that is queried."""
    columns = [f"cast(pmod(xxhash64(id, {i}), {20 * (i + 1)}) AS int) k{i}" for i in range(len(KEYS))]
    more = ["id v", "cast(id % 1000 AS decimal(10, 2)) w", "concat('s', id % 97) s"]
    spark.range(0, rows, 1, 4).selectExpr(*columns, *more).write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("soak")


def used(spark: SparkSession) -> dict[str, int]:
    """MiB in use after a collection."""
    beans = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    for _ in range(3):
        spark._jvm.System.gc()  # type: ignore[union-attr]
        time.sleep(0.3)
    pools = {p.getName(): p.getUsage().getUsed() for p in beans.getMemoryPoolMXBeans()}
    return {
        "heap": beans.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 20,
        "metaspace": (pools["Metaspace"] + pools.get("Compressed Class Space", 0)) >> 20,
        "classes": beans.getClassLoadingMXBean().getLoadedClassCount(),
    }


def soak(queries: int, every: int, rows: int) -> list[dict[str, Any]]:
    """Memory in use every so many queries."""
    builder = SparkSession.builder
    for key, value in CONFS.items():
        builder = builder.config(key, value)
    spark = phantoms.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    points = []
    with tempfile.TemporaryDirectory() as folder:
        write(spark, rows, str(Path(folder) / "soak"))
        for number in range(1, queries + 1):
            df = spark.sql(query(number))
            df.write.format("noop").mode("overwrite").save()
            if number == 1 and not phantoms.explain(df).shared:
                raise RuntimeError("the plugin shares nothing of these queries")
            if number % every == 0:
                points.append({"queries": number, **used(spark)})
                print(json.dumps(points[-1]), flush=True)
    spark.stop()
    return points


def growth(points: list[dict[str, Any]]) -> list[str]:
    """What still grows: the last third of the points beside the third before it."""
    third = len(points) // 3
    if third == 0:
        return []
    before, after = points[-2 * third : -third], points[-third:]
    return [
        f"{what} grew from {least} to {most} MiB"
        for what, slack in SLACK.items()
        if (most := max(p[what] for p in after)) > (least := max(p[what] for p in before)) + slack
    ]


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--every", type=int, default=50, help="queries between two looks at the memory")
    parser.add_argument("--rows", type=int, default=40_000, help="of the table")
    arguments = parser.parse_args()
    grown = growth(soak(arguments.queries, arguments.every, arguments.rows))
    print("; ".join(grown) or "flat")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
