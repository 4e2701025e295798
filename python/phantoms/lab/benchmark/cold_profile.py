"""Where the time of a job that runs once goes: one run of one form in a JVM of its own, under Java Flight Recorder.

Samples of running threads are counted by what their stacks say; starting the session is among them.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from phantoms.errors import PhantomsError
from phantoms.lab.benchmark.catalog import prepare
from phantoms.lab.benchmark.cold import process
from phantoms.lab.benchmark.session import driver_memory

PHASES: tuple[tuple[str, str], ...] = (
    ("loading classes", r"java\.lang\.ClassLoader\.|jdk\.internal\.loader\.|java\.lang\.invoke\.|BootstrapMethods"),
    ("compiling generated code", r"org\.codehaus\.(janino|commons)\."),
    ("plugin: statistics and sample", r"io\.phantoms\.spark\.stats\."),
    ("plugin: search", r"io\.phantoms\.spark\.(search|cost)\."),
    ("plugin: writing code", r"io\.phantoms\.spark\.run\.generated\."),
    ("tasks before the shuffle", r"org\.apache\.spark\.scheduler\.ShuffleMapTask\.runTask"),
    ("tasks after the shuffle", r"org\.apache\.spark\.scheduler\.ResultTask\.runTask"),
    ("plugin: other planning", r"io\.phantoms\.spark\."),
    ("parser and analysis", r"org\.apache\.spark\.sql\.catalyst\.(parser|analysis)\.|org\.antlr\."),
    ("optimizer", r"org\.apache\.spark\.sql\.catalyst\.optimizer\."),
    ("physical planning", r"org\.apache\.spark\.sql\.execution\."),
    ("tasks, outside of what they run", r"org\.apache\.spark\.executor\."),
)
"""Name and pattern, the first that a frame of the stack matches."""


def phase(stack: str) -> str:
    """The phase that a sample's stack, one frame a line, belongs to."""
    return next((name for name, pattern in PHASES if re.search(pattern, stack)), "all else")


def count(samples: Iterable[str]) -> dict[str, float]:
    """The part of the samples that each phase has, the largest first."""
    counted = Counter(phase(s) for s in samples)
    return {name: round(n / counted.total(), 3) for name, n in counted.most_common()}


def samples(text: str) -> list[str]:
    """The stacks in what ``jfr print --events jdk.ExecutionSample`` writes."""
    return [part.split("stackTrace = [", 1)[-1] for part in text.split("jdk.ExecutionSample {")[1:]]


def profile(name: str, form: str, rows: int | None, recording: Path) -> dict[str, float]:
    """Run a form under the recorder.

    Returns
    -------
    dict
        The part of the samples of all threads that each phase has.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for an unknown name or form; ``MISSING_JAVA`` without the JDK's ``jfr``; ``COLD_RUN_FAILED``.
    """
    jfr = shutil.which("jfr")
    if jfr is None:
        raise PhantomsError("MISSING_JAVA", "there is no jfr on the PATH.", "Add the bin folder of a JDK to it.")
    path = prepare(name, rows, 1, [form], None, print).path
    # Stacks of planning are deep, and what they began with tells what they are for.
    recorder = f"-XX:StartFlightRecording=settings=profile,dumponexit=true,filename={recording}"
    options = f"-Xms{driver_memory()} -XX:FlightRecorderOptions=stackdepth=512 {recorder}"
    conf = {"spark.driver.extraJavaOptions": options}
    found = process({"name": name, "form": form, "path": str(path), "conf": conf, "answer": False})
    print(f"{name} {form}: {found['seconds']:.2f} s under the recorder")
    for what, seconds in found["phases"].items():
        print(f"  {what:<35} {seconds:7.2f} s")
    command = [jfr, "print", "--events", "jdk.ExecutionSample", "--stack-depth", "512", str(recording)]
    return count(samples(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the parts of the samples by phase."""
    parser = argparse.ArgumentParser(prog="python -m phantoms.lab.benchmark.cold_profile", description=__doc__)
    parser.add_argument("name", nargs="?", default="nfc22")
    parser.add_argument("form", nargs="?", default="plugin_union")
    parser.add_argument("--rows", type=int, help="rows of the input")
    parser.add_argument("--json", type=Path, help="where the parts go")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="phantoms-profile-") as folder:
        parts = profile(options.name, options.form, options.rows, Path(folder) / "cold.jfr")
    print("  of the samples of running threads:")
    for what, part in parts.items():
        print(f"  {what:<35} {part:7.1%}")
    if options.json is not None:
        options.json.write_text(json.dumps(parts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
