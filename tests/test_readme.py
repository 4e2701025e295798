"""The README's first steps, as they are printed there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from conftest import ROOT, environment

README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    found = [b for b in re.findall(rf"^```{language}\n(.*?)^```$", README, re.S | re.M) if containing in b]
    assert len(found) == 1
    return found[0]


def run(command: list[str], cwd: Path) -> str:
    # The README says two cores.
    env = environment() | {"PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shape(text: str) -> list[str]:
    """Lines without numbers, which a machine or a version may change, and without the widths of columns."""
    return [" ".join(re.sub(r"-?\d[\d,.]*( m?s\b)?", "#", line).split()) for line in text.strip().splitlines()]


def test_snippet_prints_what_is_printed_below_it(tmp_path: Path) -> None:
    words = shlex.split(block("", "phantoms data"), comments=True)
    assert words[0] == "phantoms"
    run([sys.executable, "-m", "phantoms.cli.main", *words[1:]], tmp_path)
    script = tmp_path / "snippet.py"
    script.write_text(block("python", "phantoms.configure"))
    printed = run([sys.executable, str(script)], tmp_path)
    assert shape(printed) == shape(block("text", "decided with"))
    assert list((tmp_path / "reports").glob("*.parquet"))
