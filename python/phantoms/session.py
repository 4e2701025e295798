"""Bringing the plugin into a session: the jar in the wheel, the static confs, the run-time switch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import _jvm
from phantoms.errors import PhantomsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.phantoms.spark.PhantomsExtensions"
ENABLED = "spark.phantoms.enabled"
JARS = Path(__file__).parent / "jars"


def spark_minor(version: str | None = None) -> str:
    """Return the ``major.minor`` of a Spark version, by default of the installed pyspark."""
    if version is None:
        try:
            import pyspark
        except ImportError as e:
            raise PhantomsError(
                "MISSING_PYSPARK", "pyspark is not installed.", "Install it: pip install 'spark-phantoms[spark]'."
            ) from e
        version = pyspark.__version__
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        raise PhantomsError(
            "UNSUPPORTED_SPARK",
            f"{version!r} is not a Spark version.",
            "Use a released Spark.",
            {"version": version},
        )
    return f"{found[1]}.{found[2]}"


def built_minors() -> list[str]:
    """The Spark minors this installation holds a jar for, oldest first."""
    names = (re.match(r"spark-phantoms_(\d+)\.(\d+)_2\.13-", p.name) for p in JARS.glob("*.jar"))
    return [f"{a}.{b}" for a, b in sorted({(int(m[1]), int(m[2])) for m in names if m is not None})]


def find_jar(minor: str | None = None) -> Path:
    """Return the plugin's jar for a Spark minor.

    Parameters
    ----------
    minor : str, optional
        Such as ``"4.2"``; that of the installed pyspark if omitted.

    Raises
    ------
    PhantomsError
        ``UNSUPPORTED_SPARK`` if there are jars, but none for this minor; ``MISSING_JAR`` if there is none at all.
    """
    wanted = spark_minor() if minor is None else minor
    jars = sorted(JARS.glob(f"spark-phantoms_{wanted}_2.13-*.jar"), key=lambda p: p.stat().st_mtime)
    if jars:
        return jars[-1]
    built = built_minors()
    if built:
        raise PhantomsError(
            "UNSUPPORTED_SPARK",
            f"there is no jar for Spark {wanted}; this installation has: {', '.join(built)}.",
            f"Install a pyspark of one of these minors, or a spark-phantoms that supports Spark {wanted}.",
            {"minor": wanted, "built": ", ".join(built)},
        )
    raise PhantomsError(
        "MISSING_JAR",
        f"no plugin jar in {JARS}.",
        "Install the wheel (pip install .), which builds the jar, or run `make jar` in a checkout.",
        {"directory": str(JARS)},
    )


def _merged(existing: str | None, value: str) -> str:
    """Append to a comma-separated conf value, keeping what is there and adding nothing twice."""
    values = [v.strip() for v in (existing or "").split(",") if v.strip()]
    return ",".join(values if value in values else [*values, value])


def configure(builder: Any) -> Any:
    """Add the plugin to a session builder.

    What the builder already has in ``spark.jars`` and ``spark.sql.extensions`` stays. Both confs are read once, when a
    session's JVM starts: call this before the first ``getOrCreate()``.

    Parameters
    ----------
    builder : SparkSession.Builder
        ``SparkSession.builder``, further configured or not.

    Returns
    -------
    SparkSession.Builder
        The same builder.

    Raises
    ------
    PhantomsError
        ``MISSING_JAR``, ``UNSUPPORTED_SPARK`` (see `find_jar`); ``CONNECT_UNSUPPORTED`` if the builder is for a Spark
        Connect client, whose server has to be given the jar; ``NOT_ACTIVE`` if a session without the plugin is running
        already, since ``getOrCreate()`` would return that one.

    Examples
    --------
    >>> import phantoms
    >>> from pyspark.sql import SparkSession
    >>> spark = phantoms.configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    """
    options: dict[str, Any] = dict(getattr(builder, "_options", {}))
    if "spark.remote" in options:
        raise PhantomsError(
            "CONNECT_UNSUPPORTED",
            "the builder is for a Spark Connect client, but the plugin lives on the server.",
            f"Start the Connect server with --jars {find_jar().name} and --conf spark.sql.extensions={EXTENSION}.",
        )
    jar = find_jar()
    running = _running_session()
    if running is not None and not is_active(running):
        raise PhantomsError(
            "NOT_ACTIVE",
            "a Spark session without the plugin is running, and getOrCreate() would return it unchanged.",
            "Call phantoms.configure before the first session, or stop() that session "
            "and restart the Python process if the jar is still not found.",
        )
    return builder.config("spark.jars", _merged(options.get("spark.jars"), str(jar))).config(
        "spark.sql.extensions", _merged(options.get("spark.sql.extensions"), EXTENSION)
    )


def _running_session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def is_active(spark: SparkSession) -> bool:
    """Tell whether the plugin is part of this session: its classes are there and its extension was applied.

    True also while `disable` has switched it off; false if the running Spark minor is not the jar's.

    Raises
    ------
    PhantomsError
        ``CONNECT_UNSUPPORTED`` for a Spark Connect session.
    """
    api = _jvm.find_api(spark)
    return api is not None and bool(api.isActive(spark._jsparkSession))


def require_active(spark: SparkSession) -> None:
    """Raise ``NOT_ACTIVE`` unless `is_active`, or ``UNSUPPORTED_SPARK`` if that is why."""
    if not is_active(spark):
        api = _jvm.find_api(spark)
        if api is not None:
            _jvm.require_fitting(api)
        raise PhantomsError(
            "NOT_ACTIVE",
            "spark-phantoms is not part of this session.",
            "Build the session with phantoms.configure(SparkSession.builder).getOrCreate() before any other session "
            "exists in the process (spark.jars and spark.sql.extensions are read only when the first one starts).",
        )


def enable(spark: SparkSession) -> None:
    """Let the plugin rewrite the plans of this session (the default).

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` if the plugin is not part of the session.
    """
    require_active(spark)
    spark.conf.set(ENABLED, "true")


def disable(spark: SparkSession) -> None:
    """Leave all plans of this session as plain Spark makes them, until `enable`.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` if the plugin is not part of the session.
    """
    require_active(spark)
    spark.conf.set(ENABLED, "false")
