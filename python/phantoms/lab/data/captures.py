"""The data sets as what a network hands over: packets as captures, flow records as NetFlow v5 exports.

What is decoded from the files equals the rows they are made of: `as_captured` and `as_exported` give the rows as the
formats can hold them, column by column under the names that ``format("lfta")`` has for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from phantoms.lab.data.packets import START

Bytes = npt.NDArray[np.uint8]
Micros = npt.NDArray[np.int64]

SNAPLEN = 64
"""Bytes kept of a packet: all headers, so that 10 million packets take 0.8 GB."""

LONGEST = 65_535
"""Bytes kept where packets are to be whole."""

MINIMUM_FRAME = 60
"""Shorter packets are padded to what Ethernet sends at least, without its check sequence."""

UDP_SERVICES = (53, 123, 5060, 6881)
"""Packets from or to these ports are UDP, all others TCP: the data set has no protocol."""

EXPORTER, COLLECTOR = 0xC0000201, 0xC0000202
"""192.0.2.1 and 192.0.2.2, between which datagrams are captured."""

COLLECTOR_PORT = 2055
RECORDS_PER_DATAGRAM = 30
BOOT = int(START) - 3_600_000_000
"""When the exporter was started, in microseconds since 1970: an hour before its first records."""

_PCAP = np.dtype([("magic", "<u4"), ("major", "<u2"), ("minor", "<u2"), ("zone", "<i4"), ("sigfigs", "<u4"),
                  ("snaplen", "<u4"), ("link", "<u4")])  # fmt: skip
_RECORD = [("seconds", "<u4"), ("micros", "<u4"), ("caplen", "<u4"), ("length", "<u4")]
_ETHERNET = [("dst_local", ">u2"), ("dst_mac", ">u4"), ("src_local", ">u2"), ("src_mac", ">u4"), ("ether_type", ">u2")]
_IP = [("version", "u1"), ("tos", "u1"), ("ip_length", ">u2"), ("ip_id", ">u2"), ("fragment", ">u2"), ("ttl", "u1"),
       ("prot", "u1"), ("ip_checksum", ">u2"), ("srcip", ">u4"), ("dstip", ">u4")]  # fmt: skip
_PORTS = [("srcport", ">u2"), ("dstport", ">u2")]
_TCP = [*_PORTS, ("seq", ">u4"), ("ack", ">u4"), ("data_offset", "u1"), ("flags", "u1"), ("window", ">u2"),
        ("checksum", ">u2"), ("urgent", ">u2")]  # fmt: skip
_UDP = [*_PORTS, ("udp_length", ">u2"), ("checksum", ">u2")]

# A packet's headers as they lie in the file; what follows the ports is of one of two shapes.
_TCP_PACKET = np.dtype([*_RECORD, *_ETHERNET, *_IP, *_TCP])
_UDP_PACKET = np.dtype([*_RECORD, *_ETHERNET, *_IP, *_UDP])
_RECORD_BYTES = np.dtype(_RECORD).itemsize
_ETHERNET_BYTES = np.dtype(_ETHERNET).itemsize
_IP_BYTES = np.dtype(_IP).itemsize
_UDP_BYTES = np.dtype(_UDP).itemsize

V5_HEADER = np.dtype([("version", ">u2"), ("count", ">u2"), ("uptime", ">u4"), ("seconds", ">u4"), ("nanos", ">u4"),
                      ("sequence", ">u4"), ("engine_type", "u1"), ("engine_id", "u1"),
                      ("sampling", ">u2")])  # fmt: skip
V5_RECORD = np.dtype([("srcaddr", ">i4"), ("dstaddr", ">i4"), ("nexthop", ">i4"), ("input", ">u2"), ("output", ">u2"),
                      ("packets", ">u4"), ("octets", ">u4"), ("first", ">u4"), ("last", ">u4"), ("srcport", ">u2"),
                      ("dstport", ">u2"), ("pad1", "u1"), ("tcp_flags", "u1"), ("prot", "u1"), ("tos", "u1"),
                      ("src_as", ">u2"), ("dst_as", ">u2"), ("src_mask", "u1"), ("dst_mask", "u1"),
                      ("pad2", ">u2")])  # fmt: skip

_CHUNK_BYTES = 64 << 20


def write_capture(table: pa.Table, path: Path, written: int = 0, *, snaplen: int = SNAPLEN) -> None:
    """Write rows of the data set ``packets`` as one pcap file: Ethernet, IPv4, TCP or UDP, payload of zeros.

    Parameters
    ----------
    table : pyarrow.Table
        The rows; ``length`` is what the IPv4 header says.
    path : Path
        The file.
    written : int
        Packets in the files before this one; they are numbered in ``ip_id``.
    snaplen : int
        Bytes kept of each packet.
    """
    with path.open("wb") as out:
        out.write(_file_header(snaplen))
        width = _RECORD_BYTES + min(snaplen, _ETHERNET_BYTES + int(np.max(table["length"].to_numpy(), initial=46)))
        rows = max(1, _CHUNK_BYTES // width)
        for at in range(0, table.num_rows, rows):
            _packets(table.slice(at, rows), written + at, snaplen, max(width, _TCP_PACKET.itemsize), out)


def _file_header(snaplen: int) -> bytes:
    header = np.zeros(1, _PCAP)
    header["magic"], header["major"], header["minor"], header["snaplen"], header["link"] = 0xA1B2C3D4, 2, 4, snaplen, 1
    return header.tobytes()


def _packets(table: pa.Table, first: int, snaplen: int, width: int, out: BinaryIO) -> None:
    """Writes some packets: all as records of one width, of which each keeps its own length."""
    n = table.num_rows
    room: Bytes = np.zeros((n, width), np.uint8)
    length = table["length"].to_numpy().astype(np.uint32)
    source, target = _unsigned(table, "srcip"), _unsigned(table, "dstip")
    srcport, dstport = table["srcport"].to_numpy(), table["dstport"].to_numpy()
    number = np.arange(first, first + n, dtype=np.uint64)
    udp = _is_udp(srcport, dstport)
    tcp = _over(room, _TCP_PACKET)
    frame = np.maximum(length + _ETHERNET_BYTES, MINIMUM_FRAME)
    kept = np.minimum(frame, snaplen)
    _set_frame(tcp, _micros(table, "time"), kept, frame, source, target)
    prot = np.where(udp, 17, 6)
    _set_ip(tcp, length, number & 0xFFFF, 48 + (source & 15), prot, source, target)
    tcp["srcport"], tcp["dstport"] = srcport, dstport
    payload = length - _IP_BYTES - 20
    tcp["seq"], tcp["ack"] = number * 1460 & 0xFFFFFFFF, np.where(udp, 0, number & 0xFFFFFFFF)
    tcp["data_offset"], tcp["window"] = 5 << 4, 0xFFFF - (number & 0xFFF)
    tcp["flags"] = np.where(payload > 0, 0x18, 0x10)
    # The fields of TCP that lie where UDP has its length and payload.
    room[udp, _UDP_PACKET.itemsize :] = 0
    of_udp = _over(room, _UDP_PACKET)
    of_udp["udp_length"] = np.where(udp, length - _IP_BYTES, of_udp["udp_length"])
    of_udp["checksum"] = np.where(udp, 0, of_udp["checksum"])
    ends = _RECORD_BYTES + kept
    if np.all(ends == width):
        out.write(room.data)
    else:
        out.write(room[np.arange(width) < ends[:, None]].data)


def _is_udp(srcport: npt.NDArray[Any], dstport: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.isin(srcport, UDP_SERVICES) | np.isin(dstport, UDP_SERVICES)


def _over(room: Bytes, shape: np.dtype[Any]) -> npt.NDArray[Any]:
    """The beginning of each row, seen as a header."""
    return room[:, : shape.itemsize].view(shape)[:, 0]


def _set_frame(
    packet: npt.NDArray[Any],
    time: Micros,
    kept: npt.NDArray[Any],
    frame: npt.NDArray[Any],
    source: npt.NDArray[Any] | int,
    target: npt.NDArray[Any] | int,
) -> None:
    packet["seconds"], packet["micros"] = time // 1_000_000, time % 1_000_000
    packet["caplen"], packet["length"] = kept, frame
    # Locally administered: 02:00 and the address.
    packet["src_local"] = packet["dst_local"] = 0x0200
    packet["src_mac"], packet["dst_mac"], packet["ether_type"] = source, target, 0x0800


def _set_ip(
    packet: npt.NDArray[Any],
    length: npt.NDArray[Any] | int,
    number: npt.NDArray[Any],
    ttl: npt.NDArray[Any] | int,
    prot: npt.NDArray[Any] | int,
    source: npt.NDArray[Any] | int,
    target: npt.NDArray[Any] | int,
) -> None:
    packet["version"], packet["ip_length"], packet["ip_id"], packet["fragment"] = 0x45, length, number, 0x4000
    packet["ttl"], packet["prot"], packet["srcip"], packet["dstip"] = ttl, prot, source, target
    total = np.zeros(len(packet), np.uint32) + 0x4500 + 0x4000
    for word in ("ip_length", "ip_id"):
        total += packet[word]
    total += (packet["ttl"].astype(np.uint32) << 8) + packet["prot"]
    for address in ("srcip", "dstip"):
        total += (packet[address] >> 16) + (packet[address] & 0xFFFF)
    for _ in range(2):
        total = (total >> 16) + (total & 0xFFFF)
    packet["ip_checksum"] = total ^ 0xFFFF


def as_captured(table: pa.Table) -> pa.Table:
    """The rows of ``packets`` under the names that the reader of captures has for them.

    Returns
    -------
    pyarrow.Table
        ``time``, ``length`` (of the frame), ``ip_length``, ``srcip``, ``dstip``, ``prot``, ``srcport``, ``dstport``.
    """
    udp = _is_udp(table["srcport"].to_numpy(), table["dstport"].to_numpy())
    length = table["length"].to_numpy()
    frame = np.maximum(length + _ETHERNET_BYTES, MINIMUM_FRAME).astype(np.int32)
    return pa.table(
        {
            "time": table["time"],
            "length": frame,
            "ip_length": table["length"],
            "srcip": table["srcip"],
            "dstip": table["dstip"],
            "prot": np.where(udp, 17, 6).astype(np.int32),
            "srcport": table["srcport"],
            "dstport": table["dstport"],
        }
    )


def as_exported(table: pa.Table) -> pa.Table:
    """The rows of ``flows`` as NetFlow v5 can hold them.

    Times are whole milliseconds and counts end at 2**32 - 1; everything else is as it was.
    """
    columns = {name: table[name] for name in table.column_names}
    for name in ("packets", "octets"):
        columns[name] = pa.chunked_array([np.minimum(table[name].to_numpy(), 0xFFFFFFFF)])
    for name in ("first", "last"):
        micros = _micros(table, name)
        columns[name] = pa.chunked_array([pa.array(micros - micros % 1000).cast(table[name].type)])
    return pa.table(columns)


def datagrams(table: pa.Table, written: int = 0, *, boot: int = BOOT) -> Iterator[tuple[Micros, Bytes]]:
    """The NetFlow v5 datagrams that an exporter sends for rows of the data set ``flows``.

    Parameters
    ----------
    table : pyarrow.Table
        The rows, in the order of their ``last``.
    written : int
        Records sent before, from which the sequence goes on.
    boot : int
        When the exporter was started, in microseconds since 1970. Its uptime has 32 bits of milliseconds.

    Yields
    ------
    tuple
        Times of export in microseconds since 1970, and as many datagrams of equal length, one a row.
    """
    records = _v5_records(table, boot)
    last = _micros(table, "last")
    full = len(records) // RECORDS_PER_DATAGRAM * RECORDS_PER_DATAGRAM
    for lo, hi, count in ((0, full, RECORDS_PER_DATAGRAM), (full, len(records), len(records) - full)):
        if hi > lo:
            sent = np.maximum.reduceat(last[lo:hi], np.arange(0, hi - lo, count)) // 1000 * 1000
            header = np.zeros(len(sent), V5_HEADER)
            header["version"], header["count"], header["uptime"] = 5, count, (sent - boot) // 1000 & 0xFFFFFFFF
            header["seconds"], header["nanos"] = sent // 1_000_000, sent % 1_000_000 * 1000
            header["sequence"] = np.arange(written + lo, written + hi, count) & 0xFFFFFFFF
            bodies = records[lo:hi].view(np.uint8).reshape(len(sent), -1)
            yield sent, np.concatenate([header.view(np.uint8).reshape(len(sent), -1), bodies], axis=1)


def _v5_records(table: pa.Table, boot: int) -> npt.NDArray[Any]:
    records = np.zeros(table.num_rows, V5_RECORD)
    for name in table.column_names:
        if name in ("first", "last"):
            records[name] = (_micros(table, name) - boot) // 1000 & 0xFFFFFFFF
        elif name in ("packets", "octets"):
            records[name] = np.minimum(table[name].to_numpy(), 0xFFFFFFFF)
        elif name not in ("src_net", "dst_net"):  # an address and its mask say so
            records[name] = table[name].to_numpy()
    return records


def write_export(table: pa.Table, path: Path, written: int = 0, *, boot: int = BOOT) -> None:
    """Write rows of ``flows`` as one file of NetFlow v5 datagrams, one after another; parameters as `datagrams`."""
    with path.open("wb") as out:
        for _, sent in datagrams(table, written, boot=boot):
            out.write(sent.data)


def write_export_capture(table: pa.Table, path: Path, written: int = 0, *, boot: int = BOOT) -> None:
    """Write rows of ``flows`` as a pcap file of the UDP datagrams to port 2055 that carry them."""
    before = -(-written // RECORDS_PER_DATAGRAM)
    with path.open("wb") as out:
        out.write(_file_header(LONGEST))
        for time, sent in datagrams(table, written, boot=boot):
            room: Bytes = np.zeros((len(sent), _UDP_PACKET.itemsize + sent.shape[1]), np.uint8)
            packet = _over(room, _UDP_PACKET)
            frame = room.shape[1] - _RECORD_BYTES
            _set_frame(packet, time, np.full(len(sent), frame), np.full(len(sent), frame), EXPORTER, COLLECTOR)
            number = np.arange(before, before + len(sent)) & 0xFFFF
            _set_ip(packet, frame - _ETHERNET_BYTES, number, 64, 17, EXPORTER, COLLECTOR)
            packet["srcport"], packet["dstport"] = 49_152, COLLECTOR_PORT
            packet["udp_length"] = _UDP_BYTES + sent.shape[1]
            room[:, _UDP_PACKET.itemsize :] = sent
            out.write(room.data)
            before += len(sent)


def _unsigned(table: pa.Table, name: str) -> npt.NDArray[np.uint32]:
    return np.asarray(table[name].to_numpy().view(np.uint32))


def _micros(table: pa.Table, name: str) -> Micros:
    return np.asarray(table[name].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy(), dtype=np.int64)
