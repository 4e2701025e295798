"""What independent tools say of the same packets and flows: scapy, tshark, softflowd, nfdump, pmacct, tcpreplay.

    make lfta-tools          # apt-get install tshark softflowd nfdump pmacct tcpreplay; pip install scapy

Prints a line for each comparison, and ends with 1 if any was not equal. What is not installed is skipped, and said so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import exporters
import numpy as np
import pyarrow as pa
import shapes
import shark
import speed
from agreement import Findings, missing, versions
from collector import write_capture, write_file
from ours import Reader
from pyspark.sql import SparkSession
from variants import variants

import phantoms
from phantoms.lab.data import DATASETS, captures

PORT = 2055
FLOW = ("srcaddr", "dstaddr", "srcport", "dstport", "prot", "packets", "octets")
FLOW_AND_FLAGS = (*FLOW, "tos", "tcp_flags")
TIMES = ("srcaddr", "dstaddr", "srcport", "dstport", "first", "last")


def rows_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Some columns of rows, as tuples that can be compared."""
    return [tuple(row[c] for c in columns) for row in rows]


def in_millis(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows, their times cut to whole milliseconds."""
    return [{**row, **{t: row[t] // 1000 * 1000 for t in ("first", "last")}} for row in rows]


class Tools:
    """The comparisons, in a directory of their own."""

    def __init__(self, reader: Reader, directory: Path, packets: int) -> None:
        self.reader, self.directory, self.findings = reader, directory, Findings()
        self.table = recent(packets)
        self.capture = directory / "packets.pcap"
        captures.write_capture(self.table, self.capture)
        self.packets = reader.rows(self.capture, "packets")
        self.totals = exporters.of_packets(self.packets)

    def run(self) -> None:
        """Compare with each tool; what a tool needs and is not there is named."""
        for tool, needed, step in (
            ("the generator", (), self.generator),
            ("tshark", ("tshark",), self.tshark),
            ("scapy", ("tshark", "editcap", "mergecap"), self.scapy),
            ("softflowd", ("softflowd", "nfcapd", "nfdump", "tshark"), self.softflowd),
            ("nfdump", ("nfcapd", "nfpcapd", "nfreplay", "nfdump"), self.nfdump),
            ("pmacct", ("pmacctd",), self.pmacct),
            ("tcpreplay", ("tcpreplay", "dumpcap"), self.tcpreplay),
        ):
            why = missing(*needed)
            if tool == "scapy" and importlib.util.find_spec("scapy") is None:
                why = "scapy is not installed: pip install scapy"
            if why:
                self.findings.skip(tool, "everything", why)
            else:
                self.safely(tool, step)

    def safely(self, tool: str, step: Callable[[], None]) -> None:
        """A tool that does not run here, for want of a right or a device, is no difference."""
        try:
            step()
        except (RuntimeError, OSError, ValueError) as e:
            self.findings.skip(tool, "the rest", f"did not run: {str(e).strip()[-300:]}")

    def generator(self) -> None:
        """The generated capture has the packets of the table that it was made of."""
        columns = ["time", "length", "ip_length", "srcip", "dstip", "prot", "srcport", "dstport"]
        wrote = captures.as_captured(self.table).to_pylist()
        for row in wrote:
            row["time"] = int(row["time"].timestamp() * 1_000_000 + 0.5)
            row["srcip"], row["dstip"] = dotted(row["srcip"]), dotted(row["dstip"])
        self.findings.equal("generator", "packets written", rows_of(self.packets, columns), rows_of(wrote, columns))

    def tshark(self) -> None:
        """Packets of the generated capture, and flows of a generated capture of v5."""
        self.same_packets("tshark, generated capture", self.capture)
        flows = pa.concat_tables(DATASETS["flows"].tables(3000, 7))
        path = self.directory / "v5.pcap"
        captures.write_export_capture(flows, path)
        ours = self.reader.rows(path, "flows")
        self.findings.equal("tshark, generated v5", "flows", rows_of(ours, FLOW), shark.flows(path, PORT))

    def same_packets(self, tool: str, path: Path, cut: bool = False) -> None:
        """Compare with tshark; of packets that are cut off, the values that both know."""
        ours, theirs = self.reader.rows(path, "packets"), shark.packets(path)
        if cut:
            left, right = shark.both_known(ours, theirs)
            self.findings.equal(tool, "packets, values that both know", left, right)
        else:
            self.findings.equal(tool, "packets", map(shark.comparable, ours), map(shark.comparable, theirs))

    def scapy(self) -> None:
        """Captures of many shapes: with what scapy was told to write, and with tshark; their flows."""
        made = shapes.write(self.directory, 500)
        for capture in made:
            wrote = shapes.told(capture)
            ours = self.reader.rows(capture.path, "packets")
            columns = list(wrote[0])
            self.findings.equal(f"scapy, {capture.name}", "packets", rows_of(ours, columns), rows_of(wrote, columns))
            self.same_packets(f"tshark, scapy's {capture.name}", capture.path)
        plain = [c.path for c in made if c.name not in ("gzip", "pcapng")]
        for name, path in variants(plain, self.directory):
            self.same_packets(f"tshark, {name}", path, cut="cut" in name)
        why = missing("softflowd", "nfcapd", "nfdump")
        if why:
            self.findings.skip("softflowd, of scapy's packets", "flows", why)
        else:
            self.flows_of_both_kinds(plain[0])

    def flows_of_both_kinds(self, capture: Path) -> None:
        """IPv4 and IPv6; ports of TCP and UDP, as the two write ICMP's type and code each in a way of its own."""
        for version in (9, 10):
            sent = exporters.softflowd(capture, version)
            path = self.directory / f"both-{version}"
            write_file(sent, path)
            stored = exporters.nfdump(exporters.nfcapd(sent, self.directory / f"nfcapd-both-{version}"))
            ours, theirs = (
                [f for f in flows if f["prot"] in (6, 17)] for flows in (self.reader.rows(path, "flows"), stored)
            )
            self.same_flows(f"nfdump, softflowd of scapy's packets, version {version}", ours, theirs)

    def softflowd(self) -> None:
        """What softflowd exports of the capture: with the capture, with nfdump, and with tshark."""
        for version in (5, 9, 10):
            tool = f"softflowd, version {version}"
            sent = exporters.softflowd(self.capture, version)
            path = self.directory / f"softflowd-{version}"
            write_file(sent, path)
            flows = self.reader.rows(path, "flows")
            self.same_totals(tool, "packets and bytes by 5-tuple", flows)
            # A v9 header has whole seconds only.
            self.same_times(tool, flows, 1_001_000 if version == 9 else 2_000)
            stored = exporters.nfdump(exporters.nfcapd(sent, self.directory / f"nfcapd-{version}"))
            self.same_flows(f"nfdump, {tool}", flows, stored)
            captured = self.directory / f"softflowd-{version}.pcap"
            write_capture(sent, captured, PORT)
            within = self.reader.rows(captured, "flows", PORT)
            self.findings.equal(f"tshark, {tool}", "flows", rows_of(within, FLOW), shark.flows(captured, PORT))

    def nfdump(self) -> None:
        """Flows of nfpcapd with the capture; what nfreplay sends, and generated v5, with what nfdump prints."""
        stored = exporters.nfpcapd(self.capture, self.directory / "nfpcapd")
        printed = exporters.nfdump(stored)
        totals = exporters.of_flows(printed)
        self.findings.equal("nfpcapd", "packets and bytes by 5-tuple", self.totals.items(), totals.items())
        for version in (5, 9):
            path = self.directory / f"nfreplay-{version}"
            write_file(exporters.nfreplay(stored, version), path)
            flows = self.reader.rows(path, "flows")
            self.same_flows(f"nfreplay, version {version}", flows, printed)
            theirs = rows_of(printed, TIMES)
            self.findings.equal(f"nfreplay, version {version}", "times", rows_of(in_millis(flows), TIMES), theirs)
        made = pa.concat_tables(DATASETS["flows"].tables(3000, 7))
        path = self.directory / "export.nf5"
        captures.write_export(made, path)
        sent = [row.tobytes() for _, rows in captures.datagrams(made) for row in rows]
        flows = self.reader.rows(path, "flows")
        stored_v5 = exporters.nfdump(exporters.nfcapd(sent, self.directory / "nfcapd-generated"))
        self.same_flows("nfdump, generated v5", flows, stored_v5)
        self.findings.equal("nfdump, generated v5", "times", rows_of(flows, TIMES), rows_of(stored_v5, TIMES))

    def pmacct(self) -> None:
        """What pmacctd prints, and what its nfprobe exports, with the capture."""
        for version in (5, 9, 10):
            printed, sent = exporters.pmacctd(self.capture, version, self.directory / f"pmacct-{version}")
            path = self.directory / f"nfprobe-{version}"
            write_file(sent, path)
            what = "packets and bytes by 5-tuple"
            self.findings.equal("pmacctd", f"{what}, printed", self.totals.items(), printed.items())
            flows = exporters.of_flows(self.reader.rows(path, "flows"))
            self.findings.equal(f"nfprobe, version {version}", what, flows.items(), printed.items())

    def tcpreplay(self) -> None:
        """Packets sent over loopback and captured there."""
        whole = self.table.slice(0, 2000)
        sent, seen = self.directory / "whole.pcap", self.directory / "seen.pcapng"
        captures.write_capture(whole, sent, snaplen=captures.LONGEST)
        exporters.tcpreplay(sent, seen, whole.num_rows)
        columns = [c for c in shark.COLUMNS if c != "time_nanos"]
        ours, back = self.reader.rows(sent, "packets"), self.reader.rows(seen, "packets")
        self.findings.equal("tcpreplay", "packets, but for times", rows_of(back, columns), rows_of(ours, columns))

    def same_totals(self, tool: str, what: str, flows: Iterable[Mapping[str, Any]]) -> None:
        """Compare packets and bytes by 5-tuple with the capture's."""
        self.findings.equal(tool, what, exporters.of_flows(flows).items(), self.totals.items())

    def same_flows(self, tool: str, ours: Iterable[Mapping[str, Any]], theirs: Iterable[Mapping[str, Any]]) -> None:
        """Compare flows, but for their times."""
        self.findings.equal(tool, "flows", rows_of(ours, FLOW_AND_FLAGS), rows_of(theirs, FLOW_AND_FLAGS))

    def same_times(self, tool: str, flows: Iterable[Mapping[str, Any]], tolerance: int) -> None:
        """First and last time of each 5-tuple beside the capture's own, within so many microseconds."""
        spans: dict[tuple[Any, ...], tuple[int, int]] = {}
        for p in self.packets:
            key = tuple(p[c] for c in ("srcip", "dstip", "srcport", "dstport", "prot"))
            first, last = spans.get(key, (p["time"], p["time"]))
            spans[key] = (min(first, p["time"]), max(last, p["time"]))
        found: dict[tuple[Any, ...], tuple[int, int]] = {}
        for f in flows:
            key = tuple(f[c] for c in FLOW[:5])
            first, last = found.get(key, (f["first"], f["last"]))
            found[key] = (min(first, f["first"]), max(last, f["last"]))
        near = {
            k: all(abs(a - b) <= tolerance for a, b in zip(found.get(k, (0, 0)), s, strict=True))
            for k, s in spans.items()
        }
        what = f"first and last time by 5-tuple, within {tolerance / 1000:g} ms"
        self.findings.equal(tool, what, near.items(), ((k, True) for k in spans))


def recent(rows: int) -> pa.Table:
    """Packets of the last minute: exporters count time from when they were started."""
    table = pa.concat_tables(DATASETS["packets"].tables(rows, 7))
    micros = table["time"].cast(pa.int64()).to_numpy() - captures.START + np.int64(time.time() - 60) * 1_000_000
    at = table.column_names.index("time")
    return table.set_column(at, "time", pa.array(micros).cast(pa.timestamp("us", tz="UTC")))


def dotted(address: int) -> str:
    """The text of an IPv4 address."""
    return ".".join(str(address >> shift & 0xFF) for shift in (24, 16, 8, 0))


def session() -> SparkSession:
    """One core, and nothing but the jar's source."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "2g")
    return phantoms.configure(builder).getOrCreate()


def main() -> int:
    """Compare, time, print; 1 if anything was not equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--packets", type=int, default=100_000, help="packets of the capture that tools look at (100000)"
    )
    parser.add_argument("--speed", type=int, default=1_000_000, help="packets to be timed; 0 for none (1000000)")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs (5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args()
    spark = session()
    times: dict[str, Any] | None = None
    with tempfile.TemporaryDirectory(prefix="lfta-tools-") as scratch:
        tools = Tools(Reader(spark), Path(scratch), args.packets)
        tools.run()
        if args.speed and not missing("tshark"):
            path = Path(scratch) / "speed.pcap"
            captures.write_capture(pa.concat_tables(DATASETS["packets"].tables(args.speed, 7)), path)
            times = speed.measure(spark, path, args.speed, args.repeat)
            print(
                f"{args.speed:,} packets: tshark -T fields {times['tshark']:.2f} s, lfta on one core "
                f"{times['lfta']:.3f} s (the first time {times['lfta_first']:.2f} s): {times['ratio']:.0f} x"
            )
    found = tools.findings
    if args.json:
        result = {"spark": spark.version, "tools": versions(), "packets": args.packets, "speed": times}
        result["comparisons"] = found.to_list()
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    spark.stop()
    compared = [a for a in found.all if a.differing is not None]
    print(f"{len(compared)} comparisons, {sum(1 for a in compared if a.differing)} different; "
          f"{len(found.all) - len(compared)} skipped")  # fmt: skip
    return 0 if found.ok else 1


if __name__ == "__main__":
    sys.exit(main())
