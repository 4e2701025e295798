"""The chooser alone, for what-if questions: which configuration it would take for given queries and statistics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phantoms import _jvm, extras
from phantoms.errors import PhantomsError
from phantoms.launch import GATEWAY_PORT, SUBMIT_ARGS
from phantoms.session import find_jar, spark_minor

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """What the chooser answered.

    Attributes
    ----------
    configuration : str
        The relations to maintain, as ``ABCD(AB BCD(BC BD CD))``; empty if sharing nothing is best.
    cost, cost_without : float
        Expected elapsed time with and without sharing, in nanoseconds.
    tables : tuple of dict
        The relations with their table sizes.
    parts : tuple of dict
        Queries that share slices of time and fragments of rows, each with a configuration of its own; one for queries
        without windows and predicates.
    runner_up : str
        The best answer that was not taken; empty if there is none.
    margin : float or None
        By which fraction of its own cost the choice is ahead of that.
    """

    configuration: str
    cost: float
    cost_without: float
    tables: tuple[Mapping[str, Any], ...]
    parts: tuple[Mapping[str, Any], ...] = ()
    runner_up: str = ""
    margin: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything the chooser said."""
        return dict(self.details)

    def __str__(self) -> str:
        """The configuration and the expected costs."""
        what = self.configuration or "no sharing"
        return f"{what}: {self.cost / 1e6:.1f} ms, {self.cost_without / 1e6:.1f} ms without sharing"


def plan(
    queries: Sequence[Sequence[str] | Mapping[str, Any]],
    stats: Mapping[str, Any],
    *,
    chooser: str = "auto",
    memory: int | None = None,
) -> Plan:
    """Choose a configuration without running anything.

    Uses the JVM of the active session, or starts one that has only the plugin's jar.

    Parameters
    ----------
    queries : sequence
        Each a list of grouping columns, or a mapping with ``keys`` and optionally ``window`` (``{"range": r, "slide":
        s, "start": 0}``, in ticks) and ``predicate`` (its name).
    stats : mapping
        ``{"rows": n, "groups": {"A,B": n, ...}, "flow_length": x}``; with windows ``span``, the ticks that the rows
        cover; with predicates ``signatures``, ``{"p": share, "p,q": share}``: the shares of the rows that satisfy just
        these.
    chooser : str
        ``auto``, ``none`` or the name of an algorithm.
    memory : int, optional
        Bytes for the tables of one map task (SMAP's M).

    Returns
    -------
    Plan
        The configuration, its cost and its tables.

    Raises
    ------
    PhantomsError
        ``BAD_PLAN`` if the chooser refuses the input; ``MISSING_JAR`` or ``UNSUPPORTED_SPARK`` if no JVM with the
        plugin can be had.
    """
    spec: dict[str, Any] = {
        "queries": queries,
        "stats": stats,
        "chooser": chooser,
    }
    if memory is not None:
        spec["memory"] = memory
    return plan_spec(spec)


def plan_spec(spec: Mapping[str, Any]) -> Plan:
    """Choose a configuration for a specification as ``phantoms plan SPEC.json`` reads it (the arguments of `plan`)."""
    spark_minor()  # says so if pyspark is not there
    extras.require("spark", "py4j")
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        answer = _jvm.ask(_api(), None, None, "plan", spec)
    except (Py4JJavaError, PySparkException, _jvm.NotJsonError) as e:
        raise PhantomsError(
            "BAD_PLAN", f"{_jvm.java_error(e)}.".replace("..", "."), "Correct the queries or the statistics."
        ) from e
    return Plan(
        configuration=str(answer.get("configuration") or ""),
        cost=float(answer["cost"]),
        cost_without=float(answer["cost_without"]),
        tables=tuple(answer.get("tables", ())),
        parts=tuple(answer.get("parts", ())),
        runner_up=str((answer.get("runner_up") or {}).get("description", "")),
        margin=answer.get("margin"),
        details=answer,
    )


_gateway: Any = None

CONNECT = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE")
"""What the environment says of Spark Connect."""


def _api() -> Any:
    """The API in the active session's JVM if the plugin is there, or else in a JVM of its own."""
    global _gateway
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    # A Spark Connect session has no JVM on this side.
    if running is not None and not _jvm.is_connect(running):
        found = _jvm.find_api(running)
        if found is not None:
            return found
    if _gateway is None:
        _gateway = _launch(find_jar())
    api = _jvm.resolve(_gateway.jvm, _jvm.API)
    if api is None:
        raise PhantomsError(
            "MISSING_JAR",
            f"the jar has no {_jvm.API}.",
            "Rebuild it: make jar.",
            {"jar": str(find_jar())},
        )
    return api


def _launch(jar: Path) -> Any:
    """A JVM with the jar that no SparkContext knows of: a session started later has one, and confs, of its own."""
    from pyspark.conf import SparkConf
    from pyspark.java_gateway import launch_gateway

    # The environment's arguments are for sessions, a port in it would lead to the JVM of spark-submit, and spark-submit
    # takes the address of a Connect server for its own.
    kept = {name: os.environ.pop(name) for name in (GATEWAY_PORT, SUBMIT_ARGS, *CONNECT) if name in os.environ}
    try:
        conf = SparkConf(loadDefaults=False).set("spark.jars", str(jar)).set("spark.ui.enabled", "false")
        return launch_gateway(conf=conf)  # type: ignore[no-untyped-call]
    finally:
        os.environ.update(kept)
