"""Writes what docs and facade have of the columns of captures and flow exports: ``make docs-lfta``.

The readers' schemas are the only source: ``python/phantoms/lfta_columns.json`` has them as they are, ``docs/lfta.md``
as tables, beside that of the options, each between two comments.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from phantoms.lfta_info import run_main
from phantoms.lfta_options import OPTIONS

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ROOT / "python/phantoms/lfta_columns.json"
PAGE = ROOT / "docs/lfta.md"

_TYPES = {"INT": "INT", "LONG": "BIGINT", "TIMESTAMP": "TIMESTAMP", "ADDRESS": "address", "BYTES": "BINARY",
          "TEXT": "STRING", "MAP": "MAP<STRING, BINARY>"}  # fmt: skip


def columns() -> dict[str, list[dict[str, str]]]:
    """The columns as the jar has them."""
    found: dict[str, list[dict[str, str]]] = json.loads(run_main(["--columns"]))
    return found


def as_json(found: dict[str, list[dict[str, str]]]) -> str:
    return json.dumps(found, indent=1) + "\n"


def as_table(fields: list[dict[str, str]]) -> str:
    rows = [f"| `{f['name']}` | {_TYPES[f['kind']]} | {f['comment']} |" for f in fields]
    return "\n".join(["| Column | Type | Meaning |", "| --- | --- | --- |", *rows])


def options_table() -> str:
    rows = [f"| `{o.name}` | `{o.spark}` | {_default(o.default)} | {o.meaning} |" for o in OPTIONS.values()]
    return "\n".join(["| In Python | In Spark | Default | Meaning |", "| --- | --- | --- | --- |", *rows])


def _default(value: str) -> str:
    if not value:
        return "none"
    return value if " " in value else f"`{value}`"


def page(text: str, found: dict[str, list[dict[str, str]]]) -> str:
    """A page with its tables written anew."""
    tables = {name: as_table(fields) for name, fields in found.items()} | {"options": options_table()}
    for name, table in tables.items():
        begin, end = f"<!-- {name}: make docs-lfta -->", f"<!-- end of {name} -->"
        text, replaced = re.subn(
            f"{re.escape(begin)}.*?{re.escape(end)}",
            lambda _, t=table, b=begin, e=end: f"{b}\n{t}\n{e}",  # type: ignore[misc]
            text,
            flags=re.DOTALL,
        )
        if replaced != 1:
            raise ValueError(f"{replaced} places for the table of {name}")
    return text


if __name__ == "__main__":
    all_columns = columns()
    COLUMNS.write_text(as_json(all_columns), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), all_columns), encoding="utf-8")
