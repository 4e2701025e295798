"""Spark computes many aggregates over one input through shared finer aggregates (*phantoms*).

>>> import phantoms
>>> from pyspark.sql import SparkSession
>>> spark = phantoms.configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP

Nothing else changes: DataFrames and SQL with GROUPING SETS, CUBE, ROLLUP or unions of groupBys are rewritten where
that pays. `explain` and `why_not` tell what happened.
"""

from phantoms import lfta, stats
from phantoms._version import __version__
from phantoms.calibration import Calibration, calibrate, load_calibration
from phantoms.errors import PhantomsError
from phantoms.execution import last_execution
from phantoms.explanation import Explanation, WhyNot, explain, why_not
from phantoms.planning import Plan, plan
from phantoms.session import configure, disable, enable, is_active
from phantoms.windowing import windows

__all__ = [
    "Calibration",
    "Explanation",
    "PhantomsError",
    "Plan",
    "WhyNot",
    "__version__",
    "calibrate",
    "configure",
    "disable",
    "enable",
    "explain",
    "is_active",
    "last_execution",
    "lfta",
    "load_calibration",
    "plan",
    "stats",
    "why_not",
    "windows",
]
