"""Packets and flow records as tshark prints them, under the names of our columns."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

Row = dict[str, Any]

PACKET_FIELDS = [
    "frame.time_epoch", "frame.cap_len", "frame.len", "frame.interface_id", "frame.protocols", "eth.src", "eth.dst",
    "ieee8021ad.id", "vlan.id", "eth.type", "vlan.etype", "sll.etype", "ip.version", "ip.src", "ip.dst", "ip.proto",
    "ip.dsfield", "ip.ttl", "ip.len", "ip.id", "ip.frag_offset", "ip.flags.mf", "ipv6.version", "ipv6.src", "ipv6.dst",
    "ipv6.nxt", "ipv6.tclass", "ipv6.hlim", "ipv6.plen", "ipv6.flow", "ipv6.hopopts.nxt", "ipv6.dstopts.nxt",
    "ipv6.routing.nxt", "ipv6.fraghdr.nxt", "ipv6.fraghdr.offset", "ipv6.fraghdr.more", "ah.next_header",
    "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport", "tcp.flags", "tcp.seq_raw", "tcp.ack_raw",
    "tcp.window_size_value", "tcp.len", "udp.length", "icmp.type", "icmp.code", "icmpv6.type", "icmpv6.code",
]  # fmt: skip

# Every packet by itself, and sequence numbers as they are.
_PREFERENCES = ["ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE",
                "tcp.analyze_sequence_numbers:FALSE", "tcp.relative_sequence_numbers:FALSE"]  # fmt: skip

COLUMNS = [
    "time_nanos", "caplen", "length", "src_mac", "dst_mac", "vlan", "inner_vlan", "ether_type", "ip_version", "srcip",
    "dstip", "prot", "tos", "ttl", "ip_length", "ip_id", "fragment_offset", "more_fragments", "flow_label", "srcport",
    "dstport", "tcp_flags", "tcp_seq", "tcp_ack", "tcp_window", "icmp_type", "icmp_code", "payload_length",
]  # fmt: skip

_EXTENSIONS = {0: "ipv6.hopopts.nxt", 43: "ipv6.routing.nxt", 44: "ipv6.fraghdr.nxt", 60: "ipv6.dstopts.nxt",
               51: "ah.next_header"}  # fmt: skip


def fields(capture: Path, names: Sequence[str], *more: str) -> Iterator[dict[str, list[str]]]:
    """Values of some fields, for each packet a list of all that it has."""
    chosen = [part for name in names for part in ("-e", name)]
    preferences = [part for p in _PREFERENCES for part in ("-o", p)]
    command = ["tshark", "-n", "-r", str(capture), "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a",
               "-E", "aggregator=;", *preferences, *more, *chosen]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    for line in done.stdout.splitlines():
        values = line.split("\t")
        yield {n: v.split(";") if v else [] for n, v in zip(names, values, strict=True)}


def packets(capture: Path) -> list[Row]:
    """The packets of a capture, in order, as tshark has them."""
    return [_packet(f) for f in fields(capture, PACKET_FIELDS)]


def _packet(f: Mapping[str, list[str]]) -> Row:
    row: Row = dict.fromkeys(COLUMNS)
    row["time_nanos"] = nanos(f["frame.time_epoch"][0])
    row["caplen"], row["length"] = _int(f, "frame.cap_len"), _int(f, "frame.len")
    for side in ("src", "dst"):
        row[f"{side}_mac"] = f[f"eth.{side}"][0].replace(":", "") if f[f"eth.{side}"] else None
    tags = [int(tag, 0) for tag in f["ieee8021ad.id"] + f["vlan.id"]]
    row["vlan"], row["inner_vlan"] = [*tags, None, None][:2]
    types = f["vlan.etype"] if tags else f["eth.type"][:1] or f["sll.etype"]
    row["ether_type"] = int(types[-1], 0) if types else None
    # What a tunnel carries comes after the packet that it is in.
    network = next((p for p in f["frame.protocols"][0].split(":") if p in ("ip", "ipv6")), None)
    if network == "ip":
        _ipv4(f, row)
    elif network == "ipv6":
        _ipv6(f, row)
    if network is not None:
        _transport(f, row)
    return row


def _ipv4(f: Mapping[str, list[str]], row: Row) -> None:
    names = {"ip_version": "ip.version", "prot": "ip.proto", "tos": "ip.dsfield", "ttl": "ip.ttl",
             "ip_length": "ip.len", "ip_id": "ip.id", "fragment_offset": "ip.frag_offset",
             "more_fragments": "ip.flags.mf"}  # fmt: skip
    row.update({column: _int(f, name) for column, name in names.items()})
    row["srcip"], row["dstip"] = _address(f, "ip.src"), _address(f, "ip.dst")
    offset = row["fragment_offset"]
    row["fragment_offset"] = None if offset is None else offset * 8


def _ipv6(f: Mapping[str, list[str]], row: Row) -> None:
    names = {"ip_version": "ipv6.version", "tos": "ipv6.tclass", "ttl": "ipv6.hlim", "flow_label": "ipv6.flow",
             "more_fragments": "ipv6.fraghdr.more"}  # fmt: skip
    row.update({column: _int(f, name) for column, name in names.items()})
    row["srcip"], row["dstip"] = _address(f, "ipv6.src"), _address(f, "ipv6.dst")
    payload = _int(f, "ipv6.plen")
    row["ip_length"] = None if payload is None else payload + 40
    offset = _int(f, "ipv6.fraghdr.offset")
    row["fragment_offset"] = None if offset is None else offset * 8
    protocol, met = _int(f, "ipv6.nxt"), dict.fromkeys(_EXTENSIONS, 0)
    while protocol in _EXTENSIONS and _int(f, _EXTENSIONS[protocol], met[protocol]) is not None:
        seen = met[protocol]
        met[protocol] += 1
        protocol = _int(f, _EXTENSIONS[protocol], seen)
    row["prot"] = protocol


def _transport(f: Mapping[str, list[str]], row: Row) -> None:
    if row["fragment_offset"]:
        return
    prefix = {6: "tcp", 17: "udp"}.get(row["prot"])
    if prefix is not None:
        row["srcport"], row["dstport"] = _int(f, f"{prefix}.srcport"), _int(f, f"{prefix}.dstport")
    if prefix == "tcp":
        flags = _int(f, "tcp.flags")
        row["tcp_flags"] = None if flags is None else flags & 0xFF
        row["tcp_seq"], row["tcp_ack"] = _int(f, "tcp.seq_raw"), _int(f, "tcp.ack_raw")
        row["tcp_window"], row["payload_length"] = _int(f, "tcp.window_size_value"), _int(f, "tcp.len")
    elif prefix == "udp":
        length = _int(f, "udp.length")
        row["payload_length"] = None if length is None else length - 8
    icmp = {1: "icmp", 58: "icmpv6"}.get(row["prot"])
    if icmp is not None:
        row["icmp_type"], row["icmp_code"] = _int(f, f"{icmp}.type"), _int(f, f"{icmp}.code")


def comparable(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns that tshark has a field for: it tells the payload of TCP and UDP only, and not of fragments."""
    is_whole = not row["fragment_offset"] and not row["more_fragments"] and row["prot"] in (6, 17)
    return tuple(row[c] if c != "payload_length" or is_whole else None for c in COLUMNS)


def both_known(ours: Sequence[Row], theirs: Sequence[Row]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows of either side, without the values that the other side does not have.

    Of a header that was cut off, tshark tells some fields that we do not, and the other way round.
    """
    left, right = [], []
    for a, b in zip(map(comparable, ours), map(comparable, theirs), strict=True):
        known = [x is not None and y is not None for x, y in zip(a, b, strict=True)]
        left.append(tuple(x if k else None for x, k in zip(a, known, strict=True)))
        right.append(tuple(y if k else None for y, k in zip(b, known, strict=True)))
    return left, right


def _int(f: Mapping[str, list[str]], name: str, at: int = 0) -> int | None:
    values = f[name]
    return int(values[at], 0) if at < len(values) else None


def _address(f: Mapping[str, list[str]], name: str) -> str | None:
    return str(ip_address(f[name][0])) if f[name] else None


def nanos(seconds: str) -> int:
    """Nanoseconds since 1970 of tshark's decimal seconds."""
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 1_000_000_000 + int(fraction.ljust(9, "0"))


FLOW_FIELDS = [f"cflow.{f}" for f in ("srcaddr", "dstaddr", "srcport", "dstport", "protocol", "packets", "octets")]


def flows(capture: Path, port: int) -> list[tuple[Any, ...]]:
    """The flow records of a capture of datagrams to a port: addresses, ports, protocol, packets, octets."""
    found: list[tuple[Any, ...]] = []
    for f in fields(capture, FLOW_FIELDS, "-d", f"udp.port=={port},cflow"):
        columns = [f[name] for name in FLOW_FIELDS]
        if len({len(c) for c in columns}) != 1:
            raise RuntimeError(f"tshark has {[len(c) for c in columns]} values of {FLOW_FIELDS}")
        for source, target, *numbers in zip(*columns, strict=True):
            found.append((str(ip_address(source)), str(ip_address(target)), *(int(n, 0) for n in numbers)))
    return found
