"""The one place that reaches into the JVM: `io.phantoms.spark.PhantomsApi` through py4j."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phantoms.errors import PhantomsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

API = "io.phantoms.spark.PhantomsApi"


def require_classic(session_or_frame: Any) -> None:
    """Raise ``CONNECT_UNSUPPORTED`` for an object of a Spark Connect session."""
    if type(session_or_frame).__module__.startswith("pyspark.sql.connect"):
        raise PhantomsError(
            "CONNECT_UNSUPPORTED",
            "this is a Spark Connect session: there is no JVM on the client's side to ask.",
            "Set spark.phantoms.* confs as usual; they act on the server.",
        )


def find_api(spark: SparkSession) -> Any | None:
    """Return the plugin's API object, or None if its jar is not on the class path of the session's JVM."""
    require_classic(spark)
    from py4j.java_gateway import JavaClass

    node: Any = spark._jvm
    for part in API.split("."):
        node = getattr(node, part)
    return node if isinstance(node, JavaClass) else None


def api(spark: SparkSession) -> Any:
    """Return the plugin's API object.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` if the jar is not on the class path of the session's JVM.
    """
    found = find_api(spark)
    if found is None:
        raise PhantomsError(
            "NOT_ACTIVE",
            "the plugin's jar is not on the class path of this session.",
            "Build the session with phantoms.configure(SparkSession.builder).getOrCreate() before any other session.",
        )
    return found


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
