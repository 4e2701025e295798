from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import phantoms
from conftest import environment, notation
from phantoms.errors import PhantomsError
from phantoms.tree import of

QUERIES = [["A", "B"], ["B", "C"], ["B", "D"], ["C", "D"]]
STATS = {
    "rows": 1_000_000,
    "groups": {"A,B": 1846, "B,C": 1520, "B,D": 1800, "C,D": 1610, "A,B,C,D": 2837, "B,C,D": 2117},
}


@pytest.mark.usefixtures("spark")
def test_the_papers_example() -> None:
    plan = phantoms.plan(QUERIES, STATS, memory=4 << 20)
    assert plan.cost < plan.cost_without
    trees = of(plan.tables)
    assert notation(trees) == plan.configuration
    labels = {r.label for root in trees for r in root.walk()}
    assert {"AB", "BC", "BD", "CD"} < labels  # the queries and at least one phantom
    assert len(plan.tables) == len(labels)
    assert plan.to_dict()["configuration"] == plan.configuration
    assert plan.configuration in str(plan)


@pytest.mark.usefixtures("spark")
def test_queries_as_mappings_and_no_sharing() -> None:
    plan = phantoms.plan([{"keys": ["A"]}, {"keys": ["B"]}], {"rows": 1000}, chooser="none")
    assert plan.configuration == ""
    assert plan.cost == plan.cost_without
    assert str(plan).startswith("no sharing")


@pytest.mark.usefixtures("spark")
def test_whatever_holds_the_arguments() -> None:
    """Any iterable, any mapping, numpy's numbers: the question is the same."""
    held = MappingProxyType({"rows": np.int64(STATS["rows"]), "groups": MappingProxyType(STATS["groups"])})
    plan = phantoms.plan((tuple(q) for q in QUERIES), held, memory=np.int32(4 << 20))  # type: ignore[arg-type]
    assert plan == phantoms.plan(QUERIES, STATS, memory=4 << 20)


@pytest.mark.usefixtures("spark")
def test_windows_and_predicates() -> None:
    minutes = {"range": 60, "slide": 10}
    queries = [
        {"keys": ["A"], "window": minutes},
        {"keys": ["A", "B"], "window": minutes},
        {"keys": ["B"], "predicate": "web"},
    ]
    stats = {"rows": 10**8, "groups": {"A": 50, "B": 60, "A,B": 1000}, "span": 3600, "signatures": {"web": 0.25}}
    plan = phantoms.plan(queries, stats)
    assert sorted(q for part in plan.parts for q in part["queries"]) == [0, 1, 2]
    assert plan.cost == pytest.approx(sum(part["cost"] for part in plan.parts))
    assert plan.cost < plan.cost_without
    assert plan.runner_up
    assert plan.margin is not None
    assert plan.margin > 0
    with pytest.raises(PhantomsError, match=r"stats\.span"):
        phantoms.plan(queries, {**stats, "span": None})


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("queries", "stats", "chooser", "named"),
    [
        (["AB"], {"rows": 1}, "auto", "queries[0]"),
        ("AB", {"rows": 1}, "auto", "queries"),
        ([["A", 7]], {"rows": 1}, "auto", "queries[0][1]"),
        ([3], {"rows": 1}, "auto", "queries[0]"),
        ([[b"A"]], {"rows": 1}, "auto", "b'A'"),
        ([], {"rows": 1}, "auto", "queries"),
        (QUERIES, {}, "auto", "rows"),
        (QUERIES, {"rows": 10, "groups": {"A,X": 3}}, "auto", "X"),
        (QUERIES, {"rows": -1}, "auto", "rows"),
        (QUERIES, {"rows": float("nan")}, "auto", "JSON"),
        (QUERIES, {"rows": 10, "groups": {("A", "B"): 3}}, "auto", "tuple"),
        (QUERIES, [], "auto", "stats"),
        (QUERIES, None, "auto", "stats"),
        (QUERIES, {"rows": 10}, 7, "chooser"),
        (QUERIES, {"rows": 10}, "magic", "magic"),
    ],
)
def test_bad_input_is_named(queries: Any, stats: Any, chooser: str, named: str) -> None:
    with pytest.raises(PhantomsError) as e:
        phantoms.plan(queries, stats, chooser=chooser)
    assert e.value.error_class == "BAD_PLAN"
    assert named in str(e.value)
    assert "\n\tat " not in str(e.value)


def test_without_a_session(python: Callable[..., Any], tmp_path: Path) -> None:
    """The command starts a JVM of its own."""
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"queries": QUERIES, "stats": STATS}))
    done = python("-m", "phantoms.cli.main", "plan", str(spec), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["configuration"]


BESIDE_CONNECT = """
from pyspark.sql import SparkSession
import phantoms
remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
SparkSession.getActiveSession = classmethod(lambda cls: remote)
print(phantoms.plan([["A", "B"], ["B", "C"]], {"rows": 1000000}).cost_without > 0)
"""


def test_beside_connect_and_whatever_a_session_would_be_started_with() -> None:
    """A Connect session has no JVM to ask, and arguments meant for sessions do not reach the chooser's own."""
    env = environment() | {"SPARK_REMOTE": "sc://localhost:1", "SPARK_CONNECT_MODE_ENABLED": "1"}
    env |= {"PYSPARK_SUBMIT_ARGS": "--jars other.jar pyspark-shell", "PYSPARK_GATEWAY_PORT": "1"}
    env |= {"PYSPARK_GATEWAY_SECRET": "none"}
    done = subprocess.run(
        [sys.executable, "-c", BESIDE_CONNECT], capture_output=True, text=True, env=env, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True"
