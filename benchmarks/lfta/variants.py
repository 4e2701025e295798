"""The same packets in other containers, as editcap and mergecap write them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path


def variants(captures: Sequence[Path], directory: Path) -> Iterator[tuple[str, Path]]:
    """Captures cut short, with other times, of several interfaces; each made when it is asked for.

    Parameters
    ----------
    captures : sequence of Path
        Of different link layers; the first is Ethernet's.
    directory : Path
        Where the others are written.
    """
    first = captures[0]
    for name, options in (
        ("cut to 64 bytes", ["-s", "64", "-F", "pcap"]),
        ("cut to 40 bytes", ["-s", "40", "-F", "pcap"]),
        ("cut to 20 bytes, pcapng", ["-s", "20", "-F", "pcapng"]),
        ("nanoseconds", ["-t", "0.000000123", "-F", "nsecpcap"]),
        ("pcapng with comments", ["--capture-comment", "some", "-a", "3:a packet's", "-F", "pcapng"]),
    ):
        path = directory / f"editcap-{name.replace(' ', '-').replace(',', '')}.cap"
        _run(["editcap", *options, str(first), str(path)])
        yield f"editcap, {name}", path
    path = directory / "mergecap.pcapng"
    _run(["mergecap", "-F", "pcapng", "-w", str(path), *map(str, captures)])
    yield f"mergecap, {len(captures)} interfaces", path
    # Sections one after another: a pcapng file may be any number of them.
    path = directory / "sections.pcapng"
    path.write_bytes((directory / "mergecap.pcapng").read_bytes() * 2)
    yield "two sections", path


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
