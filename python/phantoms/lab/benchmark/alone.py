"""Queries that the plugin looks at and leaves alone (one tumbling window, one predicate): what looking costs.

They run with the plugin off and on by turns. The physical plans have to be the same, so that planning is all that may
differ; it is timed on its own, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms.lab.benchmark.session import by_turns, open_session, plan_text, planned, register, require_repeat
from phantoms.lab.data import ensure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOTALS = "count(*) AS n, sum(volume) AS v, max(price) AS p"

QUERIES = {
    "tumbling": f"SELECT window(ts, '10 seconds') AS w, {_TOTALS} FROM trades GROUP BY window(ts, '10 seconds')",
    "tumbling by symbol": f"SELECT window(ts, '1 minute') AS w, symbol, {_TOTALS} FROM trades "
    "GROUP BY window(ts, '1 minute'), symbol",
    "date_trunc": f"SELECT date_trunc('MINUTE', ts) AS w, symbol, {_TOTALS} FROM trades "
    "GROUP BY date_trunc('MINUTE', ts), symbol",
    "where": f"SELECT symbol, {_TOTALS} FROM trades WHERE volume > 100 AND r1000 GROUP BY symbol",
    "filter": "SELECT symbol, sum(volume) FILTER (WHERE price > close) AS v, count(*) AS n FROM trades GROUP BY symbol",
    "case": "SELECT symbol, sum(CASE WHEN r1000 THEN volume ELSE 0 END) AS v, count(*) AS n FROM trades "
    "GROUP BY symbol",
    "tumbling where": f"SELECT window(ts, '5 minutes').start AS w, symbol, {_TOTALS} FROM trades WHERE r2000 "
    "GROUP BY window(ts, '5 minutes'), symbol",
}
"""By name; over the data set ``trades``."""


def measure(spark: SparkSession, name: str, sql: str, repeat: int) -> dict[str, Any]:
    """One query, off and on by turns; half as many runs of each before are not timed."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    planning: dict[bool, list[float]] = {False: [], True: []}
    plans: dict[bool, str] = {}
    for on, counts in by_turns(spark, repeat, untimed=repeat // 2):
        df, to_plan = planned(spark, sql)
        plans[on] = plan_text(df)
        start = time.perf_counter()
        spark.sql(sql).write.format("noop").mode("overwrite").save()
        taken = time.perf_counter() - start
        if counts:
            seconds[on].append(taken)
            planning[on].append(to_plan)
    off, on_ = (statistics.median(seconds[on]) for on in (False, True))
    return {
        "name": name,
        "same_plan": plans[False] == plans[True],
        "plain": round(off, 4),
        "plugin": round(on_, 4),
        "ratio": round(on_ / off, 3),
        "plan_overhead": round(statistics.median(planning[True]) - statistics.median(planning[False]), 4),
    }


def run(spark: SparkSession, repeat: int) -> dict[str, Any]:
    """All queries over the view ``trades``.

    Returns
    -------
    dict
        ``name``, ``spark``, ``repeat``, and per query whether both have the same plan, the median seconds of both and
        their ratio, and the seconds that the plugin adds to planning.
    """
    require_repeat(repeat)
    found = [measure(spark, name, sql, repeat) for name, sql in QUERIES.items()]
    return {"name": "alone", "spark": spark.version, "repeat": repeat, "queries": found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate data if need be, run, and write the results; 1 if a plan differs."""
    parser = argparse.ArgumentParser(prog="python -m phantoms.lab.benchmark.alone", description=__doc__)
    parser.add_argument("--rows", type=int, help="rows of the data set")
    parser.add_argument("--repeat", type=int, default=41)
    parser.add_argument("--json", type=Path, help="where results go")
    options = parser.parse_args(arguments)
    spark = open_session("phantoms alone", plugin=True)
    try:
        register(spark, "trades", ensure("trades", options.rows))
        result = run(spark, options.repeat)
    finally:
        spark.stop()
    for q in result["queries"]:
        same = "same plan" if q["same_plan"] else "ANOTHER PLAN"
        print(
            f"{q['name']:20} plain {q['plain']:.3f} s  plugin {q['plugin']:.3f} s  ratio {q['ratio']:.3f}  "
            f"planning {1000 * q['plan_overhead']:+.1f} ms  {same}"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if all(q["same_plan"] for q in result["queries"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
