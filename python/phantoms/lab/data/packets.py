"""Packet headers: Zipf hosts, Pareto flow lengths, flows interleaved in time, tuples of one flow clustered.

A *flow* is one (srcip, dstip, srcport, dstport). Its packets come in *bursts*: within one the packets follow each
other closely, with packets of the other flows active at that moment between them. That clusteredness is what the
effective flow length l_a of the collision model (SMAP, eq. 15) describes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

DEFAULT_ROWS = 50_000_000
ROWS_PER_FLOW = 500
"""50 M packets belong to 100 k flows."""

ROWS_PER_FILE = 3_200_000
MIN_FILES = 4
PACKETS_PER_SECOND = 50_000_000 / 300
"""The link's rate: smaller captures are shorter, not sparser, so that clusteredness does not depend on size."""

START = np.int64(1_767_225_600_000_000)
"""Begin of the capture: 2026-01-01 00:00:00 UTC, in microseconds."""

MEAN_BURST = 10
GAP_MICROS = 120.0
"""Mean distance of two packets of a burst; about twenty packets pass in that time."""

SERVICE_PORTS = np.array([443, 80, 53, 22, 25, 993, 123, 8080, 3306, 5432, 1935, 6881, 5060, 389, 445], dtype=np.int32)

SCHEMA = pa.schema(
    [
        ("srcip", pa.int32()),
        ("dstip", pa.int32()),
        ("srcport", pa.int32()),
        ("dstport", pa.int32()),
        ("length", pa.int32()),
        ("time", pa.timestamp("us", tz="UTC")),
    ]
)

Ints = npt.NDArray[np.int64]


def zipf_weights(n: int, exponent: float) -> npt.NDArray[np.float64]:
    """Probabilities of ranks 1..n under Zipf's law."""
    w = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return np.asarray(w / w.sum(), dtype=np.float64)


def draw(rng: np.random.Generator, weights: npt.NDArray[np.float64], n: int) -> Ints:
    """Draw n ordinals by inverse transform (much faster than `Generator.choice` with probabilities)."""
    edges = np.cumsum(weights)
    found = np.searchsorted(edges, rng.random(n) * edges[-1], side="right")
    return np.asarray(np.minimum(found, len(weights) - 1), dtype=np.int64)


def addresses(rng: np.random.Generator, n: int) -> npt.NDArray[np.int32]:
    """N distinct IPv4 addresses as the 32-bit integers they are, in random order."""
    raw = rng.choice(np.uint32(0xDF000000 - 0x01000000), size=n, replace=False) + 0x01000000
    return raw.astype(np.uint32).view(np.int32)


def split(total: int, weights: npt.NDArray[np.float64]) -> Ints:
    """Split `total` into at least one per weight, the rest in proportion, exactly."""
    n = len(weights)
    shares = np.floor((total - n) * (np.cumsum(weights) / weights.sum())).astype(np.int64)
    shares[-1] = total - n
    return np.asarray(np.diff(shares, prepend=0) + 1, dtype=np.int64)


def tables(rows: int, seed: int) -> Iterator[pa.Table]:
    """Yield the capture in time order, one table per file."""
    rng = np.random.default_rng([seed, 1])
    flows = min(max(100, rows // ROWS_PER_FLOW), rows)
    hosts = max(50, flows // 12)

    ip = addresses(rng, hosts)
    weights = zipf_weights(hosts, 0.9)
    client, server = draw(rng, weights, flows), draw(rng, weights[::-1], flows)
    service = SERVICE_PORTS[draw(rng, zipf_weights(len(SERVICE_PORTS), 1.1), flows)]
    ephemeral = rng.integers(32768, 61000, flows, dtype=np.int32)
    upward = rng.random(flows) < 0.5
    key = {
        "srcip": np.where(upward, ip[client], ip[server]),
        "dstip": np.where(upward, ip[server], ip[client]),
        "srcport": np.where(upward, ephemeral, service),
        "dstport": np.where(upward, service, ephemeral),
    }
    # Mean packet size of a flow: requests small, transfers near the MTU.
    size = np.where(rng.random(flows) < 0.45, 90, 1250).astype(np.float64)

    # Pareto flow lengths; the cap keeps one elephant from being the whole capture.
    length = split(rows, np.minimum(rng.pareto(1.2, flows) + 1.0, flows / 20.0))
    bursts_of = np.maximum(1, length // MEAN_BURST)
    burst_flow = np.repeat(np.arange(flows), bursts_of)
    bursts = len(burst_flow)

    # Long flows live long: a flow occupies a part of the capture that grows with its length.
    seconds = rows / PACKETS_PER_SECOND
    life = seconds * np.minimum(1.0, 0.02 + (length / length.max()) ** 0.5)
    born = rng.random(flows) * (seconds - life)
    burst_at = born[burst_flow] + rng.random(bursts) * life[burst_flow]

    # Packets of a flow over its bursts: even shares, the remainder to the first bursts.
    first = np.concatenate(([0], np.cumsum(bursts_of)[:-1]))
    ordinal = np.arange(bursts) - first[burst_flow]
    packets_of = length[burst_flow] // bursts_of[burst_flow] + (ordinal < (length % bursts_of)[burst_flow])

    order = np.argsort(burst_at, kind="stable")
    burst_flow, burst_at, packets_of = burst_flow[order], burst_at[order], packets_of[order]

    files = max(MIN_FILES, -(-rows // ROWS_PER_FILE))
    done = np.cumsum(packets_of)
    cuts = np.searchsorted(done, np.linspace(0, rows, files + 1)[1:-1], side="left") + 1
    for lo, hi in zip([0, *cuts], [*cuts, bursts], strict=True):
        if hi > lo:
            yield _expand(rng, key, size, burst_flow[lo:hi], burst_at[lo:hi], packets_of[lo:hi])


def _expand(
    rng: np.random.Generator,
    key: dict[str, npt.NDArray[np.int32]],
    size: npt.NDArray[np.float64],
    burst_flow: Ints,
    burst_at: npt.NDArray[np.float64],
    packets_of: Ints,
) -> pa.Table:
    """The packets of some bursts, in time order."""
    n = int(packets_of.sum())
    burst = np.repeat(np.arange(len(packets_of)), packets_of)
    first = np.concatenate(([0], np.cumsum(packets_of)[:-1]))
    step = np.arange(n) - first[burst]
    # The mean gap is jittered per packet, so that concurrent bursts interleave irregularly.
    micros = burst_at[burst] * 1e6 + (step + rng.random(n)) * GAP_MICROS
    at = micros.astype(np.int64)
    order = np.argsort(at, kind="stable")
    flow = burst_flow[burst[order]]
    length = np.clip(size[flow] * (0.55 + 0.65 * rng.random(n, dtype=np.float32)), 40, 1500).astype(np.int32)
    columns = [pa.array(values[flow]) for values in key.values()]
    time = pa.array(START + at[order]).cast(pa.timestamp("us", tz="UTC"))
    return pa.Table.from_arrays([*columns, pa.array(length), time], schema=SCHEMA)
