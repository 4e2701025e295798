"""Captures of many shapes, written by scapy: what it was told to write is what must be read."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START = 1_767_225_600


@dataclass(frozen=True)
class Capture:
    """A file, and the packets that scapy wrote into it with their times in nanoseconds."""

    name: str
    path: Path
    packets: list[tuple[int, Any]]


def write(directory: Path, count: int, seed: int = 7) -> list[Capture]:
    """Write one capture for each kind of file and of link layer."""
    from scapy.layers.inet import IP
    from scapy.layers.l2 import CookedLinux, Dot1AD, Dot1Q, Ether, Loopback
    from scapy.utils import EDecimal, PcapNgWriter, PcapWriter

    # It warns of IPv4 beside IPv6 in one capture.
    logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
    rng = random.Random(seed)

    def ethernet() -> Any:
        frame = Ether(src=_mac(rng), dst=_mac(rng))
        for tag in rng.choice([[], [], [Dot1Q], [Dot1AD, Dot1Q], [Dot1Q, Dot1Q]]):
            frame = frame / tag(vlan=rng.randrange(1, 4095), prio=rng.randrange(8))
        return frame / _network(rng)

    def loopback() -> Any:
        inner = _ip(rng)
        return Loopback(type=2 if isinstance(inner, IP) else 24) / inner

    # Name, link layer, packets, options of the writer; pcapng takes the link layer from the packets.
    kinds: list[tuple[str, Callable[[], Any], int, dict[str, Any]]] = [
        ("microseconds", ethernet, 1, {}),
        ("nanoseconds", ethernet, 1, {"nano": True}),
        ("big-endian", ethernet, 1, {"endianness": ">"}),
        ("gzip", ethernet, 1, {"gz": True}),
        ("raw IP", lambda: _ip(rng), 101, {}),
        ("Linux cooked", lambda: CookedLinux(pkttype=rng.randrange(5)) / _ip(rng), 113, {}),
        ("loopback", loopback, 0, {}),
        ("pcapng", ethernet, -1, {}),
    ]
    made = []
    for name, packet, link, options in kinds:
        path = directory / f"scapy-{name.replace(' ', '-')}.{'pcapng' if link < 0 else 'pcap'}"
        writer = PcapNgWriter(str(path)) if link < 0 else PcapWriter(str(path), linktype=link, **options)
        unit = 1 if options.get("nano") else 1000
        packets = []
        for i in range(count):
            nanos = rng.randrange(1_000_000_000) // unit * unit
            one = packet()
            one.time = EDecimal(START + i) + EDecimal(nanos) / EDecimal(1_000_000_000)
            writer.write(one)
            packets.append(((START + i) * 1_000_000_000 + nanos, one))
        writer.close()
        made.append(Capture(name, path, packets))
    return made


def _mac(rng: random.Random) -> str:
    return ":".join(f"{b:02x}" for b in [rng.randrange(256) & 0xFC, *rng.randbytes(5)])


def _network(rng: random.Random) -> Any:
    from scapy.layers.l2 import ARP

    return ARP(pdst="192.0.2.7") if rng.random() < 0.03 else _ip(rng)


def _ip(rng: random.Random) -> Any:
    return _ipv6(rng) if rng.random() < 0.4 else _ipv4(rng)


def _ipv4(rng: random.Random) -> Any:
    from scapy.layers.inet import IP, IPOption_NOP, IPOption_RR

    options: list[Any] = rng.choice([[], [], [], [IPOption_NOP()], [IPOption_RR(routers=["192.0.2.1", "192.0.2.2"])]])
    head = IP(src=_v4(rng), dst=_v4(rng), tos=rng.randrange(256), ttl=rng.randrange(1, 256), id=rng.randrange(65536),
              options=options)  # fmt: skip
    if rng.random() < 0.1:  # a fragment; later ones begin in the middle of a payload
        head.flags, head.frag = "MF", rng.choice([0, 0, 185])
        if head.frag:
            return head / _bytes(rng) if rng.random() < 0.5 else IP(bytes(head / _bytes(rng)))
    return head / _payload(rng, 4)


def _ipv6(rng: random.Random) -> Any:
    from scapy.layers.inet6 import (
        IPv6,
        IPv6ExtHdrDestOpt,
        IPv6ExtHdrFragment,
        IPv6ExtHdrHopByHop,
        IPv6ExtHdrRouting,
    )

    packet = IPv6(
        src=_v6(rng), dst=_v6(rng), tc=rng.randrange(256), fl=rng.randrange(1 << 20), hlim=rng.randrange(1, 256)
    )
    for extension in rng.choice([[], [], [], [IPv6ExtHdrHopByHop], [IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt],
                                 [IPv6ExtHdrRouting], [IPv6ExtHdrDestOpt, IPv6ExtHdrFragment]]):  # fmt: skip
        packet = packet / (
            extension(id=rng.randrange(1 << 32), m=1) if extension is IPv6ExtHdrFragment else extension()
        )
    return packet / _payload(rng, 6)


def _payload(rng: random.Random, version: int) -> Any:
    from scapy.layers.inet import ICMP, TCP, UDP
    from scapy.layers.inet6 import ICMPv6EchoRequest
    from scapy.layers.l2 import GRE

    port, service = rng.randrange(1024, 65536), rng.choice([1, 80, 443, 9999, 65535])
    kind = rng.random()
    if kind < 0.5:
        return TCP(sport=port, dport=service, seq=rng.randrange(1 << 32), ack=rng.randrange(1 << 32),
                   flags=rng.randrange(256), window=rng.randrange(65536),
                   options=rng.choice([[], [("MSS", 1460), ("NOP", None), ("WScale", 7)]])) / _bytes(rng)  # fmt: skip
    if kind < 0.85:
        return UDP(sport=port, dport=service) / _bytes(rng)
    if kind < 0.95:
        return (ICMP(type=8, code=0) if version == 4 else ICMPv6EchoRequest()) / _bytes(rng)
    return GRE() / _ipv4(rng) if kind < 0.97 else _bytes(rng)


def _bytes(rng: random.Random) -> Any:
    from scapy.packet import Raw

    return Raw(rng.randbytes(rng.choice([0, 1, 5, 17, 100, 1200])))


def _v4(rng: random.Random) -> str:
    return ".".join(map(str, [rng.randrange(1, 224), *rng.randbytes(3)]))


def _v6(rng: random.Random) -> str:
    from ipaddress import IPv6Address

    return str(IPv6Address(0x20010DB8 << 96 | rng.getrandbits(rng.choice([16, 64, 96]))))


def told(capture: Capture) -> list[dict[str, Any]]:
    """What scapy was told of each packet: time, addresses and ports; None where the packet has none."""
    from ipaddress import ip_address

    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.inet6 import IPv6

    rows = []
    for time, packet in capture.packets:
        network = next((layer for layer in _layers(packet) if isinstance(layer, (IP, IPv6))), None)
        # What is behind a tunnel's header is not the packet's own.
        own = next((layer for layer in _layers(network.payload) if not _is_extension(layer)), None) if network else None
        has_ports = isinstance(own, (TCP, UDP)) and not getattr(network, "frag", 0)
        rows.append(
            {
                "time_nanos": time,
                "length": len(packet),
                "srcip": str(ip_address(network.src)) if network else None,
                "dstip": str(ip_address(network.dst)) if network else None,
                "srcport": own.sport if has_ports else None,
                "dstport": own.dport if has_ports else None,
            }
        )
    return rows


def _layers(packet: Any) -> Any:
    from scapy.packet import NoPayload

    while packet is not None and not isinstance(packet, NoPayload):
        yield packet
        packet = packet.payload


def _is_extension(layer: Any) -> bool:
    return type(layer).__name__.startswith("IPv6ExtHdr")
