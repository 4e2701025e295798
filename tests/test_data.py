from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phantoms.lab.data import DATASETS, ensure, store
from phantoms.lab.reports import NFC22


def table(name: str, rows: int, seed: int) -> pa.Table:
    return pa.concat_tables(DATASETS[name].tables(rows, seed))


@pytest.mark.parametrize("name", ["flows", "packets", "trades", "trades-days"])
@pytest.mark.parametrize("rows", [1, 7, 1_000, 30_000])
def test_rows_and_schema(name: str, rows: int) -> None:
    made = table(name, rows, 7)
    assert made.num_rows == rows
    assert all(made[c].null_count == 0 for c in made.column_names)


@pytest.mark.parametrize("name", ["flows", "packets", "trades", "trades-days"])
def test_the_seed_decides(name: str) -> None:
    first, again, other = table(name, 20_000, 7), table(name, 20_000, 7), table(name, 20_000, 8)
    assert first.equals(again)
    assert not first.equals(other)


def distinct(made: pa.Table, keys: tuple[str, ...]) -> int:
    return int(made.select(list(keys)).group_by(list(keys)).aggregate([]).num_rows)


@pytest.mark.parametrize("rows", [50_000, 400_000])
def test_result_sizes_resemble_a_router(rows: int) -> None:
    made = table("flows", rows, 7)
    sizes = {r.name: distinct(made, r.keys) for r in NFC22.reports}
    assert 2.5 <= sum(sizes.values()) / rows <= 3.5
    if rows >= 400_000:  # below, port numbers are as many as records
        assert sum(1 for n in sizes.values() if n > 0.17 * rows) == 8
    assert sizes["HostMatrix"] < sizes["DetailHostMatrix"] <= sizes["CallRecord"] <= sizes["DetailCallRecord"]
    assert sizes["DetailSourceNode"] < sizes["DetailHostMatrix"]


def test_flow_records_are_consistent() -> None:
    made = table("flows", 30_000, 7).to_pandas()
    assert (made["first"] <= made["last"]).all()
    assert made["last"].is_monotonic_increasing
    assert (made["octets"] >= made["packets"] * 28).all()
    mask = (np.uint64(0xFFFFFFFF) << (32 - made["src_mask"]).astype("uint64")) & np.uint64(0xFFFFFFFF)
    net = made["srcaddr"].astype("uint32").astype("uint64") & mask
    assert (net == made["src_net"].astype("uint32").astype("uint64")).all()
    assert made.groupby("srcaddr")["src_as"].nunique().max() == 1
    assert set(made["prot"]) == {1, 6, 17, 47}
    assert (made.loc[~made["prot"].isin([6, 17]), ["srcport", "dstport"]] == 0).all(axis=None)


def test_packets_have_the_shape_promised() -> None:
    rows = 500_000
    made = table("packets", rows, 7).to_pandas()
    keys = ["srcip", "dstip", "srcport", "dstport"]
    flows = made.groupby(keys).size()
    assert 0.95 * rows / 500 <= len(flows) <= rows / 500
    # Pareto: the longest tenth of the flows has far more than its share (ten thousands of flows: most) of the packets.
    assert flows.nlargest(len(flows) // 10).sum() > 0.4 * rows
    # Clustered: a packet finds its flow among the packets just before it far more often than by chance.
    window = 50
    codes = made.groupby(keys).ngroup().to_numpy()
    near = np.zeros(rows, dtype=bool)
    for back in range(1, window + 1):
        near[back:] |= codes[back:] == codes[:-back]
    share = np.bincount(codes) / rows
    by_chance = float((share * (1 - (1 - share) ** window)).sum())
    assert near.mean() > by_chance + 0.3
    # Interleaved: hardly ever one flow after itself.
    assert (codes[1:] == codes[:-1]).mean() < 0.6


def test_trades_have_the_shape_promised() -> None:
    made = table("trades", 200_000, 7).to_pandas()
    volumes = made["volume"].value_counts(normalize=True)
    assert 0.48 <= volumes[100] <= 0.52
    assert volumes.head(15).sum() >= 0.88
    assert len(volumes) < 2000
    symbols = made["symbol"].value_counts()
    assert 5_500 <= len(symbols) <= 6_000
    assert symbols.iloc[0] > 0.08 * len(made)
    assert made["ts"].is_monotonic_increasing
    assert 3_590 <= (made["ts"].max() - made["ts"].min()).total_seconds() <= 3_600
    assert (made["r3000"] == (made["r1000"] | made["r2000"])).all()
    assert not (made["r1000"] & made["r2000"]).any()
    of_symbol = made.groupby("symbol")[["close", "r1000", "r2000"]].nunique()
    assert (of_symbol == 1).all(axis=None)
    assert (made["price"] > 0).all()


def test_days_of_trades_fill_several_days() -> None:
    made = table("trades-days", 20_000, 7).to_pandas()
    assert 2.99 <= (made["ts"].max() - made["ts"].min()).total_seconds() / 86_400 <= 3


def test_every_file_is_in_time_order() -> None:
    for name, time in (("packets", "time"), ("trades", "ts")):
        for part in DATASETS[name].tables(40_000, 7):
            assert np.all(np.diff(part[time].cast(pa.int64()).to_numpy()) >= 0)


def test_enough_files_for_several_splits() -> None:
    for name in DATASETS:
        assert len(list(DATASETS[name].tables(20_000, 7))) >= 4


def test_the_cache_is_used_and_keyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    first = ensure("flows", 1_000, root=tmp_path, log=said.append)
    assert said
    stamp = (first / "part-00000.parquet").stat().st_mtime_ns
    said.clear()
    assert ensure("flows", 1_000, root=tmp_path, log=said.append) == first
    assert not said
    assert (first / "part-00000.parquet").stat().st_mtime_ns == stamp
    assert ensure("flows", 1_001, root=tmp_path) != first
    assert ensure("flows", 1_000, seed=8, root=tmp_path) != first
    monkeypatch.setattr(store, "GENERATOR_VERSION", store.GENERATOR_VERSION + 1)
    assert ensure("flows", 1_000, root=tmp_path) != first


def test_an_interrupted_generation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = pq.write_table, []

    def failing(*args: object, **options: object) -> None:
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        write(*args, **options)

    monkeypatch.setattr(pq, "write_table", failing)
    with pytest.raises(KeyboardInterrupt):
        ensure("flows", 1_000, root=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown data set"):
        ensure("trade", 10, root=tmp_path)
    with pytest.raises(ValueError, match="positive"):
        ensure("flows", 0, root=tmp_path)
