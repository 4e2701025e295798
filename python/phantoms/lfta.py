"""Captures and flow exports as DataFrames: helpers around ``spark.read.format("lfta")``.

>>> from phantoms import lfta
>>> packets = lfta.read(spark, "captures/")  # doctest: +SKIP
>>> flows = lfta.read(spark, "exports/", records="flows", addresses="string")  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phantoms.errors import PhantomsError
from phantoms.lfta_info import info
from phantoms.lfta_options import LISTEN_OPTIONS, OPTIONS, spark_options
from phantoms.lfta_schema import schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["LISTEN_OPTIONS", "OPTIONS", "info", "listen", "read", "schema"]

FORMAT = "lfta"


def read(
    spark: SparkSession, path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any
) -> DataFrame:
    """Read captures (pcap, pcapng) or flow exports (NetFlow v5, v9, IPFIX).

    ``spark.read.format("lfta")`` with options in Python's spelling; a Spark Connect session will do, whose server has
    the jar.

    Parameters
    ----------
    spark : SparkSession
        The session. Its JVM needs the plugin's jar; the extension may be there or not.
    path : str, path or sequence of these
        Files, directories or globs; plain, gzip or zstd.
    **options
        By the names in `phantoms.lfta.OPTIONS`, such as ``records="flows"``, ``addresses="string"``,
        ``mode="FAILFAST"``, ``ports=[2055, 9995]``.

    Returns
    -------
    DataFrame
        Packets or flow records; columns as `schema` tells.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` if there is no path, or for an option that is none.

    Examples
    --------
    >>> lfta.read(spark, "captures/", addresses="string").groupBy("srcip").count()  # doctest: +SKIP
    """
    if isinstance(path, (str, os.PathLike)):
        return spark.read.format(FORMAT).options(**spark_options(options)).load(os.fspath(path))
    paths = [os.fspath(p) for p in path]
    if not paths:
        raise PhantomsError("BAD_ARGUMENT", "path: there is none.", "Name files, directories or globs.")
    return spark.read.format(FORMAT).options(**spark_options(options)).load(paths)


def listen(spark: SparkSession, address: str = "127.0.0.1:2055", **options: Any) -> DataFrame:
    """Receive the flow records (NetFlow v5, v9, IPFIX) that exporters send to a UDP port.

    The driver listens from the start of a query to its end. UDP is at most once, and so is this: what finds the ring
    full, or is in it when the query ends, is lost; the former is counted in the query's progress.

    Parameters
    ----------
    spark : SparkSession
        The session. Its JVM needs the plugin's jar; the extension may be there or not.
    address : str, optional
        ``host:port``, an IPv6 host in brackets. ``0.0.0.0:2055`` for all of the driver's addresses: whoever reaches
        the port can send.
    **options
        By the names in `phantoms.lfta.LISTEN_OPTIONS`, such as ``addresses="string"``, ``ring_memory="256m"``,
        ``max_datagrams_per_trigger=100_000``.

    Returns
    -------
    DataFrame
        A stream of flow records; columns as `schema` tells.

    Raises
    ------
    PhantomsError
        ``BAD_ARGUMENT`` for an option that is none.

    Examples
    --------
    >>> lfta.listen(spark, "0.0.0.0:2055").writeStream.format("parquet").start("flows")  # doctest: +SKIP
    """
    given = spark_options(options, LISTEN_OPTIONS)
    return spark.readStream.format(FORMAT).options(**given).option("listen", address).load()
