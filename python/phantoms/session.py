"""Bringing the plugin into a session: the jar in the wheel, the static confs, the run-time switch."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import _jvm
from phantoms.errors import PhantomsError
from phantoms.launch import GATEWAY_PORT, SUBMIT_ARGS, Launch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.phantoms.spark.PhantomsExtensions"
ENABLED = "spark.phantoms.enabled"
EXTENSIONS = "spark.sql.extensions"
SPARK_JARS = "spark.jars"
PACKAGES = "spark.jars.packages"
CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
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


def _split(value: object) -> list[str]:
    """The values of a comma-separated conf."""
    return [v.strip() for v in str(value or "").split(",") if v.strip()]


def _with_jar(existing: Iterable[str], jar: Path) -> str:
    """Append the jar, unless one of the plugin's is there: Spark refuses two files of one name."""
    found = list(dict.fromkeys(existing))
    return ",".join(found if any(_is_ours(j) for j in found) else [*found, str(jar)])


def _is_ours(jar: str) -> bool:
    return re.match(r"spark-phantoms_.*\.jar", jar.replace("\\", "/").rsplit("/", 1)[-1]) is not None


def _with_extension(existing: object) -> str:
    return ",".join(dict.fromkeys([*_split(existing), EXTENSION]))


def configure(builder: Any) -> Any:
    """Add the plugin to a session builder.

    Jars and extensions that are configured already stay, and come first: those of the builder, of
    ``PYSPARK_SUBMIT_ARGS`` (which is extended where it names jars or packages, since it would replace the builder's),
    of ``spark-defaults.conf``, and of ``spark-submit``. Call this last on a builder, and before the first
    ``getOrCreate()``: Spark reads both confs once, when a session's JVM starts.

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
        already, since ``getOrCreate()`` would return that one, or if the JVM runs without the jar, as it does under a
        ``spark-submit`` that was not given it.

    Examples
    --------
    >>> import phantoms
    >>> from pyspark.sql import SparkSession
    >>> spark = phantoms.configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    """
    options: dict[str, Any] = dict(getattr(builder, "_options", {}))
    if _is_connect(options):
        raise PhantomsError(
            "CONNECT_UNSUPPORTED",
            "the builder is for a Spark Connect client, but the plugin lives on the server.",
            f"Start the Connect server with --jars {find_jar().name} and --conf {EXTENSIONS}={EXTENSION}.",
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
    jvm = _running_jvm()
    added = _for_new_jvm(options, jar) if jvm is None else _for_running_jvm(jvm, options, jar)
    for key, value in added.items():
        builder = builder.config(key, value)
    return builder


def _is_connect(options: Mapping[str, Any]) -> bool:
    """Whether ``getOrCreate()`` would make a Spark Connect client of these options."""
    mode = str(options.get("spark.api.mode", os.environ.get("SPARK_API_MODE", ""))).lower()
    return "spark.remote" in options or mode == "connect" or not {"SPARK_REMOTE", CONNECT_MODE}.isdisjoint(os.environ)


def _for_new_jvm(options: Mapping[str, Any], jar: Path) -> dict[str, str]:
    """The confs to add to a builder whose ``getOrCreate()`` will start a JVM."""
    launch = Launch.of_environment()
    extensions = options.get(EXTENSIONS) or launch.get(EXTENSIONS)
    added = {EXTENSIONS: _with_extension(extensions)}
    # What the command line says puts jars on the driver's class path, what the builder says sends them to executors.
    given = launch.arguments.get(SPARK_JARS)
    jars = _with_jar(_split(given) + _split(options.get(SPARK_JARS) or launch.get(SPARK_JARS)), jar)
    packages = options.get(PACKAGES) or launch.get(PACKAGES)
    if (given is not None or packages) and given != jars:
        os.environ[SUBMIT_ARGS] = launch.arguments.with_option("--jars", jars)
    # spark-submit adds the jars of packages to those of its command line; a conf of the builder would hide the sum.
    if not packages or options.get(SPARK_JARS):
        added[SPARK_JARS] = jars
    return added


def _for_running_jvm(jvm: Any, options: Mapping[str, Any], jar: Path) -> dict[str, str]:
    """The confs to add to a builder whose session will live in a JVM that already runs."""
    from pyspark import SparkConf, SparkContext

    context = SparkContext._active_spark_context
    conf = SparkConf(_jvm=jvm) if context is None else context.getConf()
    jars, extensions = _split(conf.get(SPARK_JARS)), conf.get(EXTENSIONS)
    merged = _with_extension(options.get(EXTENSIONS) or extensions)
    if _jvm.resolve(jvm, EXTENSION) is None:
        mine = [j for j in jars if "/.ivy2" not in j]  # those of --packages come back by themselves
        raise PhantomsError(
            "NOT_ACTIVE",
            "the JVM of this process runs already, and a jar named now does not reach its class path.",
            _command_line(_with_jar(mine, jar), merged)
            if GATEWAY_PORT in os.environ
            else "Restart the Python process, and call phantoms.configure before its first session.",
            {"jar": str(jar)},
        )
    if context is not None and EXTENSION not in _split(extensions):
        raise PhantomsError(
            "NOT_ACTIVE",
            f"a SparkContext without {EXTENSION} in {EXTENSIONS} is running, and its sessions get no other extensions.",
            "stop() it, or build it with the conf.",
        )
    added = {EXTENSIONS: merged}
    if options.get(SPARK_JARS) and any(_is_ours(j) for j in jars):
        added[SPARK_JARS] = _with_jar(_split(options[SPARK_JARS]), jar)
    return added


def _command_line(jars: str, extensions: str) -> str:
    job = Path(sys.argv[0]).name or "job.py"
    return f"Give both on the command line: spark-submit --jars {jars} --conf {EXTENSIONS}={extensions} {job}"


def _running_session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _running_jvm() -> Any | None:
    """The JVM the next session will live in, or None if ``getOrCreate()`` will start one."""
    from pyspark import SparkContext

    if SparkContext._gateway is None and GATEWAY_PORT not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return SparkContext._jvm


def is_active(spark: SparkSession) -> bool:
    """Tell whether the plugin is part of this session: its classes are there and its extension was applied.

    True also while `disable` has switched it off; false if the running Spark minor is not the jar's.

    Raises
    ------
    PhantomsError
        ``CONNECT_UNSUPPORTED`` for a Spark Connect session.
    """
    api = _jvm.find_api(spark)
    return api is not None and bool(_jvm.ask(api, spark._jsparkSession, None, "is_active"))


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
