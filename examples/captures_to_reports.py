"""From flow exports, or captures of them, to the 22 reports of a NetFlow collector and a page of top talkers.

    python examples/captures_to_reports.py [FILE_OR_DIRECTORY ...]

Files are NetFlow v5 or v9 or IPFIX, one datagram after another, or pcap and pcapng of such datagrams; without any,
generated ones are taken. The reports become Parquet in ``reports``, made in one pass; the page is ``top-talkers.html``.
"""

import sys
from html import escape
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import phantoms
from phantoms import lfta
from phantoms.lab.data import generate
from phantoms.lab.reports import NFC22, union

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
svg { width: 100%; height: auto } rect { fill: #2f81f7 } text { font: 13px system-ui, sans-serif }
"""
COLORS = {"text": "#57606a", "line": "#2f81f7"}

# What the page shows of which report: its title, the report, and what names a bar.
TOP = [
    ("Sources", "SourceNode", "ip_to_string(srcaddr)"),
    ("Destinations", "DestNode", "ip_to_string(dstaddr)"),
    ("Pairs of hosts", "HostMatrix", "concat(ip_to_string(srcaddr), ' to ', ip_to_string(dstaddr))"),
    ("Protocols", "Protocol", "concat('protocol ', prot)"),
    ("Destination ports", "DestPort", "concat('port ', dstport)"),
    ("Source networks", "RouterSrcPrefix", "concat(ip_to_string(src_net), '/', src_mask, ', interface ', input)"),
]


def reports(spark: SparkSession, paths: list[str]) -> DataFrame:
    """All 22 reports: one query, one pass over the files."""
    lfta.read(spark, paths, records="flows", addresses="int").createOrReplaceTempView("flows")
    return spark.sql(union(NFC22, "flows"))


def top(found: DataFrame, report: str, label: str) -> list[tuple[str, int, int]]:
    rows = (
        found.where(f"report = '{report}'")
        .selectExpr(f"{label} AS label", "flows", "octets")
        .orderBy("octets", "label", ascending=[False, True])
    )
    return [(str(r.label), r.flows, r.octets) for r in rows.limit(10).collect()]


def over_time(spark: SparkSession) -> list[tuple[str, int]]:
    rows = spark.sql(
        "SELECT date_trunc('minute', last) AS minute, sum(octets) AS octets FROM flows WHERE last IS NOT NULL "
        "GROUP BY minute ORDER BY minute"
    )
    return [(f"{r.minute:%H:%M}", r.octets) for r in rows.collect()]


def size(octets: float) -> str:
    for unit in ("B", "kB", "MB"):
        if octets < 1000:
            return f"{octets:.4g} {unit}"
        octets /= 1000
    return f"{octets:,.1f} GB"


def bars(title: str, rows: list[tuple[str, int, int]]) -> str:
    most = max((octets for _, _, octets in rows), default=1) or 1
    lines = []
    for i, (label, flows, octets) in enumerate(rows):
        y = 22 * i
        lines.append(
            f'<text x="270" y="{y + 14}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="280" y="{y + 3}" width="{420 * octets / most:.1f}" height="14"/>'
            f'<text x="{286 + 420 * octets / most:.1f}" y="{y + 14}">{size(octets)}, {flows:,} flows</text>'
        )
    return f'<h2>{escape(title)}</h2><svg viewBox="0 0 900 {22 * max(1, len(rows))}">{"".join(lines)}</svg>'


def line(points: list[tuple[str, int]]) -> str:
    most = max((octets for _, octets in points), default=1) or 1
    step = 840 / max(1, len(points) - 1)
    path = " ".join(f"{30 + i * step:.1f},{150 - 130 * octets / most:.1f}" for i, (_, octets) in enumerate(points))
    ends = [points[0], points[-1]] if points else []
    marks = "".join(
        f'<text x="{30 + 840 * i}" y="172" text-anchor="middle" fill="{COLORS["text"]}">{minute}</text>'
        for i, (minute, _) in enumerate(ends)
    )
    return (
        f"<h2>Bytes by minute, {size(most)} at most</h2>"
        f'<svg viewBox="0 0 900 180"><polyline points="{path}" fill="none" stroke="{COLORS["line"]}"/>{marks}</svg>'
    )


def main() -> None:
    paths = sys.argv[1:]
    if not paths:
        generate("export-capture", Path("captured-exports"), rows=20_000)
        paths = ["captured-exports"]
    spark = phantoms.configure(SparkSession.builder.appName("captures to reports")).getOrCreate()

    reports(spark, paths).write.mode("overwrite").partitionBy("report").parquet("reports")
    found = spark.read.parquet("reports")
    found.groupBy("report").count().orderBy("report").show(30, truncate=False)

    parts = [line(over_time(spark)), *(bars(title, top(found, report, label)) for title, report, label in TOP)]
    of = f"<p>Of {escape(', '.join(paths))}, by bytes.</p>"
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Top talkers</title><style>{STYLE}</style>'
        f"</head><body><h1>Top talkers</h1>{of}{''.join(parts)}</body></html>"
    )
    Path("top-talkers.html").write_text(page, encoding="utf-8")
    print("top-talkers.html")
    spark.stop()


if __name__ == "__main__":
    main()
