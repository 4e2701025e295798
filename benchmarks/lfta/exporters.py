"""Flow records of softflowd, nfdump and pmacct: what they export, and what they print of the same packets."""

from __future__ import annotations

import csv
import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from collector import Collector, send

Totals = dict[tuple[Any, ...], tuple[int, int]]
"""Packets and bytes by source, target, their ports, and protocol."""

_PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "ipv6-icmp": 58}


def totals(rows: Iterable[Mapping[str, Any]], key: Sequence[str], packets: str | None, octets: str) -> Totals:
    """Sum rows by key; each row is one packet if no column has their number."""
    counts: Counter[tuple[Any, ...]] = Counter()
    sums: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        at = tuple(row[k] for k in key)
        counts[at] += 1 if packets is None else row[packets]
        sums[at] += row[octets]
    return {at: (counts[at], sums[at]) for at in counts}


def of_packets(rows: Iterable[Mapping[str, Any]]) -> Totals:
    """Totals of packets that a capture has."""
    return totals(rows, ("srcip", "dstip", "srcport", "dstport", "prot"), None, "ip_length")


def of_flows(rows: Iterable[Mapping[str, Any]]) -> Totals:
    """Totals of flow records."""
    return totals(rows, ("srcaddr", "dstaddr", "srcport", "dstport", "prot"), "packets", "octets")


def softflowd(capture: Path, version: int) -> list[bytes]:
    """The datagrams that softflowd exports for a capture."""
    with Collector() as collector:
        # Everything at the end, from tables that hold all flows.
        _run(
            ["softflowd", "-r", str(capture), "-n", f"127.0.0.1:{collector.port}", "-v", str(version), "-m", "1000000"]
        )
    return collector.datagrams


def nfcapd(datagrams: Sequence[bytes], directory: Path) -> Path:
    """Have nfcapd receive datagrams; returns where it put its files."""
    directory.mkdir(parents=True)
    with Collector() as probe:  # a port that was free a moment ago
        port = probe.port
    daemon = subprocess.Popen(
        ["nfcapd", "-p", str(port), "-b", "127.0.0.1", "-w", str(directory), "-t", "3600", "-B", "33554432"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(1)
        send(datagrams, port)
        time.sleep(1)
    finally:
        daemon.terminate()
        daemon.wait(30)
    return directory


def nfpcapd(capture: Path, directory: Path) -> Path:
    """Have nfpcapd make flows of a capture; returns where it put its files."""
    directory.mkdir(parents=True)
    _run(["nfpcapd", "-r", str(capture), "-w", str(directory), "-t", "86400"])
    return directory


def nfreplay(stored: Path, version: int) -> list[bytes]:
    """The datagrams that nfreplay sends for nfdump's files."""
    with Collector() as collector:
        for file in sorted(stored.glob("nfcapd.*")):
            _run(["nfreplay", "-r", str(file), "-H", "127.0.0.1", "-p", str(collector.port), "-v", str(version)])
    return collector.datagrams


def nfdump(stored: Path) -> list[dict[str, Any]]:
    """What nfdump prints of its files, under the names of our columns."""
    printed = _run(["nfdump", "-R", str(stored), "-o", "json"])
    return [_of_nfdump(flow) for flow in json.loads(printed)]


def _of_nfdump(flow: Mapping[str, Any]) -> dict[str, Any]:
    family = "4" if "src4_addr" in flow else "6"
    return {
        "srcaddr": str(ip_address(flow[f"src{family}_addr"])),
        "dstaddr": str(ip_address(flow[f"dst{family}_addr"])),
        "srcport": flow.get("src_port", 0),
        "dstport": flow.get("dst_port", 0),
        "prot": flow["proto"],
        "packets": flow["in_packets"],
        "octets": flow["in_bytes"],
        "tos": flow.get("src_tos", 0),
        "tcp_flags": sum(1 << i for i, c in enumerate(reversed(flow.get("tcp_flags", ""))) if c != "."),
        "first": _micros(flow["first"]),
        "last": _micros(flow["last"]),
    }


def _micros(text: str) -> int:
    from datetime import datetime, timezone

    moment = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000) * 1000


_PMACCT = """
daemonize: false
pcap_savefile: {capture}
pcap_savefile_wait: false
plugins: print[p], nfprobe[n]
aggregate: src_host, dst_host, src_port, dst_port, proto
print_output[p]: csv
print_output_file[p]: {printed}
print_cache_entries[p]: 1000003
print_refresh_time[p]: 600
nfprobe_receiver[n]: 127.0.0.1:{port}
nfprobe_version[n]: {version}
nfprobe_maxflows[n]: 1000000
"""


def pmacctd(capture: Path, version: int, directory: Path) -> tuple[Totals, list[bytes]]:
    """What pmacctd prints for a capture, and the datagrams that its probe exports."""
    directory.mkdir(parents=True)
    printed, conf = directory / "printed.csv", directory / "pmacctd.conf"
    with Collector() as collector:
        conf.write_text(_PMACCT.format(capture=capture, printed=printed, port=collector.port, version=version))
        _run(["pmacctd", "-f", str(conf)])
    with printed.open(newline="") as f:
        rows = [
            {
                "srcaddr": str(ip_address(r["SRC_IP"])),
                "dstaddr": str(ip_address(r["DST_IP"])),
                "srcport": int(r["SRC_PORT"]),
                "dstport": int(r["DST_PORT"]),
                "prot": _PROTOCOLS[r["PROTOCOL"]],
                "packets": int(r["PACKETS"]),
                "octets": int(r["BYTES"]),
            }
            for r in csv.DictReader(f)
        ]
    return of_flows(rows), collector.datagrams


def tcpreplay(capture: Path, seen: Path, packets: int) -> None:
    """Send the packets of a generated capture over loopback, and capture them there anew.

    By their hardware addresses they are told from what else this machine sends to itself.
    """
    watcher = subprocess.Popen(
        [
            "dumpcap",
            "-q",
            "-i",
            "lo",
            "-w",
            str(seen),
            "-c",
            str(packets),
            "-a",
            "duration:60",
            "-f",
            "ether[0:2] = 0x0200",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(1)
        _run(["tcpreplay", "-q", "-i", "lo", "--pps", "20000", str(capture)])
        watcher.wait(10)
    except subprocess.TimeoutExpired:
        watcher.terminate()
        watcher.wait(10)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout
