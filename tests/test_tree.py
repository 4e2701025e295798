from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

from phantoms.tree import Relation, of, svg


def relation(label: str, parent: int | None = None, *, phantom: bool = False) -> dict[str, Any]:
    keys = [f"column {x}" for x in label if x not in "()"]
    return {"relation": label, "keys": keys, "parent": parent, "phantom": phantom, "expected_groups": 7.0}


def chain(labels: str) -> list[Relation]:
    return of([relation(x, i - 1 if i else None) for i, x in enumerate(labels)])


def test_relations_become_trees() -> None:
    found = of(
        [
            relation("ABC", phantom=True),
            relation("D"),
            relation("BC", 0),
            relation("C", 2),
            relation("()", 1),
            relation("A", 0),
        ]
    )
    assert [r.label for r in found] == ["ABC", "D"]
    assert [r.label for r in found[0].walk()] == ["ABC", "BC", "C", "A"]
    assert [r.label for r in found[1].walk()] == ["D", "()"]
    assert (found[0].phantom, found[1].phantom) == (True, False)
    assert found[0].keys == ("column A", "column B", "column C")
    assert (found[1].children[0].keys, found[1].expected_groups) == ((), 7.0)
    assert of([]) == []


def test_drawing_has_a_box_per_relation_and_marks_phantoms() -> None:
    roots = of([relation("ABC", phantom=True), relation("AB", 0), relation("BC", 0)])
    drawn = ET.fromstring(svg(roots, lambda r: f"<{r.label}>"))
    name = "{http://www.w3.org/2000/svg}"
    boxes = list(drawn.iter(f"{name}rect"))
    assert len(boxes) == 4  # the input and three relations
    assert [b.get("class") for b in boxes].count("p") == 1
    assert len(list(drawn.iter(f"{name}path"))) == 3
    texts = [t.text for t in drawn.iter(f"{name}text")]
    assert "<AB>" in texts
    tops = {(b.get("x"), b.get("y")) for b in boxes}
    assert len(tops) == len(boxes)


def test_styles_hold_for_the_picture_alone() -> None:
    drawn = svg(chain("BA"), lambda r: r.label)
    name = ET.fromstring(drawn).get("id")
    style = re.search(r"<style>(.*)</style>", drawn)
    assert style is not None
    rules = re.sub(r"@media\([^)]*\)\{(.*?\})\}", r"\1", style[1])
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", rules)
    assert len(selectors) == 36  # two of light and two of dark, and twice what the reader's system prefers
    assert all(re.search(rf"(^| )#{name} ", s) for s in selectors)
    assert "prefers-color-scheme:dark" in style[1]
    assert ET.fromstring(svg(chain("A"), lambda r: r.label)).get("id") != name


def test_an_outline_of_nine_levels_is_narrower_than_a_page() -> None:
    deep = ET.fromstring(svg(chain("ABCDEFGHI"), lambda r: r.label))
    assert float(deep.get("width", "inf")) < 700
    tops = [float(b.get("y", "0")) for b in deep.iter("{http://www.w3.org/2000/svg}rect")]
    assert tops == sorted(tops)
    assert tops[0] < 20  # the input, in sight


def test_the_input_is_no_report_and_notes_are_written() -> None:
    drawn = ET.fromstring(svg(chain("A"), lambda r: r.label, lambda _: "7 rows", "9 rows, read once"))
    boxes = [b.get("class") for b in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert boxes == ["i", None]
    texts = [t.text for t in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"7 rows", "9 rows, read once"} < set(texts)
