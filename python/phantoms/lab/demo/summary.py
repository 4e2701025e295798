"""The demonstration's summary, as text and as one self-contained HTML file."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from html import escape
from typing import Any

from phantoms import tree
from phantoms.explanation import expected_groups, legend_of
from phantoms.lab.demo.run import DemoResult
from phantoms.lab.reports import NFC22

_STYLE = """
:root{color-scheme:light dark;--text:#1b1f24;--back:#fff;--line:#d0d7de;--code:#f6f8fa;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--back:#0d1117;--line:#30363d;--code:#161b22;--bad:#ff7b72}}
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
body{color:var(--text);background:var(--back)}
table{border-collapse:collapse}td,th{padding:.15rem .8rem;border-bottom:1px solid var(--line);text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code,pre{background:var(--code);padding:.1rem .3rem}
code{overflow-wrap:anywhere}pre{white-space:pre-wrap}.scroll{overflow-x:auto}.bad{color:var(--bad)}
.big{font-size:2.4rem;font-weight:600;margin:.5rem 0}.big small{font-size:1rem;font-weight:400}
"""


def _captions() -> dict[frozenset[str], str]:
    return {frozenset(r.keys): r.name for r in NFC22.reports}


def _verdict(result: DemoResult) -> str:
    total = sum(result.sizes.values())
    if result.equal:
        return f"answers equal: all {total:,} rows of both"
    return f"ANSWERS DIFFER in {result.differing:,} rows"


def text(result: DemoResult) -> str:
    """The summary for a terminal."""
    lines = [
        "",
        f"22 NetFlow Collector reports over {result.rows:,} flow records, Spark {result.spark}",
        f"  plain Spark   {result.off:8.2f} s",
        f"  spark-phantoms{result.on:8.2f} s",
        f"  ratio         {result.ratio:8.2f} x",
        f"  {_verdict(result)}",
    ]
    for decision in result.explanation.shared:
        lines.append("  configuration")
        lines += textwrap.wrap(decision["notation"], 100, initial_indent="    ", subsequent_indent="      ")
        legend = ", ".join(f"{k} = {v}" for k, v in legend_of(decision).items())
        lines += textwrap.wrap(f"where {legend}", 100, initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines)


def _costs(result: DemoResult) -> str:
    """Seconds as expected before the first run, and as measured."""
    shared = result.before.shared
    expected = [f"{sum(d[k] for d in shared) / 1e9:.2f} s" if shared else "-" for k in ("cost_without", "cost")]
    lines = zip(("plain Spark", "spark-phantoms"), expected, (result.off, result.on), strict=True)
    return "".join(
        f"<tr><td>{what}</td><td class=n>{guess}</td><td class=n>{measured:.2f} s</td></tr>"
        for what, guess, measured in lines
    )


def _rows(result: DemoResult) -> dict[frozenset[str], tuple[float | None, float | None]]:
    """Rows of each grouping that the timed runs maintained: as expected before the first run, and as counted."""
    guesses = {k: n for d in result.before.shared for k, n in expected_groups(d).items()}
    kept = {frozenset(r["keys"]): None for d in result.explanation.shared for r in d["relations"]}
    return {keys: (guesses.get(keys), result.observed.get(keys)) for keys in kept}


def _number(n: float | None) -> str:
    return "-" if n is None else f"{n:,.0f}"


def _note(guess: float | None, counted: float | None) -> str:
    if counted is None:
        return f"{_number(guess)} rows expected" if guess is not None else ""
    return f"{counted:,.0f} rows" + (f", {guess:,.0f} expected" if guess is not None else "")


def _relations(decision: Mapping[str, Any], result: DemoResult) -> str:
    """A table of the relations, parents first, by the letters of the notation."""
    rows, names = _rows(result), _captions()
    lines = []
    for root in tree.of(decision["relations"]):
        for r in root.walk():
            keys = frozenset(r.keys)
            guess, counted = rows.get(keys, (None, None))
            lines.append(
                f"<tr><td><code>{escape(r.label)}</code></td><td>{escape(names.get(keys, 'phantom'))}</td>"
                f"<td class=n>{_number(guess)}</td><td class=n>{_number(counted)}</td></tr>"
            )
    return "".join(lines)


def html(result: DemoResult) -> str:
    """The summary as a page with the configuration drawn."""
    rows = "".join(
        f"<tr><td>{r.name}</td><td>{', '.join(r.keys)}</td><td class=n>{result.sizes[r.name]:,}</td></tr>"
        for r in NFC22.reports
    )
    decisions = "".join(
        f"<p><code>{escape(d['notation'])}</code></p><p>"
        + ", ".join(f"<b>{escape(k)}</b> = {escape(v)}" for k, v in legend_of(d).items())
        + "</p>"
        for d in result.explanation.shared
    )
    settings = "".join(
        f"<tr><td><code>{escape(k)}</code></td><td>{escape(v)}</td></tr>" for k, v in sorted(result.settings.items())
    )
    notes = {keys: _note(*both) for keys, both in _rows(result).items()}
    relations = "".join(_relations(d, result) for d in result.explanation.shared)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>spark-phantoms: 22 NetFlow reports</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>
<h1>22 NetFlow reports, one pass</h1>
<p class="big">{result.ratio:.1f}x <small>the time of plain Spark over the time with spark-phantoms,
{result.off:.2f} s / {result.on:.2f} s</small></p>
<p>{result.rows:,} flow records, Spark {escape(result.spark)};
<span class="{"ok" if result.equal else "bad"}">{escape(_verdict(result))}</span>.</p>
<table><tr><th>22 reports</th><th class=n>expected</th><th class=n>measured</th></tr>{_costs(result)}</table>
<p>Expected: by the cost model, from a sample, before the first run.</p>
<h2>Configuration</h2>{decisions}
<p>Blue: a report. Yellow, dashed: a phantom, which nobody asked for. Each is made from the one it hangs below.</p>
<div class="scroll">{result.explanation.svg(_captions(), notes)}</div>
<h2>Relations</h2><div class="scroll"><table>
<tr><th>relation</th><th>answers</th><th class=n>rows expected</th><th class=n>rows counted</th></tr>{relations}</table>
</div><p>Counted by the runs; what only lives before the shuffle is not counted.</p>
<h2>Reports</h2><table><tr><th>report</th><th>grouped by</th><th class=n>rows</th></tr>{rows}</table>
<h2>Decision</h2><pre>{escape(str(result.explanation))}</pre>
<h2>Session</h2><div class="scroll"><table>{settings}</table></div>
</body></html>
"""
