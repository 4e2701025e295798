"""Workloads that are one query as somebody would write it: aggregates in several places of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryWorkload:
    """One query over one table.

    Attributes
    ----------
    name : str
        Name used by ``phantoms bench``.
    dataset : str
        Data set of `phantoms.lab.data` it reads, and the name of its view.
    sql : str
        The query.
    by_hand : str
        What gives the same rows with as few passes over the table as plain Spark can do with.
    one : str
        One of its aggregates, timed alone as the floor "one".
    aggregates : int
        How many it has.
    columns : tuple of str
        Columns of the table that it reads.
    results : tuple of str
        Columns of its rows, whole numbers all.
    """

    name: str
    dataset: str
    sql: str
    by_hand: str
    one: str
    aggregates: int
    columns: tuple[str, ...]
    results: tuple[str, ...]


_LARGE = "SELECT src_as FROM flows WHERE dstport = 443 GROUP BY src_as HAVING sum(octets) > 100000"

SUBQUERIES6 = QueryWorkload(
    name="subqueries6",
    dataset="flows",
    sql=f"""
SELECT dst_as, flows, octets,
  (SELECT sum(octets) FROM flows WHERE prot = 6) AS tcp_octets,
  (SELECT count(*) FROM flows WHERE dstport = 53 AND packets > 1) AS names,
  (SELECT max(packets) FROM flows WHERE prot = 17) AS most_packets
FROM (SELECT dst_as, count(*) AS flows, sum(octets) AS octets FROM flows WHERE tos = 0 GROUP BY dst_as)
WHERE dst_as IN ({_LARGE})
  AND dst_as IN (SELECT dst_as FROM flows WHERE prot = 6 GROUP BY dst_as HAVING count(*) > 10)""",
    by_hand=f"""
SELECT dst_as, flows, octets, tcp_octets, names, most_packets
FROM (
  SELECT dst_as, count(*) FILTER (WHERE tos = 0) AS flows, sum(octets) FILTER (WHERE tos = 0) AS octets,
    count(*) FILTER (WHERE prot = 6) AS tcp
  FROM flows WHERE tos = 0 OR prot = 6 GROUP BY dst_as)
CROSS JOIN (
  SELECT sum(octets) FILTER (WHERE prot = 6) AS tcp_octets,
    count(*) FILTER (WHERE dstport = 53 AND packets > 1) AS names, max(packets) FILTER (WHERE prot = 17) AS most_packets
  FROM flows)
WHERE flows > 0 AND tcp > 10 AND dst_as IN ({_LARGE})""",
    one="SELECT dst_as, count(*) AS flows, sum(octets) AS octets FROM flows WHERE tos = 0 GROUP BY dst_as",
    aggregates=6,
    columns=("dst_as", "src_as", "octets", "packets", "prot", "dstport", "tos"),
    results=("dst_as", "flows", "octets", "tcp_octets", "names", "most_packets"),
)

QUERY_WORKLOADS: dict[str, QueryWorkload] = {SUBQUERIES6.name: SUBQUERIES6}
