"""The workloads: the 22 reports of Cisco's NetFlow Collector, and the packet workloads of the papers.

A *report* is a name and the columns it groups by; all reports of a workload have the same aggregates. The Collector's
aggregation schemes name their keys in the header of its data files (SourceNode to DetailCallRecord) and in NetFlow
version 8's router schemes (RouterSrcPrefix). For SourceAS, DestAS and their detailed forms no key list is public: they
group by that side's AS number, the detailed ones also by interfaces and protocol, as the router's AS scheme does.
InterfaceMatrix and TypeOfService complete the 22 with interfaces and ToS. The values are the Collector's three:
flows, packets, octets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """One groupBy: a name and its grouping columns."""

    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """Several groupBys over one table, with the same aggregates.

    Attributes
    ----------
    name : str
        Name used by ``phantoms bench``.
    dataset : str
        Data set of `phantoms.lab.data` it reads.
    reports : tuple of Report
        Its groupBys.
    aggregates : tuple of (str, str)
        SQL expression and output column of each aggregate.
    one : str
        The report timed alone as the floor "ONE query".
    cube : bool
        The sets form is written ``CUBE`` over the keys.
    inputs : tuple of str
        Columns that the aggregates read, where these are no plain calls.
    """

    name: str
    dataset: str
    reports: tuple[Report, ...]
    aggregates: tuple[tuple[str, str], ...]
    one: str
    cube: bool = False
    inputs: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """All grouping columns in order of first use, which is the order Spark's ``grouping_id`` demands."""
        return tuple(dict.fromkeys(k for r in self.reports for k in r.keys))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that the workload reads."""
        inputs = self.inputs or tuple(e[e.index("(") + 1 : -1] for e, _ in self.aggregates)
        return (*self.keys, *(c for c in dict.fromkeys(inputs) if c != "*"))

    def grouping_id(self, report: Report) -> int:
        """``grouping_id()`` of a report's set in the sets form: 1 where not grouped, first key = highest bit."""
        keys = self.keys
        return sum(1 << (len(keys) - 1 - i) for i, k in enumerate(keys) if k not in report.keys)


def _report(name: str, keys: str) -> Report:
    return Report(name, tuple(keys.split()))


NFC22 = Workload(
    name="nfc22",
    dataset="flows",
    reports=(
        _report("SourceNode", "srcaddr"),
        _report("DestNode", "dstaddr"),
        _report("HostMatrix", "srcaddr dstaddr"),
        _report("SourcePort", "srcport"),
        _report("DestPort", "dstport"),
        _report("Protocol", "prot"),
        _report("DetailSourceNode", "srcaddr srcport dstport prot"),
        _report("DetailDestNode", "dstaddr srcport dstport prot"),
        _report("DetailHostMatrix", "srcaddr dstaddr srcport dstport prot"),
        _report("DetailInterface", "srcaddr dstaddr input output nexthop"),
        _report("CallRecord", "srcaddr dstaddr srcport dstport prot tos"),
        _report("DetailCallRecord", "srcaddr dstaddr srcport dstport input output prot tos"),
        _report("NetMatrix", "src_net src_mask input dst_net dst_mask output"),
        _report("ASMatrix", "src_as dst_as"),
        _report("DetailASMatrix", "srcaddr dstaddr src_as dst_as input output srcport dstport prot"),
        _report("SourceAS", "src_as"),
        _report("DestAS", "dst_as"),
        _report("DetailSourceAS", "src_as input output prot"),
        _report("DetailDestAS", "dst_as input output prot"),
        _report("InterfaceMatrix", "input output"),
        _report("TypeOfService", "tos"),
        _report("RouterSrcPrefix", "src_net src_mask input src_as"),
    ),
    aggregates=(("count(*)", "flows"), ("sum(packets)", "packets"), ("sum(octets)", "octets")),
    one="DetailHostMatrix",
)

_PACKET_AGGREGATES = (("count(*)", "packets"), ("sum(length)", "octets"))

SMAP4 = Workload(
    name="smap4",
    dataset="packets",
    reports=(
        _report("AB", "srcip dstip"),
        _report("BC", "dstip srcport"),
        _report("BD", "dstip dstport"),
        _report("CD", "srcport dstport"),
    ),
    aggregates=_PACKET_AGGREGATES,
    one="AB",
)


def _cube(keys: Sequence[str]) -> tuple[Report, ...]:
    subsets = ([k for i, k in enumerate(keys) if bits >> i & 1] for bits in reversed(range(1 << len(keys))))
    return tuple(Report("_".join(s) or "total", tuple(s)) for s in subsets)


CUBE4 = Workload(
    name="cube4",
    dataset="packets",
    reports=_cube(("srcip", "dstip", "srcport", "dstport")),
    aggregates=_PACKET_AGGREGATES,
    one="srcip_dstip_srcport_dstport",
    cube=True,
)

WORKLOADS: dict[str, Workload] = {w.name: w for w in (NFC22, SMAP4, CUBE4)}


DISTINCT4 = Workload(
    name="distinct4",
    dataset="flows",
    reports=(
        _report("Interfaces", "input output"),
        _report("Protocol", "prot tos"),
        _report("SourceAS", "src_as"),
        _report("Total", ""),
    ),
    aggregates=(
        ("count(*)", "flows"),
        ("sum(octets)", "octets"),
        ("count(DISTINCT srcaddr)", "sources"),
        ("count(DISTINCT dstaddr)", "destinations"),
        ("count(DISTINCT dstport)", "ports"),
        ("count(DISTINCT IF(octets > 10000, srcaddr, NULL))", "large_sources"),
        ("count(DISTINCT IF(dstport < 1024, dstaddr, NULL))", "servers"),
    ),
    one="Interfaces",
    inputs=("octets", "srcaddr", "dstaddr", "dstport"),
)

OBJECTS8 = Workload(
    name="objects8",
    dataset="flows",
    reports=_cube(("prot", "input", "output")),
    # Of whole numbers a median is one or lies half way between two; ranks of nine tenths lie at tenths.
    aggregates=(
        ("count(*)", "flows"),
        ("CAST(2 * median(octets) AS BIGINT)", "median_octets"),
        ("CAST(round(10 * percentile(packets, 0.9)) AS BIGINT)", "most_packets"),
        ("size(collect_set(dstport))", "ports"),
    ),
    one="prot_input_output",
    cube=True,
    inputs=("octets", "packets", "dstport"),
)

FUNCTION_WORKLOADS: dict[str, Workload] = {w.name: w for w in (DISTINCT4, OBJECTS8)}


def _aggregates(workload: Workload) -> str:
    return ", ".join(f"{expression} AS {name}" for expression, name in workload.aggregates)


def _group_by(report: Report) -> str:
    return f" GROUP BY {', '.join(report.keys)}" if report.keys else ""


def separate(workload: Workload, table: str) -> list[str]:
    """One SQL query per report.

    Parameters
    ----------
    workload : Workload
        The reports.
    table : str
        Table or view they read.

    Returns
    -------
    list of str
        In the order of ``workload.reports``; columns: the report's keys, then the aggregates.
    """
    return [
        f"SELECT {', '.join((*r.keys, _aggregates(workload)))} FROM {table}{_group_by(r)}" for r in workload.reports
    ]


def union(workload: Workload, table: str) -> str:
    """All reports as one ``UNION ALL``.

    Returns
    -------
    str
        SQL; columns: ``report``, every key of the workload (NULL where the report lacks it), the aggregates.
    """
    branches = []
    for r in workload.reports:
        keys = ", ".join(k if k in r.keys else f"CAST(NULL AS INT) AS {k}" for k in workload.keys)
        branches.append(f"SELECT '{r.name}' AS report, {keys}, {_aggregates(workload)} FROM {table}{_group_by(r)}")
    return "\nUNION ALL\n".join(branches)


def sets(workload: Workload, table: str) -> str:
    """All reports as one ``GROUP BY GROUPING SETS`` (or ``CUBE``).

    Returns
    -------
    str
        SQL; columns: ``gid`` (see `Workload.grouping_id`), every key of the workload, the aggregates.
    """
    keys = ", ".join(workload.keys)
    if workload.cube:
        grouping = f"CUBE ({keys})"
    else:
        grouping = f"GROUPING SETS ({', '.join('(' + ', '.join(r.keys) + ')' for r in workload.reports)})"
    return f"SELECT grouping_id({keys}) AS gid, {keys}, {_aggregates(workload)} FROM {table} GROUP BY {grouping}"
