"""The demonstration's summary, as text and as one self-contained HTML file."""

from __future__ import annotations

import textwrap
from html import escape

from phantoms.demo.run import DemoResult
from phantoms.explanation import legend_of
from phantoms.reports import NFC22

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse}td,th{padding:.15rem .8rem;border-bottom:1px solid #d0d7de;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}code,pre{background:#f6f8fa;padding:.1rem .3rem}
.big{font-size:2.4rem;font-weight:600}.bad{color:#cf222e}.scroll{overflow-x:auto}pre{white-space:pre-wrap}
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
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>spark-phantoms: 22 NetFlow reports</title>
<style>{_STYLE}</style></head><body>
<h1>22 NetFlow reports, one pass</h1>
<p class="big">{result.ratio:.1f}x</p>
<p>{result.rows:,} flow records, Spark {escape(result.spark)}:
plain {result.off:.2f} s, with spark-phantoms {result.on:.2f} s;
<span class="{"ok" if result.equal else "bad"}">{escape(_verdict(result))}</span>.</p>
<h2>Configuration</h2>{decisions}
<p>Blue: a report. Yellow, dashed: a phantom, which nobody asked for.</p>
<div class="scroll">{result.explanation.svg(_captions())}</div>
<h2>Reports</h2><table><tr><th>report</th><th>grouped by</th><th>rows</th></tr>{rows}</table>
<h2>Decision</h2><pre>{escape(str(result.explanation))}</pre>
<h2>Session</h2><table>{settings}</table>
</body></html>
"""
