"""What `phantoms.why_not` prints and tells programs."""

from __future__ import annotations

import json
import pickle

from pyspark.sql import SparkSession

import phantoms

PARTLY = """
SELECT srcip, count(*) AS n FROM packets GROUP BY srcip
UNION ALL SELECT dstip, max(length) FROM packets GROUP BY dstip
UNION ALL SELECT srcip, first(length) FROM packets GROUP BY srcip
"""

TREE = """\
Union [srcip, n]
:- Aggregate [srcip], [srcip, count(1) AS n]
:       shared (workload 1)
:- Aggregate [dstip], [dstip, max(length)]
:       shared (workload 1)
+- Aggregate [srcip], [srcip, first(length)]
        declined ORDER_DEPENDENT: the result of first depends on the order of rows
        what would help: take a function whose result no order changes (min, max, min_by, max_by), or compute it in \
a groupBy of its own"""


def test_a_tree_of_the_aggregates(spark: SparkSession) -> None:
    why = phantoms.why_not(spark.sql(PARTLY))
    assert str(why) == TREE
    assert f"{why}" == TREE
    assert repr(why) == "<WhyNot: ORDER_DEPENDENT>"
    assert why._repr_html_() == f"<pre>{TREE}</pre>".replace("<--", "&lt;--")
    (declined,) = why.declined
    assert declined["tree"].splitlines() == [
        "Union [srcip, n]",
        "+- Aggregate [srcip], [srcip, first(length)]   <-- here",
    ]
    assert declined["workload"] is None
    assert TREE.endswith(declined["advice"])
    (shared,) = [d for d in why.to_dict()["decisions"] if d["decision"] == "shared"]
    assert shared["workload"] == "1: (srcip) (dstip)"
    assert why.to_dict() == phantoms.explain(spark.sql(PARTLY)).to_dict()


def test_it_is_a_text_as_it_was(spark: SparkSession) -> None:
    why = phantoms.why_not(spark.sql(PARTLY))
    assert isinstance(why, str)
    assert "ORDER_DEPENDENT" in why
    assert json.loads(json.dumps(why)) == TREE
    again = pickle.loads(pickle.dumps(why))
    assert (again, again.codes, type(again)) == (TREE, ["ORDER_DEPENDENT"], phantoms.WhyNot)


def test_nothing_is_left_alone(spark: SparkSession) -> None:
    why = phantoms.why_not(spark.sql("SELECT srcip, dstip, count(*) FROM packets GROUP BY CUBE (srcip, dstip)"))
    assert str(why) == "nothing was left alone"
    assert (why.codes, repr(why)) == ([], "<WhyNot: nothing left alone>")


def test_a_text_is_no_markup(spark: SparkSession) -> None:
    why = phantoms.why_not(spark.sql("SELECT srcip < 5 AS few, count(*) FROM packets GROUP BY srcip < 5"))
    assert "&lt; 5)" in why._repr_html_()
