"""Puts the plugin's jar into the Python package: hatchling's build hook, and ``python python/build_jar.py``.

The jar is built with ``build/sbt`` when it is absent or older than any of its sources.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script where hatchling is not installed
    BuildHookInterface = object  # type: ignore[assignment, misc]

PATTERN = re.compile(r"spark-phantoms_(\d+)[.-](\d+)_2\.13-(.+)\.jar")


def _sources(root: Path) -> Iterator[Path]:
    yield from (root / name for name in ("build.sbt", "LICENSE", "NOTICE"))
    yield root / "python/phantoms/_version.py"
    yield from (root / "project").glob("*.*")
    for module in ("core", "plugin"):
        yield from (p for p in (root / "scala-plugin" / module / "src/main").rglob("*") if p.is_file())


def _built(root: Path, version: str) -> Path | None:
    """The newest jar of this version that sbt left behind."""
    jars = [
        p
        for p in (root / "scala-plugin/plugin/target/scala-2.13").glob("spark-phantoms_*.jar")
        if (m := PATTERN.fullmatch(p.name)) is not None and m[3] == version
    ]
    return max(jars, key=lambda p: p.stat().st_mtime, default=None)


def provide(root: Path) -> Path:
    """Build the jar if need be, copy it into ``phantoms/jars`` and return the copy."""
    version = re.search(r'__version__ = "([^"]+)"', (root / "python/phantoms/_version.py").read_text())
    if version is None:
        raise RuntimeError("python/phantoms/_version.py has no __version__")
    newest = max(p.stat().st_mtime for p in _sources(root) if p.is_file())
    jar = _built(root, version[1])
    if jar is None or jar.stat().st_mtime < newest:
        subprocess.run([str(root / "build/sbt"), "plugin/package"], cwd=root, check=True)
        jar = _built(root, version[1])
        if jar is None:
            raise RuntimeError("build/sbt plugin/package made no jar in scala-plugin/plugin/target/scala-2.13")
        jar.touch()  # sbt leaves a jar alone whose content would be the same
    name = PATTERN.fullmatch(jar.name)
    assert name is not None
    target = root / "python/phantoms/jars" / f"spark-phantoms_{name[1]}.{name[2]}_2.13-{name[3]}.jar"
    target.parent.mkdir(exist_ok=True)
    for stale in target.parent.glob(f"spark-phantoms_{name[1]}.{name[2]}_*.jar"):
        stale.unlink()
    shutil.copyfile(jar, target)
    return target


class JarBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the jar to the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before a wheel (or editable wheel) is made; an sdist carries the sources instead."""
        if self.target_name == "wheel":
            provide(Path(self.root))


if __name__ == "__main__":
    print(provide(Path(__file__).resolve().parent.parent))
    sys.exit(0)
