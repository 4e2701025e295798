"""Generated captures and exports, taken apart byte by byte as the formats' descriptions have them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from phantoms.lab.data import DATASETS, captures, generate

ROWS = 3_000


def rows(name: str, count: int = ROWS) -> pa.Table:
    return pa.concat_tables(DATASETS[name].tables(count, 7)).combine_chunks()


def records(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Microseconds, length on the wire and bytes of each packet of a pcap file."""
    content = path.read_bytes()
    magic, major, minor, zone, _, snaplen, link = struct.unpack_from("<IHHiIII", content)
    assert (magic, major, minor, zone, link) == (0xA1B2C3D4, 2, 4, 0, 1)
    at = 24
    while at < len(content):
        seconds, micros, kept, length = struct.unpack_from("<IIII", content, at)
        assert micros < 1_000_000
        assert kept == min(length, snaplen)
        yield seconds * 1_000_000 + micros, length, content[at + 16 : at + 16 + kept]
        at += 16 + kept
    assert at == len(content)


def sum_of(header: bytes) -> int:
    """The Internet checksum: 0xFFFF over a header with its own in it."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return total


def signed(address: bytes) -> int:
    return int(struct.unpack(">i", address)[0])


def packet(time: int, length: int, frame: bytes) -> dict[str, Any]:
    assert struct.unpack_from(">H", frame, 12) == (0x0800,)
    ip = frame[14:34]
    assert ip[0] == 0x45
    assert sum_of(ip) == 0xFFFF
    ip_length = struct.unpack_from(">H", ip, 2)[0]
    assert length == max(60, 14 + ip_length)
    if ip[9] == 17:
        assert struct.unpack_from(">H", frame, 38)[0] == ip_length - 20
        assert not any(frame[42:])
    else:
        assert frame[46] >> 4 == 5
        assert not any(frame[54:])
    srcport, dstport = struct.unpack_from(">HH", frame, 34)
    srcip, dstip = signed(ip[12:16]), signed(ip[16:20])
    return {"time": time, "length": length, "ip_length": ip_length, "srcip": srcip, "dstip": dstip, "prot": ip[9],
            "srcport": srcport, "dstport": dstport}  # fmt: skip


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """Rows whose times are microseconds."""
    times = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
    for name in times:
        micros = table[name].cast(pa.timestamp("us")).cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, micros)
    return list(table.to_pylist())


@pytest.mark.parametrize("snaplen", [captures.SNAPLEN, 60, captures.LONGEST])
def test_packets_of_a_capture_are_the_rows(tmp_path: Path, snaplen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "_CHUNK_BYTES", 100_000)
    made = rows("packets")
    captures.write_capture(made, tmp_path / "x.pcap", snaplen=snaplen)
    found = [packet(*r) for r in records(tmp_path / "x.pcap")]
    assert found == plain(captures.as_captured(made))
    assert {p["prot"] for p in found} == {6, 17}


def test_short_packets_are_padded(tmp_path: Path) -> None:
    made = rows("packets", 10)
    short = made.set_column(4, "length", pa.array(np.arange(40, 50, dtype=np.int32)))
    captures.write_capture(short, tmp_path / "x.pcap")
    frames = [(length, len(frame)) for _, length, frame in records(tmp_path / "x.pcap")]
    assert frames == [(60, 60)] * 7 + [(61, 61), (62, 62), (63, 63)]


def network(address: int, mask: int) -> int:
    return signed(struct.pack(">I", address & 0xFFFFFFFF & ~(2 ** (32 - mask) - 1)))


V5 = struct.Struct(">iiiHHIIIIHHxBBBHHBBxx")
V5_NAMES = (
    "srcaddr dstaddr nexthop input output packets octets first last srcport dstport tcp_flags prot tos "
    "src_as dst_as src_mask dst_mask"
)


def datagram(payload: bytes) -> Iterator[dict[str, Any]]:
    """The records of a NetFlow v5 datagram, by Cisco's description of it."""
    version, count, uptime, seconds, nanos, _, _, _, sampling = struct.unpack_from(">HHIIIIBBH", payload)
    assert (version, sampling, len(payload)) == (5, 0, 24 + 48 * count)
    now = seconds * 1000 + nanos // 1_000_000
    for i in range(count):
        flow = dict(zip(V5_NAMES.split(), V5.unpack_from(payload, 24 + 48 * i), strict=True))
        for end in ("first", "last"):
            flow[end] = (now - ((uptime - flow[end]) & 0xFFFFFFFF)) * 1000
        for side in ("src", "dst"):
            flow[f"{side}_net"] = network(flow[f"{side}addr"], flow[f"{side}_mask"])
        yield flow


def datagrams(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        length = 24 + 48 * struct.unpack_from(">H", content, at + 2)[0]
        yield content[at : at + length]
        at += length


# Half a minute before the exporter's 32 bits of milliseconds begin anew.
WRAPPING = int(captures.START) - (2**32 - 30_000) * 1000


@pytest.mark.parametrize("boot", [captures.BOOT, WRAPPING])
def test_flows_of_an_export_are_the_rows(tmp_path: Path, boot: int) -> None:
    made = rows("flows")
    captures.write_export(made, tmp_path / "x", 7, boot=boot)
    sent = list(datagrams((tmp_path / "x").read_bytes()))
    found = [flow for d in sent for flow in datagram(d)]
    assert found == plain(captures.as_exported(made))
    headers = [struct.unpack_from(">HHI8xI", d) for d in sent]
    assert [count for _, count, _, _ in headers] == [30] * 100
    assert [sequence for _, _, _, sequence in headers] == list(range(7, 7 + ROWS, 30))
    assert (max(u for _, _, u, _ in headers) > 2**31) == (boot == WRAPPING)


def test_counts_end_where_v5_ends() -> None:
    made = rows("flows", 2)
    large = made.set_column(6, "octets", pa.array([2**32 + 5, 2**32 - 1], pa.int64()))
    assert captures.as_exported(large)["octets"].to_pylist() == [2**32 - 1] * 2
    ((_, sent),) = captures.datagrams(large)
    assert [f["octets"] for f in datagram(sent[0].tobytes())] == [2**32 - 1] * 2


def test_captured_exports_are_the_exports(tmp_path: Path) -> None:
    made = rows("flows", 1_234)
    captures.write_export(made, tmp_path / "x")
    captures.write_export_capture(made, tmp_path / "x.pcap")
    payloads = []
    for time, length, frame in records(tmp_path / "x.pcap"):
        assert len(frame) == length
        ip = frame[14:34]
        assert sum_of(ip) == 0xFFFF
        assert ip[12:] == bytes([192, 0, 2, 1, 192, 0, 2, 2])
        assert struct.unpack_from(">HH", ip, 2)[0] == length - 14
        assert struct.unpack_from(">HHH", frame, 34)[1:] == (2055, length - 34)
        payloads.append(frame[42:])
        seconds, nanos = struct.unpack_from(">II", payloads[-1], 8)
        assert time == seconds * 1_000_000 + nanos // 1000
    assert payloads == list(datagrams((tmp_path / "x").read_bytes()))
    assert len(payloads[-1]) == 24 + 48 * (1_234 % 30)


@pytest.mark.parametrize(("name", "suffix"), [("capture", ".pcap"), ("export", ".nf5"), ("export-capture", ".pcap")])
def test_data_sets_go_on_from_file_to_file(tmp_path: Path, name: str, suffix: str) -> None:
    generate(name, tmp_path / "x", 1_000, 7)
    files = sorted((tmp_path / "x").glob(f"*{suffix}"))
    assert len(files) >= 4
    if name == "capture":
        found = [packet(*r) for f in files for r in records(f)]
        assert found == plain(captures.as_captured(rows("packets", 1_000)))
        numbers = [struct.unpack_from(">H", frame, 18)[0] for f in files for *_, frame in records(f)]
        assert numbers == list(range(1_000))
        return
    if name == "export":
        sent = [d for f in files for d in datagrams(f.read_bytes())]
    else:
        sent = [frame[42:] for f in files for *_, frame in records(f)]
    assert [flow for d in sent for flow in datagram(d)] == plain(captures.as_exported(rows("flows", 1_000)))
    sequence = 0
    for d in sent:
        assert struct.unpack_from(">I", d, 16)[0] == sequence
        sequence += struct.unpack_from(">H", d, 2)[0]
