"""One run of one form in this process; for `phantoms.lab.benchmark.cold`, which starts it."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms.lab.benchmark.catalog import sparked_forms
from phantoms.lab.benchmark.engines import ENGINES
from phantoms.lab.benchmark.session import open_session, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run ``job["form"]`` of ``job["name"]`` over the files at ``job["path"]``.

    Returns
    -------
    dict
        ``seconds``; ``phases``, ``stages`` and ``spark``, or None for other engines; ``answer``, its fingerprint where
        ``job["answer"]`` asks for it, computed once more after that.
    """
    form, path = job["form"], Path(job["path"])
    sparked = sparked_forms(job["name"])
    if form in ENGINES:
        engine = sparked.engine(form, path)
        seconds = engine.run()
        answer = engine.fingerprint() if job["answer"] else None
        engine.close()
        return {"seconds": seconds, "phases": None, "stages": None, "spark": None, "answer": answer}
    spark = open_session(f"phantoms bench {sparked.name} --cold", form.startswith("plugin_"), job["conf"])
    sparked.spark = spark
    register(spark, sparked.table, path)
    begun = _stages(spark)
    started = time.time()
    seconds = sparked.run(form)
    stages = [(a - started, b - started, tasks) for a, b, tasks in _stages(spark)[len(begun) :]]
    answer = None
    if job["answer"]:
        with tempfile.TemporaryDirectory(prefix="phantoms-bench-") as scratch:
            answer = sparked.fingerprint(form, Path(scratch) / form, lambda _: None)
    found = {
        "seconds": seconds,
        "phases": phases(stages, seconds),
        "stages": stages,
        "spark": spark.version,
        "answer": answer,
        "shared": sparked.acted.get(form),
    }
    spark.stop()
    return found


def phases(stages: Sequence[tuple[float, float, int]], seconds: float) -> dict[str, float]:
    """How long a run waited for its first stage, how long any stage ran, and the rest.

    Parameters
    ----------
    stages : sequence of (float, float, int)
        Begin and end of each since the run began, and its tasks.
    seconds : float
        Of the whole run.
    """
    before = min((a for a, _, _ in stages), default=seconds)
    ran, until = 0.0, 0.0
    for a, b, _ in sorted(stages):
        ran += max(0.0, b - max(a, until))
        until = max(until, b)
    return {"before": before, "stages": ran, "between": seconds - before - ran}


def _stages(spark: SparkSession) -> list[tuple[float, float, int]]:
    """Begin, end (seconds since 1970) and tasks of all stages that have ended, in the order of their numbers."""
    context = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    jvm = spark._jvm
    assert jvm is not None  # a classic session
    gateway = context._gateway
    assert gateway is not None
    none = gateway.new_array(jvm.double, 0)
    found = (
        context._jsc.sc()
        .statusStore()
        .stageList(jvm.java.util.ArrayList(), False, False, none, jvm.java.util.ArrayList())
    )
    stages = [found.apply(i) for i in range(found.size())]
    ran = [s for s in stages if s.submissionTime().isDefined() and s.completionTime().isDefined()]
    return [
        (s.submissionTime().get().getTime() / 1000, s.completionTime().get().getTime() / 1000, s.numTasks())
        for s in sorted(ran, key=lambda s: (s.stageId(), s.attemptId()))
    ]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(run(json.loads(sys.argv[1]))))
