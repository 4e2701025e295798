"""docs/lfta.md: its tables are those of the jar, and what it shows is what is printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import environment
from lfta_docs import COLUMNS, PAGE, as_json, columns, page

TEXT = PAGE.read_text(encoding="utf-8")


def test_columns_and_tables_are_those_of_the_jar(jar: Path) -> None:
    found = columns()
    assert COLUMNS.read_text(encoding="utf-8") == as_json(found), "make docs-lfta writes them anew"
    assert page(TEXT, found) == TEXT, "make docs-lfta writes them anew"


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="0 places for the table of packets"):
        page("", {"packets": []})


def after(marker: str, language: str) -> str:
    """The first block of a language from a marker on."""
    match = re.search(rf"^```{language}\n(.*?)^```$", TEXT[TEXT.index(f"\n{marker}") :], re.S | re.M)
    assert match is not None
    return match[1]


def line(beginning: str) -> str:
    """The first line that begins so."""
    return next(one for one in TEXT.splitlines() if one.startswith(beginning))


def run(command: list[str], cwd: Path) -> str:
    env = environment() | {"PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell",
                           "TZ": "UTC"}  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def command(words: str, cwd: Path) -> str:
    name, *rest = shlex.split(words, comments=True)
    assert name == "phantoms"
    return run([sys.executable, "-m", "phantoms.cli.main", *rest], cwd)


def test_what_the_page_shows_is_what_is_printed(tmp_path: Path, jar: Path) -> None:
    command(line("phantoms data "), tmp_path)
    script = tmp_path / "snippet.py"
    script.write_text(after("phantoms data ", "python"))
    assert run([sys.executable, str(script)], tmp_path).strip() == after("phantoms data ", "text").strip()
    assert command(line("phantoms lfta info "), tmp_path).strip() == after("phantoms lfta info ", "text").strip()
