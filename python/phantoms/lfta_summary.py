"""What `phantoms.lfta.info` found, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LINKS = {0: "null", 1: "Ethernet", 12: "raw IP", 14: "raw IP", 101: "raw IP", 108: "loopback", 113: "Linux cooked",
          228: "IPv4", 229: "IPv6", 276: "Linux cooked 2"}  # fmt: skip
_ETHER_TYPES = {0x0800: "IPv4", 0x86DD: "IPv6", 0x0806: "ARP", 0x88CC: "LLDP", 0x8847: "MPLS", 0x8863: "PPPoE",
                0x8864: "PPPoE"}  # fmt: skip
_PROTOCOLS = {1: "ICMP", 2: "IGMP", 6: "TCP", 17: "UDP", 41: "IPv6", 47: "GRE", 50: "ESP", 51: "AH", 58: "ICMPv6",
              89: "OSPF", 132: "SCTP"}  # fmt: skip
_VERSIONS = {5: "NetFlow v5", 9: "NetFlow v9", 10: "IPFIX"}


def text(found: Mapping[str, Any]) -> str:
    """The lines about one file."""
    lines = [f"{found['file']}: {_kind(found)}, {_size(found)}"]
    if found["packets"]:
        for one in found["packets"]["interfaces"]:
            lines += _interface(one)
        lines += _counts(found["packets"], "packets")
    if found["flows"]:
        for one in found["flows"]["templates"]:
            lines += _template(one)
        more = found["flows"]["flows_of_more_templates"]
        lines += [f"  and {more:,} flows of more templates"] if more else []
        lines += _counts(found["flows"], "packets" if found["packets"] else "datagrams")
    if found["error"]:
        lines.append(f"  error: {found['error']}")
    return "\n".join(lines)


def _kind(found: Mapping[str, Any]) -> str:
    if found["kind"] is None:
        return "neither capture nor flow export"
    if found["kind"] == "empty":
        return "empty"
    return " ".join(filter(None, [found["format"], found["compression"] and f"({found['compression']})"]))


def _size(found: Mapping[str, Any]) -> str:
    n = float(found["bytes"])
    for unit in ("bytes", "KB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            break
        n /= 1000
    return f"{n:,.0f} {unit}" if unit == "bytes" else f"{n:,.1f} {unit}"


def _interface(one: Mapping[str, Any]) -> list[str]:
    link = one["link_type"]
    kinds = {_ETHER_TYPES.get(int(k), f"0x{int(k):04x}"): n for k, n in one["ether_types"].items()}
    protocols = {_PROTOCOLS.get(int(k), f"protocol {k}"): n for k, n in one["protocols"].items()}
    return [
        f"  interface {one['interface']}, {_LINKS.get(link, f'link type {link}')}: {one['packets']:,} packets, "
        f"{one['octets']:,} bytes on the wire, {one['captured_octets']:,} kept",
        f"    {_span(one['first'], one['last'])}",
        *([f"    {_parts(kinds)}"] if kinds else []),
        *([f"    {_parts(protocols)}"] if protocols else []),
    ]


def _template(one: Mapping[str, Any]) -> list[str]:
    version = one["version"]
    name = _VERSIONS.get(version, f"version {version}")
    template = "" if one["template"] is None else f", template {one['template']}"
    sampling = "" if one["sampling"] is None else f", one packet of {one['sampling']:,} sampled"
    return [
        f"  {name} from {one['exporter'] or 'an exporter not named'}, domain {one['domain']}{template}: "
        f"{one['flows']:,} flows, {one['packets']:,} packets, {one['octets']:,} bytes{sampling}",
        f"    {_span(one['first'], one['last'])}",
        f"    columns: {', '.join(one['columns'])}",
        *([f"    other: {', '.join(one['other'])}"] if one["other"] else []),
    ]


def _span(first: str | None, last: str | None) -> str:
    return "without times" if first is None else f"{first} to {last}"


def _parts(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {n:,}" for name, n in most)


def _counts(section: Mapping[str, Any], what: str) -> list[str]:
    c = section["counters"]
    sum_of = f"{c['decoded']:,} decoded + {c['malformed']:,} malformed + {c['skipped']:,} skipped"
    told = [f"{c['packets']:,} {what} = {sum_of}"]
    told += [
        f"{c[key]:,} {meaning}"
        for key, meaning in (
            ("truncated", "cut off within their headers"),
            ("without_template", "data sets without a template"),
            ("unreadable_bytes", "bytes unreadable"),
        )
        if c[key]
    ]
    return [f"  {'; '.join(told)}", *map(_problem, section["problems"])]


def _problem(one: Mapping[str, Any]) -> str:
    where = "" if one["first_offset"] is None else f" (first at byte {one['first_offset']:,})"
    return f"    {one['count']:,} x {one['what']}{where}"
