"""Packets and flow records as ``format("lfta")`` has them, as dictionaries that can be compared with other tools'."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import lfta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ADDRESSES = ("srcip", "dstip", "srcaddr", "dstaddr")


class Reader:
    """Reads small files whole."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def rows(self, path: Path, records: str, *ports: int) -> list[dict[str, Any]]:
        """All rows: times as microseconds since 1970, addresses as canonical text, hardware addresses as hex digits."""
        df = lfta.read(self.spark, path, records=records, addresses="string", ports=list(ports) or None)
        times = [name for name, kind in df.dtypes if kind == "timestamp"]
        macs = [name for name in df.columns if name.endswith("_mac")]
        shown = df.withColumns(
            {t: self._expr(f"unix_micros(`{t}`)") for t in times} | {m: self._expr(f"lower(hex(`{m}`))") for m in macs}
        )
        found = [row.asDict() for row in shown.drop("payload", "other").collect()]
        for row in found:
            for name in _ADDRESSES:
                if row.get(name) is not None:
                    row[name] = str(ip_address(row[name]))
        return found

    @staticmethod
    def _expr(sql: str) -> Any:
        from pyspark.sql import functions

        return functions.expr(sql)
