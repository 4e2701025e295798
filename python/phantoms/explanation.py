"""What the plugin decided about a DataFrame, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from phantoms import _jvm, tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Explanation", "explain", "why_not"]


class Explanation:
    """The plugin's decisions about one plan: printable, a dict, and a drawing in a notebook.

    Parameters
    ----------
    text : str
        For people.
    document : mapping
        For programs: see `to_dict`.
    """

    def __init__(self, text: str, document: Mapping[str, Any]) -> None:
        self._text = text
        self._document = dict(document)

    def __str__(self) -> str:
        """The decisions as text."""
        return self._text

    def __repr__(self) -> str:
        """The decisions in short."""
        return f"<Explanation: {'; '.join(self.configurations) or 'nothing shared'}>"

    def to_dict(self) -> dict[str, Any]:
        """The decisions as the JVM serialised them."""
        return dict(self._document)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """One entry per place in the plan where aggregates could have been shared."""
        return list(self._document.get("decisions", []))

    @property
    def shared(self) -> list[dict[str, Any]]:
        """The decisions to share."""
        return [d for d in self.decisions if d["decision"] == "shared"]

    @property
    def declined(self) -> list[dict[str, Any]]:
        """The decisions to leave a part of the plan alone, each with ``code`` and ``reason``."""
        return [d for d in self.decisions if d["decision"] == "declined"]

    @property
    def configurations(self) -> list[str]:
        """The configurations chosen, in the notation ``ABCD(AB BCD(BC BD CD))``."""
        return [str(d["notation"]) for d in self.shared]

    def svg(
        self,
        captions: Mapping[frozenset[str], str] | None = None,
        notes: Mapping[frozenset[str], str] | None = None,
    ) -> str:
        """Draw the configurations, one ``<svg>`` element each.

        Parameters
        ----------
        captions : mapping, optional
            What to call the relation of a grouping, instead of its columns.
        notes : mapping, optional
            What to say of the relation of a grouping, instead of the groups it is expected to have.
        """
        return "\n".join(_draw(d, captions or {}, notes or {}) for d in self.shared)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._text)}</pre>{self.svg()}"


def legend_of(decision: Mapping[str, Any]) -> dict[str, str]:
    """Column of each letter in a decision's notation."""
    return {str(k): str(v) for k, v in dict(decision.get("legend", {})).items()}


def _draw(
    decision: Mapping[str, Any], captions: Mapping[frozenset[str], str], notes: Mapping[frozenset[str], str]
) -> str:
    legend = legend_of(decision)
    phantoms = {frozenset(r["keys"]) for r in decision.get("relations", []) if r["phantom"]}

    def caption(r: tree.Relation) -> str:
        names = r.names(legend)
        return captions.get(frozenset(names), ", ".join(names) or "everything")

    def is_phantom(r: tree.Relation) -> bool:
        return frozenset(r.names(legend)) in phantoms

    def note(r: tree.Relation) -> str:
        names = frozenset(r.names(legend))
        return notes.get(names) or (f"{expected[names]:,.0f} rows expected" if expected.get(names) else "")

    expected = expected_groups(decision)
    rows = decision.get("rows")
    source = f"{rows:,.0f} rows, read once" if rows else "read once"
    return tree.svg(tree.parse(decision["notation"]), caption, is_phantom, note, source)


def expected_groups(decision: Mapping[str, Any]) -> dict[frozenset[str], float]:
    """How many groups each relation of a decision is expected to have, where that is known."""
    found = ((frozenset(r["keys"]), r["expected_groups"]) for r in decision.get("relations", []))
    return {keys: float(n) for keys, n in found if n is not None}


def explain(df: DataFrame) -> Explanation:
    """Tell what the plugin would do with a DataFrame: workloads, configurations, costs, or coded reasons against.

    Plans the DataFrame anew but runs nothing, save for a sample of its input where statistics are missing.

    Parameters
    ----------
    df : DataFrame
        Any query.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` without the plugin; ``CONNECT_UNSUPPORTED`` for a Spark Connect DataFrame.
    """
    api = _jvm.api(_jvm.session_of(df))
    return Explanation(str(api.explainText(df._jdf)), json.loads(api.explainJson(df._jdf)))


def why_not(df: DataFrame) -> str:
    """Tell why the plugin leaves a DataFrame (or parts of it) alone: a line per place, with code and remedy.

    Parameters
    ----------
    df : DataFrame
        Any query.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` without the plugin; ``CONNECT_UNSUPPORTED`` for a Spark Connect DataFrame.
    """
    return str(_jvm.api(_jvm.session_of(df)).whyNotText(df._jdf))
