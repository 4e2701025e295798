"""Configurations: reading the notation ``ABCD(AB BCD(BC BD CD))`` and drawing it as SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

from phantoms.errors import PhantomsError

_TOKEN = re.compile(r"(\(\))|([A-Za-z]\d*(?:[A-Za-z]\d*)*)|([()])|( +)")
_LETTER = re.compile(r"[A-Za-z]\d*")


@dataclass(frozen=True)
class Relation:
    """A relation of a configuration, and the relations it feeds.

    Attributes
    ----------
    attributes : tuple of str
        Its grouping in the notation's letters; empty for the grouping by nothing.
    children : tuple of Relation
        What it feeds.
    """

    attributes: tuple[str, ...]
    children: tuple[Relation, ...] = field(default=())

    @property
    def label(self) -> str:
        """The relation alone in the notation."""
        return "".join(self.attributes) or "()"

    def names(self, legend: Mapping[str, str]) -> tuple[str, ...]:
        """Its grouping in the names a legend gives the letters."""
        return tuple(legend.get(a, a) for a in self.attributes)

    def walk(self) -> Iterator[Relation]:
        """Yield this relation and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def parse(notation: str) -> list[Relation]:
    """Read the notation.

    Parameters
    ----------
    notation : str
        Such as ``AB(A B) CD``; ``()`` is the grouping by nothing.

    Returns
    -------
    list of Relation
        The relations the raw input feeds.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` if the text is not in the notation.
    """
    at = 0

    def fail() -> PhantomsError:
        return PhantomsError(
            "BAD_ARGUMENT", f"not a configuration: {notation!r}, position {at}.", "Write it as ABCD(AB BCD(BC BD))."
        )

    def siblings(depth: int) -> tuple[Relation, ...]:
        nonlocal at
        found: list[Relation] = []
        while at < len(notation):
            token = _TOKEN.match(notation, at)
            if token is None or (token[3] == "(" or (token[3] == ")" and depth == 0)):
                raise fail()
            if token[3] == ")":
                break
            at = token.end()
            if token[4]:
                continue
            attributes = tuple(_LETTER.findall(token[2])) if token[2] else ()
            children: tuple[Relation, ...] = ()
            if notation.startswith("(", at) and not notation.startswith("()", at):
                at += 1
                children = siblings(depth + 1)
                if not children or not notation.startswith(")", at):
                    raise fail()
                at += 1
            if at < len(notation) and notation[at] not in " )":
                raise fail()
            found.append(Relation(attributes, children))
        return tuple(found)

    return list(siblings(0))


COLUMN, ROW, BOX_HEIGHT, MARGIN = 300, 40, 32, 10


def svg(roots: list[Relation], caption: Callable[[Relation], str], is_phantom: Callable[[Relation], bool]) -> str:
    """Draw a configuration from left (the input) to right, phantoms dashed.

    Parameters
    ----------
    roots : list of Relation
        What `parse` returns.
    caption : callable
        The second line of a relation's box.
    is_phantom : callable
        Whether a relation is one nobody asked for.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    parts: list[str] = []
    next_row = 0
    deepest = 0

    def place(r: Relation, depth: int) -> float:
        """Draw a subtree; returns the y of its root's middle."""
        nonlocal next_row, deepest
        deepest = max(deepest, depth)
        if r.children:
            below = [place(c, depth + 1) for c in r.children]
            y = (below[0] + below[-1]) / 2
            parts.extend(_edge(depth, y, b) for b in below)
        else:
            y = MARGIN + next_row * ROW + BOX_HEIGHT / 2
            next_row += 1
        parts.append(_box(depth, y, r.label, caption(r), is_phantom(r)))
        return y

    tops = [place(r, 1) for r in roots]
    middle = (tops[0] + tops[-1]) / 2 if tops else MARGIN + BOX_HEIGHT / 2
    parts.extend(_edge(0, middle, t) for t in tops)
    parts.append(_box(0, middle, "input", "read once", False))
    width = MARGIN * 2 + (deepest + 1) * COLUMN - (COLUMN - _box_width())
    height = MARGIN * 2 + max(1, next_row) * ROW
    style = (
        "text{font:12px sans-serif;fill:#1b1f24}text.s{font-size:10px;fill:#57606a}"
        "rect{fill:#ddf4ff;stroke:#0969da}rect.p{fill:#fff8c5;stroke:#9a6700;stroke-dasharray:4 3}"
        "path{fill:none;stroke:#8c959f}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><style>{style}</style>{"".join(parts)}</svg>'
    )


def _box_width() -> int:
    return COLUMN - 60


def _x(depth: int) -> int:
    return MARGIN + depth * COLUMN


def _edge(depth: int, y: float, child_y: float) -> str:
    start, end = _x(depth) + _box_width(), _x(depth + 1)
    bend = (start + end) / 2
    return f'<path d="M{start} {y:.1f} C{bend} {y:.1f} {bend} {child_y:.1f} {end} {child_y:.1f}"/>'


def _box(depth: int, y: float, label: str, caption: str, phantom: bool) -> str:
    x, top = _x(depth), y - BOX_HEIGHT / 2
    css = ' class="p"' if phantom else ""
    short = caption if len(caption) <= 40 else caption[:39] + "…"
    return (
        f"<g><title>{escape(label)}: {escape(caption)}</title>"
        f'<rect{css} x="{x}" y="{top:.1f}" width="{_box_width()}" height="{BOX_HEIGHT}" rx="4"/>'
        f'<text x="{x + 8}" y="{top + 13:.1f}">{escape(label)}</text>'
        f'<text class="s" x="{x + 8}" y="{top + 26:.1f}">{escape(short)}</text></g>'
    )
