"""``phantoms lfta info``: what is in files, and what in them could not be decoded."""

from __future__ import annotations

import gzip
import json
import os
import struct
from ipaddress import ip_address
from pathlib import Path

import pytest

from phantoms import PhantomsError, lfta, lfta_info
from phantoms.cli.main import main
from phantoms.lab.data import DATASETS, captures


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("info")
    packets, flows = (next(DATASETS[name].tables(4_000, 7)) for name in ("packets", "flows"))
    captures.write_capture(packets, root / "packets.pcap")
    captures.write_export(flows, root / "flows.nf5")
    captures.write_export_capture(flows, root / "flows.pcap")
    return root


def test_a_capture(made: Path) -> None:
    packets = captures.as_captured(next(DATASETS["packets"].tables(4_000, 7)))
    (found,) = lfta.info(made / "packets.pcap")
    assert (found["kind"], found["format"]) == ("capture", "pcap, microseconds, little-endian")
    assert found["bytes"] == (made / "packets.pcap").stat().st_size
    assert (found["compression"], found["flows"], found["error"]) == (None, None, None)
    (interface,) = found["packets"]["interfaces"]
    counts = {str(c["values"]): c["counts"] for c in packets["prot"].value_counts().to_pylist()}
    times = packets["time"].to_pylist()
    assert interface["protocols"] == counts
    assert interface["octets"] == sum(packets["length"].to_pylist())
    assert interface["packets"] == packets.num_rows
    assert interface["first"] == f"{min(times):%Y-%m-%dT%H:%M:%S.%f}Z"
    assert interface["last"] == f"{max(times):%Y-%m-%dT%H:%M:%S.%f}Z"
    counters = found["packets"]["counters"]
    assert counters["packets"] == counters["decoded"] == packets.num_rows
    assert found["packets"]["problems"] == []


@pytest.mark.parametrize(("name", "exporter"), [("flows.nf5", None), ("flows.pcap", "192.0.2.1")])
def test_flows(made: Path, name: str, exporter: str | None) -> None:
    flows = captures.as_exported(next(DATASETS["flows"].tables(4_000, 7)))
    (found,) = lfta.info(made / name)
    (template,) = found["flows"]["templates"]
    assert {k: template[k] for k in ("exporter", "version", "template", "flows", "packets", "octets")} == {
        "exporter": exporter, "version": 5, "template": None, "flows": flows.num_rows,
        "packets": sum(flows["packets"].to_pylist()), "octets": sum(flows["octets"].to_pylist()),
    }  # fmt: skip
    assert found["flows"]["counters"]["packets"] == -(-flows.num_rows // 30)
    assert {"srcaddr", "dst_net", "first"} <= set(template["columns"])
    assert (found["packets"] is None) == (name == "flows.nf5")


def test_other_ports_are_looked_into_when_named(made: Path) -> None:
    content = bytearray((made / "flows.pcap").read_bytes())
    at = 24
    while at < len(content):
        struct.pack_into(">H", content, at + 16 + 36, 7777)
        at += 16 + struct.unpack_from("<I", content, at + 8)[0]
    other = made / "other.pcap"
    other.write_bytes(content)
    (unnamed,), (named,) = lfta.info(other), lfta.info(other, ports=[7777])
    assert unnamed["flows"] is None
    assert named["flows"]["counters"]["flows"] == next(DATASETS["flows"].tables(4_000, 7)).num_rows


def test_a_damaged_capture_in_gzip(made: Path, tmp_path: Path) -> None:
    content = bytearray((made / "packets.pcap").read_bytes())
    content[24 + 16 + 14] = 0x42  # the first packet's IP header says that it has 8 bytes
    path = tmp_path / "damaged.pcap.gz"
    path.write_bytes(gzip.compress(bytes(content[:-10])))
    (found,) = lfta.info(path)
    assert found["compression"] == "gzip"
    c = found["packets"]["counters"]
    assert (c["malformed"], c["packets"]) == (2, c["decoded"] + 2)
    problems = found["packets"]["problems"]
    assert sum(p["count"] for p in problems) == 2
    assert [p["first_offset"] for p in problems if "header" in p["what"]] == [24]
    assert c["unreadable_bytes"] > 0


def test_an_export_in_gzip_that_breaks_off(made: Path, tmp_path: Path) -> None:
    content = (made / "flows.nf5").read_bytes()
    whole, cut = tmp_path / "whole.nf5.gz", tmp_path / "cut.nf5.gz"
    whole.write_bytes(gzip.compress(content))
    cut.write_bytes(whole.read_bytes()[:-8])  # all but the checksum
    sound, broken = lfta.info(whole, cut)
    for found in (sound, broken):
        assert (found["kind"], found["compression"], found["error"]) == ("export", "gzip", None)
        assert found["flows"]["counters"]["bytes"] == len(content)
    assert sound["flows"]["problems"] == []
    (problem,) = broken["flows"]["problems"]
    assert ("gzip" in problem["what"], problem["count"], problem["first_offset"]) == (True, 1, len(content))
    assert broken["flows"]["counters"]["malformed"] == 1
    assert broken["flows"]["templates"] == sound["flows"]["templates"]


def test_an_exporter_with_an_ipv6_address(made: Path, tmp_path: Path) -> None:
    datagram = (made / "flows.nf5").read_bytes()[: 24 + 30 * 48]
    udp = struct.pack(">HHHH", 4000, 2055, 8 + len(datagram), 0) + datagram
    addresses = ip_address("2001:db8::7").packed + ip_address("2001:db8::8").packed
    frame = bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + addresses + udp
    path = tmp_path / "ipv6.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    path.write_bytes(header + struct.pack("<IIII", 1_700_000_000, 0, len(frame), len(frame)) + frame)
    (found,) = lfta.info(path)
    (template,) = found["flows"]["templates"]
    assert (template["exporter"], template["flows"]) == ("2001:db8::7", 30)


def test_text_of_the_command(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lfta", "info", str(made / "packets.pcap"), str(made / "flows.nf5")]) == 0
    said = capsys.readouterr().out
    assert "pcap, microseconds, little-endian" in said
    assert "interface 0, Ethernet: " in said
    assert "NetFlow v5 from an exporter not named, domain 0: " in said
    assert " decoded + 0 malformed + 0 skipped" in said


def test_json_of_the_command(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lfta", "info", "--json", "--ports", "2055", str(made / "flows.pcap")]) == 0
    assert json.loads(capsys.readouterr().out) == lfta.info(made / "flows.pcap", ports=[2055])


@pytest.mark.parametrize("ports", ["0", "2055,70000", "netflow"])
def test_what_is_no_port(ports: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as e:
        main(["lfta", "info", "--ports", ports, "x"])
    assert e.value.code == 2
    assert "--ports" in capsys.readouterr().err


def test_a_directory_of_mixed_things(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pcap").write_bytes((made / "packets.pcap").read_bytes())
    (tmp_path / "b.txt").write_text("Dear diary, no packets today.\n")
    (tmp_path / "c.pcap").touch()
    (tmp_path / "_SUCCESS").touch()
    found = lfta.info(tmp_path)
    assert [f["kind"] for f in found] == ["capture", None, "empty"]
    assert "is not a capture or flow export" in found[1]["error"]
    assert main(["lfta", "info", str(tmp_path)]) == 2
    said = capsys.readouterr().out
    assert f"{tmp_path / 'b.txt'}: neither capture nor flow export" in said
    assert "c.pcap: empty" in said


def test_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "nothing.pcap", tmp_path):
        with pytest.raises(PhantomsError, match="there is no file"):
            lfta.info(path)
        assert main(["lfta", "info", str(path)]) == 2
    assert "BAD_ARGUMENT" in capsys.readouterr().err


def test_without_java(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PhantomsError) as e:
        lfta.info(made / "flows.nf5")
    assert e.value.getErrorClass() == "MISSING_JAVA"
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PhantomsError, match="on the PATH"):
        lfta.info(made / "flows.nf5")


def test_a_jar_without_the_program(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lfta_info, "MAIN", "io.phantoms.spark.source.Nothing")
    with pytest.raises(PhantomsError) as e:
        lfta.info(made / "flows.nf5")
    assert e.value.getErrorClass() == "INFO_FAILED"


def test_it_needs_no_session(jar: Path) -> None:
    first, *others = lfta_info._class_path().split(os.pathsep)
    assert Path(first) == jar
    assert [Path(o).name.startswith("zstd-jni-") for o in others] == [True]
