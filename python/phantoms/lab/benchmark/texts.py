"""TPC-DS as Spark's own tests have it: texts read out of the jar of these tests, which sbt fetched for ours."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from phantoms.errors import PhantomsError

EDITIONS = {"tpcds": "", "tpcds-v2.7.0": "-v2.7"}
"""Folders of the jar, and what follows the names of their queries."""


def _caches() -> Iterator[Path]:
    """Where sbt, coursier and Maven keep what they fetched."""
    home = Path.home()
    if "COURSIER_CACHE" in os.environ:
        yield Path(os.environ["COURSIER_CACHE"])
    yield from (home / ".cache/coursier", home / "Library/Caches/Coursier", home / "AppData/Local/Coursier")
    yield from (home / ".ivy2", home / ".m2/repository")


def find_jar(version: str) -> Path:
    """The jar of the tests of Spark `version`, else of another patch of the same minor.

    Raises
    ------
    PhantomsError
        ``MISSING_PACKAGE`` if no cache has one.
    """
    minor = ".".join(version.split(".")[:2])
    found = [j for cache in _caches() if cache.is_dir() for j in cache.rglob(f"spark-sql_2.13-{minor}.*-tests.jar")]
    if not found:
        raise PhantomsError(
            "MISSING_PACKAGE",
            f"No cache has spark-sql_2.13-{minor}.x-tests.jar, which holds the texts of the queries.",
            "Run ./build/sbt plugin/update, which fetches it, or give --texts-jar JAR.",
        )
    return max(found, key=lambda j: (f"-{version}-" in j.name, j.name))


def from_jar(jar: Path) -> dict[str, str]:
    """All queries by name: ``q5`` of v1.4, its variants such as ``q14b``, and ``q5a-v2.7``.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for a file that has none.
    """
    found = {}
    if zipfile.is_zipfile(jar):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                folder, _, file = entry.rpartition("/")
                if folder in EDITIONS and file.endswith(".sql"):
                    found[file.removesuffix(".sql") + EDITIONS[folder]] = archive.read(entry).decode()
    if not found:
        raise PhantomsError("BAD_ARGUMENT", f"{jar} holds no queries of TPC-DS.", "Give the jar of spark-sql's tests.")
    return dict(sorted(found.items(), key=lambda q: (q[0].endswith("-v2.7"), _number(q[0]), q[0])))


def _number(name: str) -> int:
    match = re.match(r"\D*(\d+)", name)
    return int(match[1]) if match else 0


def uncut(sql: str) -> str:
    """A query without its limits: among rows that sort alike a limit may keep any."""
    return re.sub(r"\blimit\s+\d+\b", "LIMIT 2000000000", sql, flags=re.IGNORECASE)
