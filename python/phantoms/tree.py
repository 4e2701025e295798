"""Configurations as trees, and drawn as SVG."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any


@dataclass(frozen=True)
class Relation:
    """A relation of a configuration, and the relations it feeds.

    Attributes
    ----------
    label : str
        Its grouping in the notation's letters; ``()`` for the grouping by nothing.
    keys : tuple of str
        Its grouping in names.
    phantom : bool
        Whether nobody asked for it.
    expected_groups : float, optional
        How many rows it is expected to have.
    children : tuple of Relation
        What it feeds.
    """

    label: str
    keys: tuple[str, ...] = ()
    phantom: bool = False
    expected_groups: float | None = None
    children: tuple[Relation, ...] = field(default=())

    def walk(self) -> Iterator[Relation]:
        """Yield this relation and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def of(relations: Sequence[Mapping[str, Any]]) -> list[Relation]:
    """The trees of a configuration, as explanations and plans have its relations.

    Parameters
    ----------
    relations : sequence of mapping
        Each with ``relation``, ``keys``, ``phantom``, ``expected_groups`` and ``parent`` (an ordinal, or None).

    Returns
    -------
    list of Relation
        Those the raw input feeds.
    """
    children: dict[int | None, list[int]] = {}
    for i, r in enumerate(relations):
        children.setdefault(r["parent"], []).append(i)

    def made(i: int) -> Relation:
        r = relations[i]
        below = tuple(made(c) for c in children.get(i, []))
        return Relation(r["relation"], tuple(r["keys"]), r["phantom"], r["expected_groups"], below)

    return [made(i) for i in children.get(None, [])]


INDENT, ROW, BOX_HEIGHT, BOX_WIDTH, MARGIN = 28, 42, 34, 340, 10

LIGHT = {
    "text": "#1b1f24", "small": "#57606a", "edge": "#8c959f", "report": "#ddf4ff", "report_line": "#0969da",
    "phantom": "#fff8c5", "phantom_line": "#9a6700",
}  # fmt: skip
DARK = {
    "text": "#e6edf3", "small": "#9da7b3", "edge": "#6e7681", "report": "#0c2d4d", "report_line": "#4493f8",
    "phantom": "#3a2d0a", "phantom_line": "#d29922",
}  # fmt: skip


def svg(
    roots: list[Relation],
    caption: Callable[[Relation], str],
    note: Callable[[Relation], str] = lambda _: "",
    source: str = "read once",
) -> str:
    """Draw a configuration as an outline: the input on top, below each relation what it feeds; phantoms dashed.

    The picture's styles hold for nothing else on the page. It is dark where the page's reader prefers that, or where
    JupyterLab or Visual Studio Code has a dark theme.

    Parameters
    ----------
    roots : list of Relation
        What `of` returns.
    caption : callable
        The second line of a relation's box.
    note : callable
        What stands at the right of a relation's box, such as its rows.
    source : str
        The second line of the input's box.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    boxes = [_box(0, 0, "input", source, "", "i")]
    edges: list[str] = []
    deepest = 0

    def place(r: Relation, depth: int, parent_row: int) -> None:
        nonlocal deepest
        deepest = max(deepest, depth)
        row = len(boxes)
        edges.append(_edge(depth, parent_row, row))
        boxes.append(_box(depth, row, r.label, caption(r), note(r), "p" if r.phantom else ""))
        for child in r.children:
            place(child, depth + 1, row)

    for root in roots:
        place(root, 1, 0)
    width = MARGIN * 2 + deepest * INDENT + BOX_WIDTH
    height = MARGIN * 2 + (len(boxes) - 1) * ROW + BOX_HEIGHT
    body = "".join(edges) + "".join(boxes)
    name = f"phantoms-{hashlib.sha256(body.encode()).hexdigest()[:12]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><style>{_style(name)}</style>{body}</svg>'
    )


def _style(name: str) -> str:
    """Rules that begin with the picture's id: others' pictures stay as they are."""
    return (
        _rules(f"#{name}", LIGHT)
        + f"@media(prefers-color-scheme:dark){{{_rules(f'#{name}', DARK)}}}"
        # A notebook's own theme wins over what the reader's system prefers.
        + _rules(f'[data-jp-theme-light="true"] #{name}', LIGHT)
        + _rules(f'[data-jp-theme-light="false"] #{name}', DARK)
        + _rules(f".vscode-light #{name}", LIGHT)
        + _rules(f".vscode-dark #{name}", DARK)
    )


def _rules(scope: str, c: Mapping[str, str]) -> str:
    return (
        f"{scope} text{{font:12px sans-serif;fill:{c['text']}}}"
        f"{scope} text.s{{font-size:10px;fill:{c['small']}}}"
        f"{scope} rect{{fill:{c['report']};stroke:{c['report_line']}}}"
        f"{scope} rect.p{{fill:{c['phantom']};stroke:{c['phantom_line']};stroke-dasharray:4 3}}"
        f"{scope} rect.i{{fill:none;stroke:{c['edge']};stroke-width:2}}"
        f"{scope} path{{fill:none;stroke:{c['edge']}}}"
    )


def _top(row: int) -> int:
    return MARGIN + row * ROW


def _edge(depth: int, parent_row: int, row: int) -> str:
    """From the lower left of the parent's box down, then right to this one."""
    x, y = MARGIN + (depth - 1) * INDENT + INDENT // 2, _top(row) + BOX_HEIGHT // 2
    return f'<path d="M{x} {_top(parent_row) + BOX_HEIGHT} V{y} H{MARGIN + depth * INDENT}"/>'


def _box(depth: int, row: int, label: str, caption: str, note: str, css: str) -> str:
    x, top = MARGIN + depth * INDENT, _top(row)
    kind = f' class="{css}"' if css else ""
    corner = BOX_HEIGHT // 2 if css == "i" else 4
    indent = corner if css == "i" else 8
    right = f'<text class="s" x="{x + BOX_WIDTH - 8}" y="{top + 14}" text-anchor="end">{escape(note)}</text>'
    return (
        f"<g><title>{escape(label)}: {escape(caption)}{escape(f', {note}' if note else '')}</title>"
        f'<rect{kind} x="{x}" y="{top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="{corner}"/>'
        f'<text x="{x + indent}" y="{top + 14}">{escape(_short(label, 40 if not note else 20))}</text>'
        f'<text class="s" x="{x + indent}" y="{top + 28}">{escape(_short(caption, 60))}</text>'
        f"{right if note else ''}</g>"
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
