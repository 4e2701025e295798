"""Comparing answers without collecting them: per-report fingerprints that any SQL engine here computes alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from phantoms.lab.reports import Workload

PRIME = 2_147_483_647
"""2^31 - 1: the square of a residue still fits a BIGINT."""

Fingerprint = dict[str, tuple[int, int, int]]
"""Per report: rows, and two sums over a hash of each row. Equal for equal multisets of rows; different rows collide
with probability around 2^-31 per sum."""


def named_sets(workload: Workload, relation: str) -> str:
    """SQL giving a sets-form result the columns of the union form."""
    cases = " ".join(f"WHEN {workload.grouping_id(r)} THEN '{r.name}'" for r in workload.reports)
    rest = ", ".join((*workload.keys, *(name for _, name in workload.aggregates)))
    return f"SELECT CASE gid {cases} END AS report, {rest} FROM {relation}"


def padded_report(workload: Workload, index: int, relation: str) -> str:
    """SQL giving the result of one separate query the columns of the union form."""
    report = workload.reports[index]
    keys = ", ".join(k if k in report.keys else f"CAST(NULL AS INT) AS {k}" for k in workload.keys)
    rest = ", ".join((keys, *(name for _, name in workload.aggregates)))
    return f"SELECT '{report.name}' AS report, {rest} FROM {relation}"


def columns(workload: Workload) -> tuple[str, ...]:
    """The columns of the union form that are compared."""
    return (*workload.keys, *(name for _, name in workload.aggregates))


def weights(names: Sequence[str], salt: int) -> list[tuple[str, int, int]]:
    """Of each column: its name, what NULL counts as, and its weight in the hash of that salt."""
    return [(c, 7919 * salt + i, (104729 * salt + 7907 * i) % 1_000_003) for i, c in enumerate(names)]


def fingerprint_sql(workload: Workload, relation: str) -> str:
    """SQL computing the `Fingerprint` of a relation with the union form's columns."""
    return fingerprint_by("report", columns(workload), relation)


def fingerprint_by(name: str, numbers: Sequence[str], relation: str) -> str:
    """SQL computing the `Fingerprint` of a relation.

    Parameters
    ----------
    name : str
        The column that tells which report or query a row belongs to.
    numbers : sequence of str
        Expressions of whole numbers, which are compared.
    relation : str
        SQL of the relation.
    """
    hashes = []
    for salt in (1, 2):
        # Each value is reduced, weighed by its column and summed; squaring keeps sums of rows from cancelling out.
        terms = " + ".join(
            f"(CAST(coalesce({c}, {null}) AS BIGINT) % {PRIME}) * {weight}"
            for c, null, weight in weights(numbers, salt)
        )
        mixed = f"(({terms}) % {PRIME})"
        hashes.append(f"sum({mixed} * {mixed} % {PRIME})")
    return f"SELECT {name}, count(*) AS n, {hashes[0]} AS h1, {hashes[1]} AS h2 FROM ({relation}) GROUP BY {name}"


def fingerprint(rows: Iterable[Any]) -> Fingerprint:
    """Read the result of `fingerprint_sql`."""
    return {str(r[0]): (int(r[1]), int(r[2]), int(r[3])) for r in rows}


def differences(expected: Fingerprint, found: Fingerprint) -> list[str]:
    """Describe where two fingerprints differ; empty if they are equal."""
    lines = []
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            a, b = expected.get(name, (0, 0, 0)), found.get(name, (0, 0, 0))
            lines.append(f"{name}: {a[0]} rows expected, {b[0]} found" if a[0] != b[0] else f"{name}: values differ")
    return lines
