"""How long a capture takes: ``format("lfta")`` on one core beside tshark."""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import lfta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARK = ["frame.time_epoch", "frame.len", "ip.src", "ip.dst", "ip.proto", "tcp.srcport", "tcp.dstport", "udp.srcport",
         "udp.dstport", "tcp.flags"]  # fmt: skip
COLUMNS = ["time_nanos", "length", "srcip", "dstip", "prot", "srcport", "dstport", "tcp_flags"]


def measure(spark: SparkSession, capture: Path, packets: int, repeat: int) -> dict[str, Any]:
    """Seconds of either for the same fields; of ours the median of runs after the first, and the first."""
    command = ["tshark", "-n", "-r", str(capture), "-T", "fields", *(part for f in SHARK for part in ("-e", f))]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as shark:
        assert shark.stdout is not None
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: shark.stdout.read(1 << 20), b""))
    theirs = time.perf_counter() - started
    if lines != packets:
        raise RuntimeError(f"tshark printed {lines} lines for {packets} packets")
    times = []
    for _ in range(repeat + 1):
        started = time.perf_counter()
        lfta.read(spark, capture).select(*COLUMNS).write.format("noop").mode("overwrite").save()
        times.append(time.perf_counter() - started)
    found = statistics.median(times[1:])
    return {"packets": packets, "tshark": theirs, "lfta": found, "lfta_first": times[0], "ratio": theirs / found}
