from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from phantoms.cli.main import main
from phantoms.lab.benchmark import answers
from phantoms.lab.benchmark.catalog import check
from phantoms.lab.benchmark.engines import ENGINES
from phantoms.lab.data import ensure
from phantoms.lab.reports import NFC22, WORKLOADS, Workload, union


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_union_form(engine: str, workload: Workload, flows: Path, packets: Path) -> None:
    if not ENGINES[engine].installed():
        pytest.skip(f"{engine} is not installed")
    path = flows if workload is NFC22 else packets
    query = answers.fingerprint_sql(workload, union(workload, f"read_parquet('{path}/*.parquet')"))
    expected = answers.fingerprint(duckdb.sql(query).fetchall())
    opened = ENGINES[engine].open(workload, path)
    try:
        assert answers.differences(expected, opened.fingerprint()) == []
        assert opened.run() > 0
        assert opened.run() > 0
    finally:
        opened.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_answer_is_seen(engine: str, packets: Path, tmp_path: Path) -> None:
    if not ENGINES[engine].installed():
        pytest.skip(f"{engine} is not installed")
    found = []
    for path in (packets, ensure("packets", 50_000, seed=8, root=tmp_path)):
        opened = ENGINES[engine].open(WORKLOADS["smap4"], path)
        found.append(opened.fingerprint())
        opened.close()
    assert len(answers.differences(*found)) == 4


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_engines(engine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(ENGINES, engine, replace(ENGINES[engine], installed=lambda: False))
    assert engine not in check("nfc22", 1, None)
    assert main(["bench", "nfc22", "--forms", "plain_sets", engine]) == 2
    said = capsys.readouterr().err
    assert "BAD_ARGUMENT" in said
    assert ENGINES[engine].title in said
