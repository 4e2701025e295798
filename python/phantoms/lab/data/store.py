"""The cache of generated data sets: one directory of files per (name, rows, seed, generator version)."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from phantoms.lab.data import captures, flows, packets, sweep, trades

GENERATOR_VERSION = 1
"""Raised whenever a generator's output changes, so that no stale cache is read."""

ROW_GROUP_ROWS = 1 << 20


def _write_parquet(table: pa.Table, path: Path, _: int) -> None:
    pq.write_table(table, path, row_group_size=ROW_GROUP_ROWS, compression="snappy")


@dataclass(frozen=True)
class Dataset:
    """A kind of data that can be generated.

    Attributes
    ----------
    name : str
        Its name, part of the cache directory's.
    default_rows : int
        Rows generated when none are asked for.
    tables : callable
        ``tables(rows, seed)`` yields the Arrow tables of the data set, one per file, in file order.
    description : str
        The shape in one sentence.
    suffix : str
        How its files' names end.
    write : callable
        ``write(table, path, written)`` writes one file; so many rows are in the files before it.
    """

    name: str
    default_rows: int
    tables: Callable[[int, int], Iterator[pa.Table]]
    description: str
    suffix: str = ".parquet"
    write: Callable[[pa.Table, Path, int], None] = _write_parquet


CAPTURE_ROWS = 10_000_000

DATASETS: dict[str, Dataset] = {
    d.name: d
    for d in (
        Dataset("flows", flows.DEFAULT_ROWS, flows.tables, "NetFlow v5 records of recurring conversations"),
        Dataset("packets", packets.DEFAULT_ROWS, packets.tables, "packet headers of Pareto flows between Zipf hosts"),
        Dataset("trades", trades.DEFAULT_ROWS, trades.hour, "an hour of stock trades of 6000 Zipf symbols"),
        Dataset("trades-days", trades.DEFAULT_ROWS, trades.days, "the same over three days"),
        Dataset("capture", CAPTURE_ROWS, packets.tables, "the packets as pcap files", ".pcap", captures.write_capture),
        Dataset(
            "export", flows.DEFAULT_ROWS, flows.tables, "the flows as NetFlow v5 exports", ".nf5", captures.write_export
        ),
        Dataset(
            "export-capture",
            flows.DEFAULT_ROWS,
            flows.tables,
            "the flows as captured NetFlow v5 datagrams",
            ".pcap",
            captures.write_export_capture,
        ),
        *(
            Dataset(
                sweep.name(p), sweep.DEFAULT_ROWS, partial(sweep.tables, p), f"8 keys, {p:g} % as many groups as rows"
            )
            for p in sweep.PERCENTAGES
        ),
    )
}


def default_root() -> Path:
    """The cache's place: ``$PHANTOMS_DATA``, or ``.data`` under the working directory."""
    return Path(os.environ.get("PHANTOMS_DATA", ".data"))


def ensure(
    name: str,
    rows: int | None = None,
    seed: int = 7,
    root: Path | None = None,
    log: Callable[[str], None] | None = None,
) -> Path:
    """Return the directory of a data set, generating it if the cache does not hold it.

    Parameters
    ----------
    name : str
        ``"flows"``, ``"packets"``, ``"trades"``, ``"capture"``, or ``"sweep-10"`` and the like: see `DATASETS`.
    rows : int, optional
        Number of records; the data set's own default if omitted.
    seed : int
        The same name, rows and seed give the same bytes of data.
    root : Path, optional
        Where the cache lives; `default_root` if omitted.
    log : callable, optional
        Receives a line when something is generated.

    Returns
    -------
    Path
        A directory of Parquet files, or of what the data set is written as.

    Raises
    ------
    ValueError
        If the name is unknown or `rows` is not positive.
    """
    count = _rows(name, rows)
    base = default_root() if root is None else root
    target = base / f"{name}-{count}-s{seed}-v{GENERATOR_VERSION}"
    if not (target / "_SUCCESS").exists():
        generate(name, target, count, seed, log)
    return target


def _rows(name: str, rows: int | None) -> int:
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(sorted(DATASETS))}")
    count = DATASETS[name].default_rows if rows is None else rows
    if count <= 0:
        raise ValueError(f"rows must be positive, not {count}")
    return count


def generate(
    name: str, target: Path, rows: int | None = None, seed: int = 7, log: Callable[[str], None] | None = None
) -> None:
    """Write a data set to a directory, in place of what is there.

    Parameters
    ----------
    name, rows, seed, log
        As for `ensure`.
    target : Path
        The directory of files to make.

    Raises
    ------
    ValueError
        If the name is unknown or `rows` is not positive.
    """
    count = _rows(name, rows)
    started = time.perf_counter()
    if log is not None:
        log(f"generating {count:,} {name} into {target}")
    # Written beside the target and renamed at the end: an interrupted run leaves no half data set behind.
    partial = target.parent / f".{target.name}.{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        written = 0
        dataset = DATASETS[name]
        for i, table in enumerate(dataset.tables(count, seed)):
            path = partial / f"part-{i:05d}{dataset.suffix}"
            dataset.write(table, path, written)
            written += table.num_rows
        if written != count:
            raise AssertionError(f"generator of {name} made {written} rows, not {count}")
        meta = {"name": name, "rows": count, "seed": seed, "generator": GENERATOR_VERSION}
        (partial / "_meta.json").write_text(json.dumps(meta) + "\n")
        (partial / "_SUCCESS").touch()
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if log is not None:
        log(f"generated {count:,} {name} in {time.perf_counter() - started:.1f} s")
