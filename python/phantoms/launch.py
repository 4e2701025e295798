"""What Spark would start a session's JVM with besides the builder: command line in the environment, defaults file.

Spark's own order: a conf of the builder, then ``PYSPARK_SUBMIT_ARGS``, then the properties file.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"
GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"

# The options of spark-submit that take no value; all others take the next word, or what follows their "=".
_SWITCHES = {"--help", "-h", "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v", "--version"}
_SHORT = {"-c": "--conf"}
_CONF_OF = {"--jars": "spark.jars", "--packages": "spark.jars.packages"}


@dataclass(frozen=True)
class SubmitArgs:
    """The words of ``PYSPARK_SUBMIT_ARGS``, read as spark-submit reads them.

    Attributes
    ----------
    words : tuple of str
        All of them.
    options : int
        How many of them, from the start, are options; the application and its arguments follow.
    values : dict
        The last value of each option, ``--conf`` aside.
    confs : dict
        The last value of each conf.
    switches : frozenset of str
        The options without a value.
    extra_files : tuple of str
        Properties files that win over the one named or found.
    """

    words: tuple[str, ...]
    options: int
    values: Mapping[str, str] = field(default_factory=dict)
    confs: Mapping[str, str] = field(default_factory=dict)
    switches: frozenset[str] = frozenset()
    extra_files: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> SubmitArgs:
        """Read a command line without its ``spark-submit``."""
        words = tuple(shlex.split(text))
        values: dict[str, str] = {}
        confs: dict[str, str] = {}
        switches: set[str] = set()
        extra_files: list[str] = []
        at = 0
        while at < len(words) and words[at].startswith("-"):
            name, equals, value = words[at].partition("=")
            name = _SHORT.get(name, name)
            at += 1
            if not equals:
                if name in _SWITCHES:
                    switches.add(name)
                    continue
                if at == len(words):
                    break
                value = words[at]
                at += 1
            if name == "--conf":
                key, _, conf = value.partition("=")
                confs[key] = conf
            elif name == "--extra-properties-file":
                extra_files.append(value)
            else:
                values[name] = value
        return cls(words, at, values, confs, frozenset(switches), tuple(extra_files))

    @classmethod
    def of_environment(cls) -> SubmitArgs:
        """Those PySpark would start a JVM with."""
        return cls.parse(os.environ.get(SUBMIT_ARGS, "pyspark-shell"))

    def get(self, key: str) -> str | None:
        """A conf as given by its option, or by ``--conf``."""
        option = next((o for o, conf in _CONF_OF.items() if conf == key and o in self.values), None)
        return self.values[option] if option else self.confs.get(key)

    def with_option(self, name: str, value: str) -> str:
        """The same command line with one option more, which wins over an earlier one of its name."""
        return shlex.join([*self.words[: self.options], name, value, *self.words[self.options :]])


@dataclass(frozen=True)
class Launch:
    """The confs a JVM would be started with, if the builder had none."""

    arguments: SubmitArgs
    defaults: Mapping[str, str]

    @classmethod
    def of_environment(cls) -> Launch:
        """Read the environment and the properties file it leads to."""
        arguments = SubmitArgs.of_environment()
        return cls(arguments, _defaults(arguments))

    def get(self, key: str) -> str | None:
        """A conf, or None."""
        given = self.arguments.get(key)
        return self.defaults.get(key) if given is None else given


def _defaults(arguments: SubmitArgs) -> dict[str, str]:
    named = arguments.values.get("--properties-file")
    found: dict[str, str] = {}
    if named is None or "--load-spark-defaults" in arguments.switches:
        found |= _read(_defaults_file())
    for file in ([named] if named else []) + list(arguments.extra_files):
        found |= _read(Path(file))
    return found


def _defaults_file() -> Path:
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or str(Path(_find_spark_home()) / "conf")
    return Path(folder) / "spark-defaults.conf"


def _read(path: Path) -> dict[str, str]:
    """The ``spark.*`` confs of a properties file; a file that cannot be read has none, and spark-submit will say so."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    return {k: v.strip() for k, v in parse_properties(text).items() if k.startswith("spark.")}


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ENTRY = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Read a Java properties file: ``key value``, ``key=value`` or ``key: value`` a line, escapes, lines continued."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        entry = line.lstrip(" \t\f")
        if not entry or entry[0] in "#!":
            continue
        while _continues(entry):
            entry = entry[:-1] + next(lines, "").lstrip(" \t\f")
        match = _ENTRY.fullmatch(entry)
        if match is not None:
            found[_unescaped(match[1])] = _unescaped(match[2])
    return found


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _CONTROL.get(m[2], m[2]), text)
