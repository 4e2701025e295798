"""What is in captures and flow exports, found out by a JVM of its own, without Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from phantoms.errors import PhantomsError
from phantoms.lfta_options import DEFAULT_PORTS
from phantoms.session import find_jar

MAIN = "io.phantoms.spark.source.LftaInfo"


def info(*paths: str | os.PathLike[str], ports: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Read files to their ends and tell what is in them.

    Parameters
    ----------
    *paths : str or path
        Captures and flow exports on this machine; plain, gzip or zstd. Of a directory the files in it.
    ports : sequence of int, optional
        UDP ports of collectors: datagrams to them in a capture are looked into; as the option's default if omitted.

    Returns
    -------
    list of dict
        For each file: ``file``, ``bytes``, ``compression``, ``kind`` (``capture``, ``export``, ``empty``, or None for
        a file that is none of these), ``format``, ``error``; ``packets`` of a capture with its ``interfaces``, and
        ``flows`` with their ``templates`` (None where there are none). Either has ``counters``, and ``problems``: what
        could not be decoded, how often, and where first.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` if there is no such file; ``MISSING_JAR`` or ``UNSUPPORTED_SPARK`` as for
        `phantoms.configure`; ``MISSING_JAVA`` if there is no ``java``.
    """
    arguments = [",".join(map(str, ports or DEFAULT_PORTS)), *(str(f) for p in paths for f in _files(Path(p)))]
    found: list[dict[str, Any]] = json.loads(run_main(arguments))["files"]
    return found


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        # Hidden as Spark has it.
        inside = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith((".", "_")))
        if not inside:
            raise PhantomsError("BAD_ARGUMENT", f"there is no file in {path}.", "Name a file.", {"file": str(path)})
        return inside
    if not path.exists():
        raise PhantomsError("BAD_ARGUMENT", f"there is no file {path}.", "Name a file.", {"file": str(path)})
    return [path]


def run_main(arguments: list[str]) -> str:
    """What the jar's own program prints."""
    # Small heaps are enough, and a collector that starts no threads.
    command = [_java(), "-XX:+UseSerialGC", "-Xshare:auto", "-cp", _class_path(), MAIN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise PhantomsError("INFO_FAILED", f"{MAIN} ended with: {said}.", "Report it, with the file if you can.")
    return done.stdout


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        where = f"in JAVA_HOME, {home}" if home else "on the PATH"
        raise PhantomsError("MISSING_JAVA", f"there is no java {where}.", "Install Java 17, and set JAVA_HOME.")
    return java


def _class_path() -> str:
    """The plugin's jar, and of Spark's the one that reads zstd."""
    spark = find_spec("pyspark")
    jars = Path(spark.origin).parent / "jars" if spark is not None and spark.origin is not None else None
    zstd = sorted(jars.glob("zstd-jni-*.jar")) if jars is not None else []
    return os.pathsep.join(map(str, [find_jar(), *zstd[:1]]))
