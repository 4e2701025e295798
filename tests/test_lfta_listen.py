"""Flow records from a UDP port, through the facade."""

from __future__ import annotations

import socket
import time

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from phantoms import PhantomsError, lfta
from phantoms.lab.data import DATASETS, captures


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_what_is_sent_is_received(spark: SparkSession) -> None:
    table = pa.concat_tables(DATASETS["flows"].tables(1_500, 7))
    sent = [row.tobytes() for _, rows in captures.datagrams(table) for row in rows]
    port = free_port()
    flows = lfta.listen(spark, f"127.0.0.1:{port}", addresses="int", ring_memory="16m", max_datagrams_per_trigger=20)
    assert flows.isStreaming
    query = flows.writeStream.format("memory").queryName("received").start()
    try:
        query.processAllAvailable()  # the port is open then
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for datagram in sent:
                out.sendto(datagram, ("127.0.0.1", port))
                time.sleep(0.002)
        until = time.monotonic() + 60
        while spark.table("received").count() < table.num_rows and time.monotonic() < until:
            query.processAllAvailable()
    finally:
        query.stop()
    columns = ["srcaddr", "dstaddr", "srcport", "dstport", "prot", "packets", "octets", "src_net", "input"]
    found = sorted(tuple(r) for r in spark.table("received").select(*columns).collect())
    assert found == sorted(zip(*(captures.as_exported(table)[c].to_pylist() for c in columns), strict=True))
    (home,) = {r.exporter for r in spark.table("received").select("exporter").collect()}
    assert home == 0x7F000001


def test_the_options_of_a_port(spark: SparkSession) -> None:
    with pytest.raises(PhantomsError, match="Known: addresses, mode") as e:
        lfta.listen(spark, "127.0.0.1:2055", path_glob_filter="*")
    assert e.value.getErrorClass() == "BAD_ARGUMENT"
