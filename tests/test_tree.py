from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from phantoms import PhantomsError
from phantoms.tree import Relation, parse, svg


def write(r: Relation) -> str:
    return r.label + (f"({' '.join(write(c) for c in r.children)})" if r.children else "")


@pytest.mark.parametrize("text", ["ABCD(AB BCD(BC BD CD))", "A B CD", "()", "AB(A(()) B)", "A () B", "A1Z2(Z2)", ""])
def test_reads_what_is_written(text: str) -> None:
    assert " ".join(write(r) for r in parse(text)) == text


@pytest.mark.parametrize("text", ["A(", "A)", "(A)", "A(B", "A(B)C", "A()", "A,B", "1A", "A(B))"])
def test_refuses_other_text(text: str) -> None:
    with pytest.raises(PhantomsError) as e:
        parse(text)
    assert e.value.error_class == "BAD_ARGUMENT"


def test_drawing_has_a_box_per_relation_and_marks_phantoms() -> None:
    roots = parse("ABC(AB BC)")
    drawn = ET.fromstring(svg(roots, lambda r: f"<{r.label}>", lambda r: r.label == "ABC"))
    name = "{http://www.w3.org/2000/svg}"
    boxes = list(drawn.iter(f"{name}rect"))
    assert len(boxes) == 4  # the input and three relations
    assert [b.get("class") for b in boxes].count("p") == 1
    assert len(list(drawn.iter(f"{name}path"))) == 3
    texts = [t.text for t in drawn.iter(f"{name}text")]
    assert "<AB>" in texts
    tops = {(b.get("x"), b.get("y")) for b in boxes}
    assert len(tops) == len(boxes)


def test_names_follow_the_legend() -> None:
    (root,) = parse("AB")
    assert root.names({"A": "srcaddr"}) == ("srcaddr", "B")


def test_styles_hold_for_the_picture_alone() -> None:
    drawn = svg(parse("AB(A)"), lambda r: r.label, lambda _: False)
    name = ET.fromstring(drawn).get("id")
    style = re.search(r"<style>(.*)</style>", drawn)
    assert style is not None
    rules = re.sub(r"@media\([^)]*\)\{(.*?\})\}", r"\1", style[1])
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", rules)
    assert len(selectors) == 36  # two of light and two of dark, and twice what the reader's system prefers
    assert all(re.search(rf"(^| )#{name} ", s) for s in selectors)
    assert "prefers-color-scheme:dark" in style[1]
    assert ET.fromstring(svg(parse("A"), lambda r: r.label, lambda _: False)).get("id") != name


def test_an_outline_of_nine_levels_is_narrower_than_a_page() -> None:
    deep = ET.fromstring(svg(parse("A(B(C(D(E(F(G(H(I))))))))"), lambda r: r.label, lambda _: False))
    assert float(deep.get("width", "inf")) < 700
    tops = [float(b.get("y", "0")) for b in deep.iter("{http://www.w3.org/2000/svg}rect")]
    assert tops == sorted(tops)
    assert tops[0] < 20  # the input, in sight


def test_the_input_is_no_report_and_notes_are_written() -> None:
    drawn = ET.fromstring(svg(parse("A"), lambda r: r.label, lambda _: False, lambda _: "7 rows", "9 rows, read once"))
    boxes = [b.get("class") for b in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert boxes == ["i", None]
    texts = [t.text for t in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"7 rows", "9 rows, read once"} < set(texts)
