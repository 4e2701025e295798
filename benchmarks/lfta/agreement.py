"""What was compared with which tool, and whether it was equal."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Agreement:
    """One comparison.

    Attributes
    ----------
    tool : str
        The tool, and what it did.
    what : str
        What was compared.
    compared : int
        How many rows, or values.
    differing : int or None
        How many of them were not equal; None if the comparison was left out.
    note : str
        Why it was left out, or the first differences.
    """

    tool: str
    what: str
    compared: int
    differing: int | None
    note: str = ""


@dataclass
class Findings:
    """All comparisons so far; each is printed as it is made."""

    all: list[Agreement] = field(default_factory=list)

    def add(self, found: Agreement) -> None:
        """Note a comparison, and print it."""
        self.all.append(found)
        verdict = "skipped" if found.differing is None else "equal" if found.differing == 0 else "DIFFERENT"
        print(f"{verdict:9}  {found.compared:>8,}  {found.tool}: {found.what}", flush=True)
        if found.note and found.differing != 0:
            print(f"           {found.note}", flush=True)

    def equal(self, tool: str, what: str, left: Iterable[Hashable], right: Iterable[Hashable]) -> None:
        """Compare two multisets of rows."""
        ours, theirs = Counter(left), Counter(right)
        more, fewer = ours - theirs, theirs - ours
        differing = max(more.total(), fewer.total())
        note = "" if differing == 0 else f"only here: {list(more)[:2]}; only there: {list(fewer)[:2]}"
        if not theirs:
            differing, note = 1, f"{tool} printed nothing"
        self.add(Agreement(tool, what, theirs.total(), differing, note))

    def skip(self, tool: str, what: str, why: str) -> None:
        """Note that a comparison was left out."""
        self.add(Agreement(tool, what, 0, None, why))

    @property
    def ok(self) -> bool:
        """Whether all that was compared was equal."""
        return not any(a.differing for a in self.all)

    def to_list(self) -> list[dict[str, Any]]:
        """All comparisons, for JSON."""
        return [asdict(a) for a in self.all]


def versions() -> dict[str, str]:
    """The versions of the tools that are installed, as they tell them."""
    found = {}
    for program, flag in (("tshark", "--version"), ("softflowd", "-h"), ("nfdump", "-V"), ("pmacctd", "-V"),
                          ("tcpreplay", "-V")):  # fmt: skip
        if shutil.which(program) is not None:
            said = subprocess.run([program, flag], capture_output=True, text=True, check=False)
            number = re.search(r"\d+\.\d+(\.\d+)*", said.stdout + said.stderr)
            found[program] = number[0] if number else "unknown"
    if importlib.util.find_spec("scapy") is not None:
        found["scapy"] = str(importlib.import_module("scapy").__version__)
    return found


def missing(*programs: str) -> str:
    """Which programs are not installed, and how they are; empty if all are."""
    absent = [p for p in programs if shutil.which(p) is None]
    packages = dict.fromkeys(("nfcapd", "nfpcapd", "nfreplay"), "nfdump") | {"pmacctd": "pmacct"}
    packages |= dict.fromkeys(("editcap", "mergecap", "dumpcap"), "wireshark-common")
    names = sorted({packages.get(p, p) for p in absent})
    return f"{', '.join(absent)} not installed: apt-get install {' '.join(names)}" if absent else ""
