"""The one place that reaches into the JVM: the plugin's API objects through py4j."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phantoms.errors import PhantomsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

API = "io.phantoms.spark.api.PhantomsApi"
STATS_API = "io.phantoms.spark.api.StatsApi"
CALIBRATE_API = "io.phantoms.spark.api.CalibrateApi"
PLAN_API = "io.phantoms.spark.api.PlanApi"

WRONG_SPARK = "[PHANTOMS_WRONG_SPARK]"


def is_connect(session_or_frame: Any) -> bool:
    """Whether an object is of a Spark Connect session."""
    return type(session_or_frame).__module__.startswith("pyspark.sql.connect")


def require_classic(session_or_frame: Any) -> None:
    """Raise ``CONNECT_UNSUPPORTED`` for an object of a Spark Connect session."""
    if is_connect(session_or_frame):
        raise PhantomsError(
            "CONNECT_UNSUPPORTED",
            "this is a Spark Connect session: there is no JVM on the client's side to ask.",
            "Set spark.phantoms.* confs as usual; they act on the server.",
        )


def find_api(spark: SparkSession, name: str = API) -> Any | None:
    """Return an API object of the plugin, or None if its jar is not on the class path of the session's JVM."""
    require_classic(spark)
    return resolve(spark._jvm, name)


def resolve(jvm: Any, name: str) -> Any | None:
    """Return a Scala object (or Java class) of a JVM by its full name, or None."""
    from py4j.java_gateway import JavaClass

    node = jvm
    for part in name.split("."):
        node = getattr(node, part)
    return node if isinstance(node, JavaClass) else None


def api(spark: SparkSession, name: str = API) -> Any:
    """Return an API object of the plugin.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` if the jar is not on the class path of the session's JVM.
    """
    found = find_api(spark, name)
    if found is None:
        raise PhantomsError(
            "NOT_ACTIVE",
            "the plugin's jar is not on the class path of this session.",
            "Build the session with phantoms.configure(SparkSession.builder).getOrCreate() before any other session.",
        )
    return found


def call(code: str, hint: str, what: str, action: Callable[[], Any]) -> Any:
    """Do something in the JVM; an error of its is raised as a `PhantomsError` that says `what` failed."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return action()
    except (Py4JJavaError, PySparkException) as e:
        if WRONG_SPARK in java_error(e):
            raise wrong_spark(java_error(e)) from e
        raise PhantomsError(code, f"{what}: {java_error(e)}", hint) from e


def wrong_spark(message: str) -> PhantomsError:
    """The error for a session of another Spark minor than the jar's."""
    return PhantomsError(
        "UNSUPPORTED_SPARK",
        f"{message.split(WRONG_SPARK)[-1].strip()}.",
        "Use the jar of the session's Spark minor: phantoms.configure finds it if it is installed.",
    )


def require_fitting(api: Any) -> None:
    """Raise ``UNSUPPORTED_SPARK`` if the JVM runs another Spark minor than the jar was built for."""
    build = json.loads(api.buildInfo())
    minor, running = str(build["spark_minor"]), str(build["running"])
    if running.split(".")[:2] != minor.split("."):
        raise wrong_spark(f"this jar was built for Spark {minor}, the session runs {running}")


def running_session() -> SparkSession | None:
    """The session of the calling thread, or else the process's: a plain Python thread has none of its own."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException:
        return None


def session_of(df: DataFrame) -> SparkSession:
    """The session a DataFrame belongs to."""
    require_classic(df)
    return df.sparkSession


def java_error(e: Exception) -> str:
    """The message of the innermost useful Java exception behind a py4j or PySpark error, without its stack trace."""
    java = getattr(e, "java_exception", None)
    if java is not None:
        return str(java.getMessage() or java.toString())
    text = str(e).strip()
    return text.splitlines()[0] if text else type(e).__name__
