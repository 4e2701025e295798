from __future__ import annotations

from collections import Counter

import pytest

from phantoms.lab.data import DATASETS
from phantoms.lab.reports import NFC22, SMAP4, WORKLOADS, Workload, separate, sets, union

NAMED = [
    "SourceNode",
    "DestNode",
    "HostMatrix",
    "SourcePort",
    "DestPort",
    "Protocol",
    "DetailSourceNode",
    "DetailDestNode",
    "DetailHostMatrix",
    "DetailInterface",
    "CallRecord",
    "DetailCallRecord",
    "NetMatrix",
    "ASMatrix",
    "DetailASMatrix",
    "SourceAS",
    "DestAS",
    "DetailSourceAS",
    "DetailDestAS",
]


def test_the_22_reports() -> None:
    names = [r.name for r in NFC22.reports]
    assert len(names) == 22
    assert set(NAMED) <= set(names)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_workloads_are_sound(workload: Workload) -> None:
    assert max(Counter(r.name for r in workload.reports).values()) == 1
    assert max(Counter(frozenset(r.keys) for r in workload.reports).values()) == 1
    assert workload.one in [r.name for r in workload.reports]
    ids = [workload.grouping_id(r) for r in workload.reports]
    assert len(set(ids)) == len(ids)
    sample = next(iter(DATASETS[workload.dataset].tables(100, 7)))
    assert set(workload.columns) <= set(sample.column_names)
    assert len(separate(workload, "t")) == len(workload.reports)
    assert union(workload, "t").count("UNION ALL") == len(workload.reports) - 1


def test_cube_has_all_subsets() -> None:
    cube = WORKLOADS["cube4"]
    assert len(cube.reports) == 16
    assert "CUBE (srcip, dstip, srcport, dstport)" in sets(cube, "t")


def test_grouping_id_counts_from_the_first_key() -> None:
    assert SMAP4.keys == ("srcip", "dstip", "srcport", "dstport")
    assert [SMAP4.grouping_id(r) for r in SMAP4.reports] == [0b0011, 0b1001, 0b1010, 0b1100]
