"""Jars and extensions that are configured somewhere else than in the builder, and stay."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

import phantoms
from phantoms import session as sessions
from phantoms.launch import SUBMIT_ARGS, SubmitArgs, parse_properties
from test_configure import Builder, jars, no_session

__all__ = ["jars", "no_session"]


@pytest.fixture
def jar(jars: Path) -> str:
    path = jars / f"spark-phantoms_{sessions.spark_minor()}_2.13-0.1.0.jar"
    path.touch()
    return str(path)


@pytest.fixture
def defaults(no_session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "conf"
    folder.mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(folder))
    return folder / "spark-defaults.conf"


def submitted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUBMIT_ARGS, text)


def configured(**options: str) -> tuple[str | None, str]:
    built = phantoms.configure(Builder(**options))._options
    return built.get("spark.jars"), built["spark.sql.extensions"]


def test_of_the_defaults_file(jar: str, defaults: Path) -> None:
    defaults.write_text("spark.jars  a.jar, b.jar\nspark.sql.extensions=com.A\n")
    assert configured() == (f"a.jar,b.jar,{jar}", f"com.A,{sessions.EXTENSION}")
    assert SUBMIT_ARGS not in os.environ


def test_a_builder_wins_over_the_defaults_file_as_it_does_in_spark(jar: str, defaults: Path) -> None:
    defaults.write_text("spark.jars a.jar\nspark.sql.extensions com.A\n")
    built = configured(**{"spark.jars": "mine.jar", "spark.sql.extensions": "com.Mine"})
    assert built == (f"mine.jar,{jar}", f"com.Mine,{sessions.EXTENSION}")


def test_of_the_command_line(jar: str, defaults: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults.write_text("spark.jars a.jar\nspark.sql.extensions com.A\n")
    submitted("--jars b.jar -c spark.sql.extensions=com.B --name 'my job' pyspark-shell", monkeypatch)
    assert configured() == (f"b.jar,{jar}", f"com.B,{sessions.EXTENSION}")
    # spark-submit takes --jars before the confs of the builder.
    first = os.environ[SUBMIT_ARGS]
    assert SubmitArgs.parse(first).get("spark.jars") == f"b.jar,{jar}"
    assert shlex.split(first)[-1] == "pyspark-shell"
    assert "my job" in shlex.split(first)
    assert configured() == (f"b.jar,{jar}", f"com.B,{sessions.EXTENSION}")
    assert os.environ[SUBMIT_ARGS] == first


def test_of_the_command_line_and_of_the_builder(jar: str, defaults: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submitted("--conf spark.jars=b.jar --conf=spark.sql.extensions=com.B pyspark-shell", monkeypatch)
    built = configured(**{"spark.jars": "mine.jar", "spark.sql.extensions": "com.Mine"})
    assert built == (f"b.jar,mine.jar,{jar}", f"com.Mine,{sessions.EXTENSION}")
    assert SubmitArgs.of_environment().get("spark.jars") == f"b.jar,mine.jar,{jar}"


@pytest.mark.parametrize("where", ["builder", "command line", "defaults"])
def test_jars_of_packages_are_not_hidden(where: str, jar: str, defaults: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults.write_text("spark.jars.packages g:a:1\n" if where == "defaults" else "")
    if where == "command line":
        submitted("--packages g:a:1 pyspark-shell", monkeypatch)
    # A conf of the builder would replace what spark-submit made of the packages: only the command line adds to it.
    assert configured(**({"spark.jars.packages": "g:a:1"} if where == "builder" else {}))[0] is None
    assert SubmitArgs.of_environment().get("spark.jars") == jar


def test_of_a_properties_file(jar: str, defaults: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults.write_text("spark.jars a.jar\nspark.sql.extensions com.A\n")
    mine, more = tmp_path / "mine.conf", tmp_path / "more.conf"
    mine.write_text("spark.sql.extensions com.B\nspark.app.name x\n")
    more.write_text("spark.sql.extensions com.C\n")
    submitted(f"--properties-file {mine} pyspark-shell", monkeypatch)
    assert configured() == (jar, f"com.B,{sessions.EXTENSION}")
    submitted(f"--load-spark-defaults --properties-file {mine} pyspark-shell", monkeypatch)
    assert configured() == (f"a.jar,{jar}", f"com.B,{sessions.EXTENSION}")
    submitted(f"--properties-file {mine} --extra-properties-file {more} pyspark-shell", monkeypatch)
    assert configured() == (jar, f"com.C,{sessions.EXTENSION}")
    submitted("--properties-file /nonexistent/x.conf pyspark-shell", monkeypatch)
    assert configured() == (jar, sessions.EXTENSION)


def test_another_copy_of_the_jar_is_enough(jar: str, defaults: Path) -> None:
    defaults.write_text("spark.jars /opt/spark-phantoms_4.2_2.13-0.1.0.jar\n")
    assert configured()[0] == "/opt/spark-phantoms_4.2_2.13-0.1.0.jar"


@pytest.mark.parametrize(
    ("text", "options", "confs"),
    [
        ("pyspark-shell --jars a.jar", {}, {}),
        ("--verbose --jars a.jar --jars b.jar x.py", {"--jars": "b.jar"}, {}),
        ("--master local[2] -c a=b=c --conf 'd=e f' x.py", {"--master": "local[2]"}, {"a": "b=c", "d": "e f"}),
        ("--jars=a.jar --conf", {"--jars": "a.jar"}, {}),
        ("", {}, {}),
    ],
)
def test_words_of_a_command_line(text: str, options: dict[str, str], confs: dict[str, str]) -> None:
    read = SubmitArgs.parse(text)
    assert (read.values, read.confs) == (options, confs)


def test_properties_as_java_reads_them() -> None:
    text = (
        "# comment = no\n! neither: this\n\n  a  1\nb=2\nc : 3 \nd\\ e=4\\u0041\\t\n"
        "f=one,\\\n   two\ng\nh=a\\\\\ni=x=y\n"
    )
    assert parse_properties(text) == {
        "a": "1", "b": "2", "c": "3 ", "d e": "4A\t", "f": "one,two", "g": "", "h": "a\\", "i": "x=y",
    }  # fmt: skip
