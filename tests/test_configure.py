from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import phantoms
from phantoms import session as sessions
from phantoms.errors import PhantomsError
from phantoms.launch import SUBMIT_ARGS


class Builder:
    """What `configure` uses of ``SparkSession.Builder``."""

    def __init__(self, **options: str) -> None:
        self._options = dict(options)

    def config(self, key: str, value: str) -> Builder:
        self._options[key] = value
        return self


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_running_session", lambda: None)
    monkeypatch.setattr(sessions, "_running_jvm", lambda: None)
    monkeypatch.setenv("SPARK_CONF_DIR", "/nonexistent")
    monkeypatch.setenv(SUBMIT_ARGS, "")  # so that what configure() makes of it is undone, too
    monkeypatch.delenv(SUBMIT_ARGS)


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sessions, "JARS", tmp_path)
    return tmp_path


def refused(call: Callable[[], Any]) -> PhantomsError:
    with pytest.raises(PhantomsError) as e:
        call()
    assert e.value.getErrorClass() == e.value.getCondition() == e.value.error_class
    assert f"[{e.value.error_class}]" in str(e.value)
    assert e.value.remedy
    return e.value


@pytest.mark.usefixtures("no_session")
def test_adds_to_what_the_user_set(jars: Path) -> None:
    minor = sessions.spark_minor()
    jar = jars / f"spark-phantoms_{minor}_2.13-0.1.0.jar"
    jar.touch()
    builder = Builder(**{"spark.jars": "mine.jar", "spark.sql.extensions": "com.example.Mine"})
    assert phantoms.configure(builder) is builder
    phantoms.configure(builder)
    assert builder._options["spark.jars"] == f"mine.jar,{jar}"
    assert builder._options["spark.sql.extensions"] == f"com.example.Mine,{sessions.EXTENSION}"


@pytest.mark.usefixtures("no_session")
def test_missing_jar(jars: Path) -> None:
    error = refused(lambda: phantoms.configure(Builder()))
    assert error.error_class == "MISSING_JAR"
    assert error.getMessageParameters() == {"directory": str(jars)}


@pytest.mark.usefixtures("no_session")
def test_spark_without_a_jar(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (jars / "spark-phantoms_4.2_2.13-0.1.0.jar").touch()
    monkeypatch.setattr("pyspark.__version__", "3.5.1")
    error = refused(lambda: phantoms.configure(Builder()))
    assert error.error_class == "UNSUPPORTED_SPARK"
    assert "3.5" in str(error)
    assert "4.2" in str(error)


def test_not_a_spark_version() -> None:
    assert refused(lambda: sessions.spark_minor("dev")).error_class == "UNSUPPORTED_SPARK"
    assert sessions.spark_minor("4.10.0.dev1") == "4.10"


def test_minors_in_numeric_order(jars: Path) -> None:
    for minor in ("4.10", "4.2", "3.5"):
        (jars / f"spark-phantoms_{minor}_2.13-0.1.0.jar").touch()
    assert sessions.built_minors() == ["3.5", "4.2", "4.10"]


@pytest.mark.usefixtures("no_session")
def test_connect_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    for option, value in (("spark.remote", "sc://localhost"), ("spark.api.mode", "connect")):
        error = refused(lambda o=option, v=value: phantoms.configure(Builder(**{o: v})))
        assert error.error_class == "CONNECT_UNSUPPORTED"
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    assert refused(lambda: phantoms.configure(Builder())).error_class == "CONNECT_UNSUPPORTED"


def test_connect_objects() -> None:
    from phantoms import _jvm

    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    assert refused(lambda: _jvm.require_classic(frame)).error_class == "CONNECT_UNSUPPORTED"
    assert refused(lambda: phantoms.explain(frame)).error_class == "CONNECT_UNSUPPORTED"
    assert refused(lambda: phantoms.is_active(frame)).error_class == "CONNECT_UNSUPPORTED"


def test_configured_session_is_active(spark: SparkSession) -> None:
    assert phantoms.is_active(spark)
    assert phantoms.configure(SparkSession.builder).getOrCreate() is not None


PLAIN_FIRST = """
import phantoms
from pyspark.sql import SparkSession
plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert not phantoms.is_active(plain)
for call in (
    lambda: phantoms.configure(SparkSession.builder),
    lambda: phantoms.enable(plain),
    lambda: phantoms.explain(plain.range(1)),
    lambda: phantoms.stats.set_rows("t", 1),
):
    try:
        call()
    except phantoms.PhantomsError as e:
        print("refused", e.error_class)
# The chooser answers without the plugin in the session.
print("plan", phantoms.plan([["A", "B"], ["B", "C"]], {"rows": 1000000}).cost_without > 0)
"""


def test_a_plain_session_came_first(python: Callable[..., Any]) -> None:
    done = python("-c", PLAIN_FIRST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:5] == ["refused NOT_ACTIVE"] * 4 + ["plan True"]
