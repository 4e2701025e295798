"""Configurations: reading the notation ``ABCD(AB BCD(BC BD CD))`` and drawing it as SVG."""

from __future__ import annotations

import hashlib
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
    is_phantom: Callable[[Relation], bool],
    note: Callable[[Relation], str] = lambda _: "",
    source: str = "read once",
) -> str:
    """Draw a configuration as an outline: the input on top, below each relation what it feeds; phantoms dashed.

    The picture's styles hold for nothing else on the page. It is dark where the page's reader prefers that, or where
    JupyterLab or Visual Studio Code has a dark theme.

    Parameters
    ----------
    roots : list of Relation
        What `parse` returns.
    caption : callable
        The second line of a relation's box.
    is_phantom : callable
        Whether a relation is one nobody asked for.
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
        boxes.append(_box(depth, row, r.label, caption(r), note(r), "p" if is_phantom(r) else ""))
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
