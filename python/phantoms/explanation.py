"""What the plugin decided about a DataFrame, and why."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from phantoms import _jvm, tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Explanation", "WhyNot", "explain", "why_not"]


class _Planned:
    """Decisions of one planning."""

    _document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """All decisions about the plan as the JVM serialised them."""
        return dict(self._document)

    @property
    def declined(self) -> list[dict[str, Any]]:
        """What is left alone: ``code``, ``reason``, ``subject``, ``tree``, ``workload`` and ``advice`` of each part."""
        return [d for d in self._document.get("decisions", []) if d["decision"] == "declined"]


class Explanation(_Planned):
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

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """One entry per place in the plan where aggregates could have been shared."""
        return list(self._document.get("decisions", []))

    @property
    def shared(self) -> list[dict[str, Any]]:
        """The decisions to share."""
        return [d for d in self.decisions if d["decision"] == "shared"]

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


class WhyNot(_Planned, str):
    """Why the plugin leaves a plan, or parts of it, alone: a text, a dict, and a preformatted text in a notebook.

    The text is a tree of the query's aggregates, each followed by what became of it, and by what would help.

    Parameters
    ----------
    text : str
        For people.
    document : mapping
        For programs: see `to_dict`.
    """

    def __new__(cls, text: str, document: Mapping[str, Any]) -> WhyNot:
        """Text and decisions of one planning."""
        made = super().__new__(cls, text)
        made._document = dict(document)
        return made

    def __reduce__(self) -> tuple[type[WhyNot], tuple[str, dict[str, Any]]]:
        return WhyNot, (str(self), self._document)

    def __str__(self) -> str:
        """The tree alone."""
        return str.__str__(self)

    def __repr__(self) -> str:
        """The codes alone."""
        return f"<WhyNot: {', '.join(self.codes) or 'nothing left alone'}>"

    @property
    def codes(self) -> list[str]:
        """Codes of the reasons, each once, in the order of `declined`."""
        return list(dict.fromkeys(d["code"] for d in self.declined))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


def legend_of(decision: Mapping[str, Any]) -> dict[str, str]:
    """Column of each letter in a decision's notation."""
    return {str(k): str(v) for k, v in dict(decision.get("legend", {})).items()}


def _draw(
    decision: Mapping[str, Any], captions: Mapping[frozenset[str], str], notes: Mapping[frozenset[str], str]
) -> str:
    def caption(r: tree.Relation) -> str:
        return captions.get(frozenset(r.keys), ", ".join(r.keys) or "everything")

    def note(r: tree.Relation) -> str:
        expected = f"{r.expected_groups:,.0f} rows expected" if r.expected_groups else ""
        return notes.get(frozenset(r.keys)) or expected

    rows = decision.get("rows")
    source = f"{rows:,.0f} rows, read once" if rows else "read once"
    return tree.svg(tree.of(decision["relations"]), caption, note, source)


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
    answer = _jvm.call(_jvm.session_of(df), "explain", df=df)
    return Explanation(answer["text"], answer["document"])


def why_not(df: DataFrame) -> WhyNot:
    """Tell why the plugin leaves a DataFrame (or parts of it) alone: a tree of its aggregates, with codes and advice.

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
    answer = _jvm.call(_jvm.session_of(df), "why_not", df=df)
    return WhyNot(answer["text"], answer["document"])
