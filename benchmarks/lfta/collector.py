"""Receives datagrams on loopback, as a collector does, and hands them on to others."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

IDLE_SECONDS = 1.0


class Collector:
    """Listens on a port of its own from `__enter__` until nothing has come for a second, or until `__exit__`."""

    def __init__(self) -> None:
        self.datagrams: list[bytes] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self.port: int = self._socket.getsockname()[1]
        self._leaving = threading.Event()
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self._last = time.monotonic()
        self._leaving.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                self.datagrams.append(self._socket.recv(65_535))
                self._last = time.monotonic()
            except TimeoutError:
                if self._leaving.is_set() and time.monotonic() - self._last > IDLE_SECONDS:
                    return


def send(datagrams: Sequence[bytes], port: int) -> None:
    """Send datagrams to a port of this machine, slowly enough for whoever listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for datagram in datagrams:
            out.sendto(datagram, ("127.0.0.1", port))
            time.sleep(0.0002)


def write_file(datagrams: Sequence[bytes], path: Path) -> None:
    """Write a file of datagrams, one after another."""
    path.write_bytes(b"".join(datagrams))


def write_capture(datagrams: Sequence[bytes], path: Path, port: int) -> None:
    """Write a capture of the datagrams: raw IPv4 and UDP from 127.0.0.1 to 127.0.0.1."""
    now = int(time.time())
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 101))
        for i, datagram in enumerate(datagrams):
            length = 28 + len(datagram)
            home = bytes([127, 0, 0, 1])
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, i & 0xFFFF, 0, 64, 17, 0, home, home)
            udp = struct.pack(">HHHH", 40_000, port, length - 20, 0)
            out.write(struct.pack("<IIII", now, i % 1_000_000, length, length) + ip + udp + datagram)
