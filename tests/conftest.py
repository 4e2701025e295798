"""Fixtures: the plugin's jar, one session with the plugin, and scripts run in processes of their own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import phantoms
from phantoms.cli.main import main
from phantoms.lab.data import ensure
from phantoms.session import find_jar
from phantoms.tree import Relation

ROOT = Path(__file__).resolve().parent.parent
LOCAL = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    # Small inputs never pay: what is tested here is that sharing is right, so the cost model has to let it pass.
    "spark.phantoms.minSavings": "-1",
    "spark.phantoms.strict": "true",
}

# JVMs of tests live for seconds, in which the optimizing compiler and the parallel collector cost more than they gain.
# Taken up by whatever starts a driver: the session of this process as well as processes of their own.
# An archive of classes that is missing, or of another Spark, is passed over.
ARCHIVE = Path(sys.prefix) / "classes.jsa"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile={ARCHIVE}")

Run = subprocess.CompletedProcess[str]


def _turn() -> int:
    """Other tests have their turn with every commit, as in the Scala suites."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(head.stdout[:7], 16) if head.returncode == 0 else 0


def pytest_report_header() -> str:
    return f"turn: {_turn()}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a file's tests marked ``in_turn`` every other one runs, with the next commit those between."""
    # All run in `make test-long`, and those that are named.
    named = any("::" in arg for arg in config.args)
    if os.environ.get("PHANTOMS_LONG") or named:
        return
    turn, seen, left = _turn(), dict[Path, int](), list[pytest.Item]()
    for item in items:
        if item.get_closest_marker("in_turn"):
            seen[item.path] = seen.get(item.path, 0) + 1
            if (seen[item.path] + turn) % 2:
                left.append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = [i for i in items if i not in left]


def notation(relations: Iterable[Relation]) -> str:
    """Trees as the JVM writes configurations."""

    def write(r: Relation) -> str:
        return r.label + (f"({notation(r.children)})" if r.children else "")

    return " ".join(map(write, sorted(relations, key=lambda r: r.label)))


@pytest.fixture(scope="session")
def jar() -> Path:
    return find_jar()


@pytest.fixture(scope="session")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure("flows", 20_000, root=tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def packets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure("packets", 50_000, root=tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    builder = SparkSession.builder.appName("tests")
    for key, value in LOCAL.items():
        builder = builder.config(key, value)
    spark = phantoms.configure(builder).getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture
def spark(session: SparkSession, flows: Path, packets: Path) -> Iterator[SparkSession]:
    """The session, with its data sets as views and its confs put back after the test."""
    session.read.parquet(str(flows)).createOrReplaceTempView("flows")
    session.read.parquet(str(packets)).createOrReplaceTempView("packets")
    yield session
    phantoms.stats.clear(spark=session)
    for key in [k for k in session.conf.getAll if k.startswith("spark.phantoms.")]:
        if key not in LOCAL:
            session.conf.unset(key)
    for key, value in LOCAL.items():
        if key.startswith("spark.phantoms."):
            session.conf.set(key, value)


@pytest.fixture
def here(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[list[str]], int]:
    """Runs a benchmark's command in the tests' session, where a session of its own is not the point."""

    def opened(_: str, plugin: bool, extra: dict[str, str] | None = None) -> SparkSession:
        for key, value in (extra or {}).items():
            spark.conf.set(key, value)
        return spark

    for name in ("run", "sweep"):
        module = importlib.import_module(f"phantoms.lab.benchmark.{name}")
        monkeypatch.setattr(module, "open_session", opened)
        monkeypatch.setattr(module, "settle", lambda _: None)
    monkeypatch.setattr(spark, "stop", lambda: None)
    # The JVM stays in the folder that it was started in.
    monkeypatch.setenv("PHANTOMS_DATA", str(tmp_path / "data"))
    return main


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}


@pytest.fixture(scope="session")
def submit(jar: Path) -> Callable[..., Run]:
    """Runs a script through spark-submit with nothing but the given confs."""

    def run(script: Path, *args: str, plugin: bool = True, conf: dict[str, str] | None = None) -> Run:
        confs = {k: v for k, v in LOCAL.items() if not k.startswith("spark.phantoms.")}
        if plugin:
            confs |= {"spark.jars": str(jar), "spark.sql.extensions": "io.phantoms.spark.PhantomsExtensions"}
        confs |= conf or {}
        flags = [flag for k, v in confs.items() for flag in ("--conf", f"{k}={v}")]
        return subprocess.run(
            [str(spark_submit()), *flags, str(script), *args],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=600,
            check=False,
        )

    return run


def spark_submit() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.fixture(scope="session")
def python() -> Callable[..., Run]:
    """Runs Python code, or a module with arguments, in a process of its own."""

    def run(*args: str, cwd: Path | None = None) -> Run:
        return subprocess.run(
            [sys.executable, *args],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=900,
            check=False,
            cwd=cwd,
        )

    return run
