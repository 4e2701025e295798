"""``phantoms``: demo, data, bench, plan, calibrate, lfta."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from phantoms import outputs
from phantoms._version import __version__
from phantoms.errors import PhantomsError
from phantoms.session import spark_minor


def _bench(args: argparse.Namespace) -> int:
    conf = dict(pair.split("=", 1) for pair in args.conf)
    is_sweep = args.name == "sweep"
    foreign = {"--forms": args.forms, "--cold": args.cold} if is_sweep else _sweep_options(args)
    for option in (o for o, value in foreign.items() if value):
        raise PhantomsError("BAD_ARGUMENT", f"{option} has no meaning for {args.name}.", "Leave it out.")
    if is_sweep:
        from phantoms.lab.benchmark import sweep

        swept = sweep.run(args.rows, args.repeat, args.points, args.json, args.resume, args.plot, _say, conf)
        return 0 if swept.answers_equal else 1
    from phantoms.lab import benchmark

    result: benchmark.BenchmarkResult | benchmark.ColdResult
    result = (benchmark.run_cold if args.cold else benchmark.run)(
        args.name, args.rows, args.repeat, args.forms, args.json, _say, conf
    )
    return 0 if result.answers_equal else 1


def _sweep_options(args: argparse.Namespace) -> dict[str, object]:
    return {"--points": args.points, "--resume": args.resume, "--plot": args.plot}


def _demo(args: argparse.Namespace) -> int:
    from phantoms.lab.demo import run, summary

    result = run(args.rows, args.repeat, _say)
    _say(summary.text(result))
    args.html.write_text(summary.html(result), encoding="utf-8")
    _say(f"  page: {args.html}")
    return 0 if result.equal else 1


def _data(args: argparse.Namespace) -> int:
    from phantoms.lab.data import DATASETS, generate

    if args.name not in DATASETS:
        raise PhantomsError("BAD_ARGUMENT", f"unknown data set {args.name!r}.", f"Known: {', '.join(DATASETS)}.")
    if args.directory.exists() and (not args.directory.is_dir() or any(args.directory.iterdir())):
        raise PhantomsError("BAD_ARGUMENT", f"{args.directory} is there already.", "Name a new folder.")
    try:
        generate(args.name, args.directory, args.rows, args.seed, _say)
    except OSError as e:
        raise PhantomsError("BAD_ARGUMENT", f"{args.directory} cannot be written: {e}.", "Name another folder.") from e
    return 0


def _plan(args: argparse.Namespace) -> int:
    from phantoms._files import read_json
    from phantoms.planning import plan_spec

    spec = read_json(args.spec, "BAD_PLAN", "Give a JSON file with queries and stats.")
    if not isinstance(spec, dict):
        raise PhantomsError("BAD_PLAN", f"{args.spec} holds no JSON object.", "Give an object with queries and stats.")
    answer = plan_spec(spec)
    _say(json.dumps(answer.to_dict(), indent=2) if args.json else str(answer))
    return 0


def _calibrate(args: argparse.Namespace) -> int:
    from phantoms.calibration import MACHINE, calibrate
    from phantoms.lab.benchmark.session import open_session

    spark = open_session("phantoms calibrate", plugin=True)
    try:
        found = calibrate(spark, rows=args.rows, repeat=args.repeat, path=args.json, apply=False)
    finally:
        spark.stop()
    _say(str(found))
    _say(f"  to use them: --conf {MACHINE}={args.json or found.conf}")
    return 0


def _lfta_info(args: argparse.Namespace) -> int:
    from phantoms import lfta
    from phantoms.lfta_summary import text

    found = lfta.info(*args.files, ports=args.ports)
    _say(json.dumps(found, indent=2) if args.json else "\n".join(map(text, found)))
    return 2 if any(f["error"] for f in found) else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _check_outputs(args: argparse.Namespace) -> None:
    """Everything that will be written, before any work is done."""
    for option in ("json", "html", "plot"):
        file = getattr(args, option, None)
        if isinstance(file, Path):
            outputs.check(file, f"--{option}")


def _rows(text: str) -> int:
    n = int(text.replace("_", ""))
    if n <= 0:
        raise argparse.ArgumentTypeError("must be positive")
    return n


def _ports(text: str) -> list[int]:
    ports = [int(port) for port in text.split(",")]
    if not all(0 < port <= 0xFFFF for port in ports):
        raise argparse.ArgumentTypeError("must be from 1 to 65535")
    return ports


def _pair(text: str) -> str:
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return text


def parser() -> argparse.ArgumentParser:
    """The argument parser of ``phantoms``."""
    top = argparse.ArgumentParser(prog="phantoms", description="Many aggregates over one input, computed together.")
    top.add_argument("--version", action="version", version=f"phantoms {__version__}")
    commands = top.add_subparsers(dest="command", required=True)

    demo = commands.add_parser("demo", help="the 22 NetFlow reports with the plugin off and on")
    demo.add_argument("--rows", type=_rows, default=3_000_000, help="flow records (3000000)")
    demo.add_argument("--repeat", type=_rows, default=2, help="timed runs of either side (2)")
    demo.add_argument("--html", type=Path, default=Path("phantoms-demo.html"), metavar="FILE", help="the page written")
    demo.set_defaults(run=_demo)

    data = commands.add_parser("data", help="generate the data of the demo, the benchmarks and the README")
    data.add_argument("name", help="flows, packets, trades, capture, export, sweep-10 and the like")
    data.add_argument("directory", type=Path, metavar="DIR", help="the folder of files to make")
    data.add_argument("--rows", type=_rows, help="rows (the data set's own number)")
    data.add_argument("--seed", type=int, default=7, help="the same seed gives the same rows (7)")
    data.set_defaults(run=_data)

    plan = commands.add_parser("plan", help="the chooser alone: which configuration for these queries and statistics")
    plan.add_argument("spec", type=Path, metavar="SPEC.json", help='{"queries": [[...]], "stats": {"rows": n, ...}}')
    plan.add_argument("--json", action="store_true", help="print everything as JSON")
    plan.set_defaults(run=_plan)

    bench = commands.add_parser("bench", help="measure a workload: plain Spark, plugin, other engines")
    bench.add_argument(
        "name",
        help="nfc22, smap4, cube4, distinct4, objects8, subqueries6, sweep; slide3600, sts256, sdf256, sds256, ...",
    )
    bench.add_argument("--rows", type=_rows, help="rows of the input")
    bench.add_argument("--repeat", type=int, default=3, help="timed runs of each form (3)")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    bench.add_argument("--forms", nargs="+", metavar="FORM", help="only these forms")
    bench.add_argument("--conf", type=_pair, action="append", default=[], metavar="KEY=VALUE", help="a Spark conf")
    bench.add_argument("--cold", action="store_true", help="each run in a JVM of its own: jobs that run once")
    only = bench.add_argument_group("sweep only")
    only.add_argument("--points", nargs="+", metavar="SETS@PERCENT", help="only these points; 64@ or @0.1 for several")
    only.add_argument("--resume", action="store_true", help="keep the points that the --json file holds")
    only.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios (needs matplotlib)")
    bench.set_defaults(run=_bench)

    calibrate = commands.add_parser("calibrate", help="measure this machine's constants of the cost model")
    calibrate.add_argument("--rows", type=_rows, default=1_000_000, help="rows of the generated data (1000000)")
    calibrate.add_argument("--repeat", type=_rows, default=3, help="measured runs of each job (3)")
    calibrate.add_argument(
        "--json", type=Path, metavar="FILE", help="write the result, as spark.phantoms.machine reads it"
    )
    calibrate.set_defaults(run=_calibrate)

    lfta = commands.add_parser("lfta", help="captures and flow exports")
    what = lfta.add_subparsers(dest="what", required=True)
    info = what.add_parser("info", help="what is in files, per interface and per template, and what cannot be decoded")
    info.add_argument("files", nargs="+", type=Path, metavar="FILE", help="pcap, pcapng, NetFlow v5, v9, IPFIX")
    info.add_argument("--ports", type=_ports, metavar="PORT,...", help="UDP ports of collectors (2055,4739,9995,9996)")
    info.add_argument("--json", action="store_true", help="print everything as JSON")
    info.set_defaults(run=_lfta_info)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, 1 if answers differ, 2 for an error."""
    args = parser().parse_args(argv)
    try:
        if args.command != "data":
            spark_minor()
        _check_outputs(args)
        return int(args.run(args))
    except PhantomsError as e:
        print(f"phantoms: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
