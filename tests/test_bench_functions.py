"""Benchmarks of DISTINCT, of objects and of subqueries: the same rows from every form, the plugin's shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from phantoms.errors import PhantomsError
from phantoms.lab.benchmark import FORMS, QUERY_FORMS, answers
from phantoms.lab.benchmark.catalog import check, possible, sparked_forms
from phantoms.lab.benchmark.forms import FunctionForms
from phantoms.lab.benchmark.result import FLOORS
from phantoms.lab.benchmark.session import register
from phantoms.lab.data import ensure
from phantoms.lab.queries import QUERY_WORKLOADS
from phantoms.lab.reports import FUNCTION_WORKLOADS

ROWS = 500


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flows")


@pytest.mark.in_turn
@pytest.mark.parametrize("name", [*FUNCTION_WORKLOADS, *QUERY_WORKLOADS])
def test_every_form_gives_the_same_rows(name: str, session: SparkSession, root: Path, tmp_path: Path) -> None:
    forms = sparked_forms(name)
    forms.spark = session
    register(session, forms.table, ensure(forms.dataset, ROWS, root=root))
    try:
        expected: answers.Fingerprint | None = None
        # One query after another is what other tests of reports look at.
        for form in (f for f in possible(forms, list(forms.forms), named=False) if f != "plain_separate"):
            if form in FLOORS:
                assert forms.run(form) > 0
                continue
            # Fails if a plain form is shared.
            found = forms.fingerprint(form, tmp_path / form, print)
            if expected is None:
                expected = found
                assert forms.missing(found) == []
            assert answers.differences(expected, found) == []
        if isinstance(forms, FunctionForms):
            assert forms.acted == {"plugin_union": True, "plugin_sets": True}
    finally:
        session.conf.set("spark.phantoms.enabled", "true")


def test_forms_asked_for() -> None:
    assert check("subqueries6", 1, ["scan", "plain_query"]) == ["plain_query", "scan"]
    assert check("subqueries6", 1, None) == list(QUERY_FORMS)
    with pytest.raises(PhantomsError, match="plain_union"):
        check("subqueries6", 1, ["plain_union"])
    with pytest.raises(PhantomsError, match="distinct4 has no duckdb"):
        possible(sparked_forms("distinct4"), ["duckdb"], named=True)
    assert "duckdb" not in possible(sparked_forms("objects8"), list(FORMS), named=False)
    with pytest.raises(PhantomsError, match="subqueries6 has no duckdb"):
        sparked_forms("subqueries6").engine("duckdb", Path())
