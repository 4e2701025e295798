"""What the last shared query did, by the plugin's own counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phantoms import _jvm
from phantoms.session import require_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["last_execution"]


def last_execution(spark: SparkSession) -> dict[str, Any] | None:
    """Tell what the plugin's operators counted in the query of this application that they ran in last.

    Counts of a query that still runs grow. An operator that several parts of the query read is told once.

    Parameters
    ----------
    spark : SparkSession
        A session with the plugin.

    Returns
    -------
    dict or None
        ``execution_id``, Spark's number of the query (None outside of one), and ``operators``, from the input on: each
        with ``operator`` (``PhantomsLfta``, ``PhantomsTier``, ``PhantomsMerge`` or ``PhantomsVerified``), the
        ``configuration`` in the notation, and ``metrics``, by name as in Spark's own plan; sizes in bytes.
        ``verified``: what came of comparing rows with plain Spark's, where ``spark.phantoms.verify`` asks for it; each
        with an ``outcome`` (``EQUAL``, ``DIFFERENT``, ``FAILED`` or ``UNFINISHED``), the fingerprints
        ``plain`` and ``shared``, and more, see docs/verify.md. None if no query was shared yet.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` without the plugin; ``CONNECT_UNSUPPORTED`` for a Spark Connect session.
    """
    require_active(spark)
    found = _jvm.call(spark, "last_execution")
    return None if found is None else dict(found)
