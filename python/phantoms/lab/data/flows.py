"""NetFlow v5 records as a border router exports them: recurring conversations of Zipf-popular hosts.

A *conversation* is one 5-tuple; it recurs because a router exports a long-lived flow every active timeout and because
the same ports are used again. Networks, masks, AS numbers, interfaces and the next hop follow from the addresses, save
for a few per cent of conversations whose route changes while they last.

The sizes are set so that the results of the 22 reports of `phantoms.lab.reports` hold about 2.8 records per input
record (measured for 3 M records: see `docs/benchmarks.md`); the 20 minutes of a real backbone router described in
US 9,116,956 (1.7 M records, about 6 M result tuples) have 3.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from phantoms.lab.data.packets import SERVICE_PORTS, START, Ints, draw, split, zipf_weights

DEFAULT_ROWS = 3_000_000
FILES = 8
SECONDS = 1200.0
"""The export covers 20 minutes."""

ACTIVE_TIMEOUT = 60.0
CONVERSATIONS_PER_ROW = 0.37
PAIRS_PER_ROW = 0.13
HOSTS_PER_ROW = 0.02
INTERFACES = 24

SCHEMA = pa.schema(
    [
        ("srcaddr", pa.int32()),
        ("dstaddr", pa.int32()),
        ("nexthop", pa.int32()),
        ("input", pa.int32()),
        ("output", pa.int32()),
        ("packets", pa.int64()),
        ("octets", pa.int64()),
        ("first", pa.timestamp("us", tz="UTC")),
        ("last", pa.timestamp("us", tz="UTC")),
        ("srcport", pa.int32()),
        ("dstport", pa.int32()),
        ("prot", pa.int32()),
        ("tos", pa.int32()),
        ("tcp_flags", pa.int32()),
        ("src_as", pa.int32()),
        ("dst_as", pa.int32()),
        ("src_mask", pa.int32()),
        ("dst_mask", pa.int32()),
        ("src_net", pa.int32()),
        ("dst_net", pa.int32()),
    ]
)


class _Network:
    """Hosts with their network, AS and interface."""

    def __init__(self, rng: np.random.Generator, hosts: int) -> None:
        nets = max(20, hosts // 40)
        systems = max(10, nets // 6)
        # Networks are aligned to /16 so that no two of them overlap whatever their masks are.
        prefix = (rng.choice(np.uint32(0xDF00 - 0x0100), size=nets, replace=False) + 0x0100).astype(np.uint32) << 16
        mask = rng.choice(np.array([16, 18, 19, 20, 21, 22, 23, 24]), nets)
        net_of = draw(rng, zipf_weights(nets, 0.9), hosts)
        room = (np.uint64(1) << (32 - mask[net_of]).astype(np.uint64)).astype(np.float64)
        self.addr = (prefix[net_of] + (rng.random(hosts) * (room - 2) + 1).astype(np.uint32)).view(np.int32)
        self.net = prefix.astype(np.uint32).view(np.int32)[net_of]
        self.mask = mask[net_of].astype(np.int32)
        as_of_net = draw(rng, zipf_weights(systems, 0.8), nets)
        number = np.sort(rng.choice(64511, size=systems, replace=False) + 1).astype(np.int32)
        self.asn = number[as_of_net][net_of]
        interface = (draw(rng, zipf_weights(INTERFACES, 0.6), systems) + 1).astype(np.int32)
        self.interface = interface[as_of_net][net_of]


@dataclass(frozen=True)
class _Conversations:
    """The conversations' fixed attributes; source and target are ordinals of hosts."""

    source: Ints
    target: Ints
    srcport: npt.NDArray[np.int32]
    dstport: npt.NDArray[np.int32]
    prot: npt.NDArray[np.int32]
    tos: npt.NDArray[np.int32]
    rerouted_at: npt.NDArray[np.float64]
    """Second from which on another output interface is used; infinite for most."""


def tables(rows: int, seed: int) -> Iterator[pa.Table]:
    """Yield the export in the order in which the records left the router, one table per file."""
    rng = np.random.default_rng([seed, 2])
    hosts = max(60, int(rows * HOSTS_PER_ROW))
    network = _Network(rng, hosts)
    conversations = _converse(rng, rows, hosts)
    count = len(conversations.source)

    # Records of a conversation: heavy-tailed; exported one active timeout after another.
    records_of = split(rows, rng.pareto(1.3, count) + 0.05)
    conversation = np.repeat(np.arange(count), records_of)
    begun = rng.random(count) * SECONDS
    first_record = np.concatenate(([0], np.cumsum(records_of)[:-1]))
    ordinal = np.arange(rows) - first_record[conversation]
    end = np.mod(begun[conversation] + ordinal * ACTIVE_TIMEOUT + rng.random(rows) * 5.0, SECONDS)
    order = np.argsort(end, kind="stable")
    conversation, end = conversation[order], end[order]

    edges = np.linspace(0, rows, min(FILES, rows) + 1).astype(np.int64)
    for lo, hi in pairwise(edges):
        yield _records(rng, network, conversations, conversation[lo:hi], end[lo:hi])


def _converse(rng: np.random.Generator, rows: int, hosts: int) -> _Conversations:
    """Host pairs, then conversations: each pair has one, popular pairs have many."""
    pairs = max(1, int(rows * PAIRS_PER_ROW))
    count = max(1, int(rows * CONVERSATIONS_PER_ROW))
    weights = zipf_weights(hosts, 0.55)
    client, server = draw(rng, weights, pairs), hosts - 1 - draw(rng, weights, pairs)
    pair = np.concatenate((np.arange(pairs), draw(rng, zipf_weights(pairs, 0.4), count - pairs)))
    prot = np.array([6, 17, 1, 47], dtype=np.int32)[draw(rng, np.array([0.79, 0.17, 0.035, 0.005]), count)]
    service = SERVICE_PORTS[draw(rng, zipf_weights(len(SERVICE_PORTS), 1.1), count)]
    ephemeral = rng.integers(1024, 65536, count, dtype=np.int32)
    # NTP, DNS between servers, peer-to-peer: the same port at both ends.
    symmetric = rng.random(count) < 0.06
    ephemeral[symmetric] = service[symmetric]
    portless = (prot != 6) & (prot != 17)
    service[portless], ephemeral[portless] = 0, 0
    upward = rng.random(count) < 0.5
    tos = np.array([0, 8, 32, 40, 72, 104, 136, 184, 192], dtype=np.int32)
    tos_weights = np.array([0.8, 0.05, 0.03, 0.03, 0.03, 0.02, 0.02, 0.015, 0.005])
    return _Conversations(
        source=np.where(upward, client[pair], server[pair]),
        target=np.where(upward, server[pair], client[pair]),
        srcport=np.where(upward, ephemeral, service),
        dstport=np.where(upward, service, ephemeral),
        prot=prot,
        tos=tos[draw(rng, tos_weights, count)],
        rerouted_at=np.where(rng.random(count) < 0.03, rng.random(count) * SECONDS, np.inf),
    )


def _records(
    rng: np.random.Generator,
    network: _Network,
    conversations: _Conversations,
    c: Ints,
    last: npt.NDArray[np.float64],
) -> pa.Table:
    """The records of one file: conversation and export second of each are given."""
    n = len(c)
    source, target, prot = conversations.source[c], conversations.target[c], conversations.prot[c]
    rerouted = last >= conversations.rerouted_at[c]
    output = np.where(rerouted, network.interface[target] % INTERFACES + 1, network.interface[target])
    packets = np.minimum(np.ceil(rng.pareto(1.1, n) * 3.0 + 1.0), 5e6).astype(np.int64)
    octets = (packets * np.where(rng.random(n) < 0.5, 60.0, 1100.0) * (0.7 + 0.6 * rng.random(n))).astype(np.int64)
    micros = START + (last * 1e6).astype(np.int64)
    duration = (np.minimum(packets * 0.05, ACTIVE_TIMEOUT) * rng.random(n) * 1e6).astype(np.int64)
    # Two routers are reachable over each interface; the network decides between them.
    nexthop = np.int64(0x0A000000) + output.astype(np.int64) * 4 + (network.net[target].astype(np.int64) >> 16) % 2 + 1
    columns = {
        "srcaddr": network.addr[source],
        "dstaddr": network.addr[target],
        "nexthop": nexthop.astype(np.int32),
        "input": network.interface[source],
        "output": output.astype(np.int32),
        "packets": packets,
        "octets": np.maximum(octets, packets * 28),
        "first": micros - duration,
        "last": micros,
        "srcport": conversations.srcport[c],
        "dstport": conversations.dstport[c],
        "prot": prot,
        "tos": conversations.tos[c],
        "tcp_flags": np.where(prot == 6, 27, 0).astype(np.int32),
        "src_as": network.asn[source],
        "dst_as": network.asn[target],
        "src_mask": network.mask[source],
        "dst_mask": network.mask[target],
        "src_net": network.net[source],
        "dst_net": network.net[target],
    }
    return pa.Table.from_arrays([pa.array(columns[f.name]).cast(f.type) for f in SCHEMA], schema=SCHEMA)
