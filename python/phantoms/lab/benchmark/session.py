"""The session benchmarks and demo run in: one for plain Spark and the plugin alike, so that ratios compare like."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from phantoms import _jvm
from phantoms.errors import PhantomsError
from phantoms.session import ENABLED, configure, require_active

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PLUGIN_NODE = "PhantomsMerge"
"""The operator every rewritten plan contains."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def driver_memory() -> str:
    """8 GiB, or 60 % of the machine's memory where that is less."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "4g"
    return f"{min(8192, int(physical * 0.6 / 2**20))}m"


def settings() -> dict[str, str]:
    """The confs of the session.

    Everything not named keeps Spark's default, adaptive execution included. The defaults of 200 shuffle partitions and
    of as many input splits as cores would each slow plain Spark down on a small machine: four of either per core. Spark
    keeps 100 compiled classes, and a round of all forms has more: the forms after plain Spark's, which has most of
    them, would each time start with code that is not yet compiled well.
    """
    n = cores()
    return {
        "spark.master": f"local[{n}]",
        "spark.driver.memory": driver_memory(),
        "spark.sql.shuffle.partitions": str(4 * n),
        "spark.sql.files.minPartitionNum": str(max(4, 2 * n)),
        "spark.sql.codegen.cache.maxEntries": "1000",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }


def open_session(app: str, plugin: bool, extra: dict[str, str] | None = None) -> SparkSession:
    """Start the session, with the plugin in it unless `plugin` is false."""
    from pyspark.sql import SparkSession

    confs = {**settings(), **(extra or {})}
    # The heap is there from the start, so that collecting it between runs does not make the next one grow it again.
    confs.setdefault("spark.driver.extraJavaOptions", f"-Xms{confs['spark.driver.memory']}")
    builder = SparkSession.builder.appName(app)
    for key, value in confs.items():
        builder = builder.config(key, value)
    if plugin:
        builder = configure(builder)
    spark = builder.getOrCreate()
    if plugin:
        require_active(spark)
    return spark


def by_turns(spark: SparkSession, repeat: int, untimed: int) -> Iterator[tuple[bool, bool]]:
    """Switch the plugin off and on, as often each, in an order that alternates; it is on at the end.

    Yields
    ------
    tuple of bool
        Whether the plugin is on, and whether this turn counts: the first `untimed` of either do not.
    """
    for turn in range(-untimed, repeat):
        for on in (False, True) if turn % 2 else (True, False):
            spark.conf.set(ENABLED, str(on).lower())
            yield on, turn >= 0
    spark.conf.set(ENABLED, "true")


def planned(spark: SparkSession, sql: str) -> tuple[DataFrame, float]:
    """The query, planned, and the seconds from its text to its physical plan."""
    start = time.perf_counter()
    df = spark.sql(sql)
    df._jdf.queryExecution().executedPlan()
    return df, time.perf_counter() - start


def plan_text(df: DataFrame) -> str:
    """The physical plan; numbers that differ whenever it is planned, such as those of columns, by their first place."""
    return numbered(str(df._jdf.queryExecution().executedPlan().toString()))


def numbered(plan: str) -> str:
    """A plan's text with its numbers of columns, exchanges and objects as 0, 1, 2, ..."""
    numbers: dict[str, int] = {}
    return re.sub(
        r"(?<=#)\d+|(?<=plan_id=)\d+|(?<=@)[0-9a-f]{4,}",
        lambda m: str(numbers.setdefault(m.group(), len(numbers))),
        plan,
    )


def register(spark: SparkSession, table: str, path: Path) -> DataFrame:
    """Read a data set as a view."""
    df = spark.read.parquet(str(path))
    df.createOrReplaceTempView(table)
    return df


def describe(spark: SparkSession) -> str:
    """The confs that bear on what is measured, in one line."""
    shown = ("spark.sql.", "spark.master", "spark.driver.memory", "spark.phantoms.")
    confs = sorted(spark.sparkContext.getConf().getAll())
    return "session: " + ", ".join(f"{k}={v}" for k, v in confs if k.startswith(shown))


def require_repeat(repeat: int) -> None:
    """Raise ``BAD_ARGUMENT`` unless there is a run to time."""
    if repeat < 1:
        raise PhantomsError("BAD_ARGUMENT", f"repeat must be at least 1, not {repeat}.", "Give --repeat 3, say.")


def switch(spark: SparkSession, form: str) -> None:
    """Switch the plugin on for its forms, off for all others."""
    # Without the plugin in the session the key is only an unread conf.
    spark.conf.set(ENABLED, "true" if form.startswith("plugin_") else "false")


def noop(df: DataFrame) -> None:
    """Compute every row and throw it away."""
    df.write.format("noop").mode("overwrite").save()


def settle(spark: SparkSession) -> None:
    """Let what a run left behind come to an end, so that no form pays for the one before it.

    Spark removes shuffle files once the garbage collector finds that nothing refers to them, which after plain Spark's
    runs is gigabytes in the middle of the next one. Files on their way to the disk get there.
    """
    if spark._jvm is not None:
        spark._jvm.System.gc()
    time.sleep(1.0)
    if hasattr(os, "sync"):
        os.sync()


def last_plan(spark: SparkSession) -> str:
    """The physical plan Spark recorded for the last SQL execution that ended: what ran, not what would run."""
    _jvm.require_classic(spark)
    # Executions reach the status store through the asynchronous listener bus.
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    return str(executions.last().physicalPlanDescription()) if executions.nonEmpty() else ""


def shared(spark: SparkSession) -> bool:
    """Tell whether the last execution ran through the plugin's operators."""
    return PLUGIN_NODE in last_plan(spark)


def require_shared(spark: SparkSession, what: str) -> None:
    """Raise ``NOT_SHARED`` unless the last execution ran through the plugin's operators."""
    if not shared(spark):
        raise PhantomsError(
            "NOT_SHARED",
            f"{what}: the plan that ran has no operator of the plugin, so a measurement would compare Spark to itself.",
            "Ask phantoms.why_not(df) for the reason.",
        )


def require_plain(spark: SparkSession, what: str) -> None:
    """Raise ``NOT_SHARED`` if the last execution ran through the plugin although it should not have."""
    if shared(spark):
        raise PhantomsError(
            "NOT_SHARED",
            f"{what}: the plan that ran has operators of the plugin, so it is no baseline.",
            "Report this: spark.phantoms.enabled=false must leave plans alone.",
        )
