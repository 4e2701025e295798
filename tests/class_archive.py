"""Writes an archive of the classes that drivers of the tests load: each starts several seconds sooner with it.

A test of a command, an example or a setting of the application is a JVM of its own, and most of what such a JVM does is
load Spark's classes. ``make test-python`` calls this once an installation; ``conftest.py`` takes the archive up.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def main(archive: Path) -> None:
    """Run what most tests run, so that its classes are in the archive."""
    # Drivers have to start with the same collector as the one that wrote the archive.
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={archive}"
    from pyspark.sql import SparkSession

    import phantoms

    builder = SparkSession.builder.config("spark.master", "local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.phantoms.minSavings", "-1")
    spark = phantoms.configure(builder).getOrCreate()
    try:
        with tempfile.TemporaryDirectory() as folder:
            rows = spark.range(1000).selectExpr("int(id % 7) a", "string(id % 5) b", "id v", "timestamp_seconds(id) at")
            rows.write.parquet(f"{folder}/t")
            spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
            for sql in (
                "select a, b, count(*) n, sum(v) s from t group by cube(a, b) order by 1, 2",
                "select a, sum(v) s from t group by a union all select b, sum(v) from t group by b",
                "select window(at, '2 minutes', '1 minute') w, avg(v) m from t group by 1 having m > 3",
                "select x.a, count(distinct y.v) from t x join t y on x.v = y.v where x.a > 1 group by x.a",
            ):
                spark.sql(sql).collect()
                spark.conf.set("spark.phantoms.enabled", "false")
                spark.sql(sql).toPandas()
                spark.conf.set("spark.phantoms.enabled", "true")
    finally:
        driver = spark.sparkContext._gateway.proc
        spark.stop()
        # The driver leaves when its input ends, and writes the archive then.
        driver.stdin.close()
        driver.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
