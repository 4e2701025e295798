"""The one place that reaches into the JVM: a call by its name, arguments and answer as JSON, through py4j."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from phantoms.errors import PhantomsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

API = "io.phantoms.spark.api.PhantomsCall"

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
            "Set spark.phantoms.* confs as usual, they act on the server; "
            "ask in SQL: phantoms_explain, phantoms_why_not, phantoms_last.",
        )


def find_api(spark: SparkSession) -> Any | None:
    """Return what answers calls, or None if the plugin's jar is not on the class path of the session's JVM."""
    require_classic(spark)
    return resolve(spark._jvm, API)


def resolve(jvm: Any, name: str) -> Any | None:
    """Return a Scala object (or Java class) of a JVM by its full name, or None."""
    from py4j.java_gateway import JavaClass

    node = jvm
    for part in name.split("."):
        node = getattr(node, part)
    return node if isinstance(node, JavaClass) else None


def call(spark: SparkSession, name: str, arguments: Mapping[str, Any] | None = None, *, df: Any = None) -> Any:
    """Do what has this name in the session's JVM, and return its answer.

    Parameters
    ----------
    spark : SparkSession
        A classic session.
    name : str
        One of those that ``PhantomsCall`` lists.
    arguments : mapping, optional
        Its arguments; anything that is JSON.
    df : DataFrame, optional
        What it is asked about.

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
    return ask(found, spark._jsparkSession, None if df is None else df._jdf, name, arguments)


def ask(api: Any, session: Any, df: Any, name: str, arguments: Any = None) -> Any:
    """The same of what `find_api` or `resolve` found, with the JVM's own objects."""
    return json.loads(api.call(session, df, name, as_json({} if arguments is None else arguments)))


class NotJsonError(ValueError):
    """An argument that JSON cannot hold. What a call makes of those it can is the JVM's to say."""


def as_json(arguments: Any) -> str:
    """Arguments as JSON: besides what `json` knows, any mapping, any iterable as a list, and numpy's numbers."""
    try:
        return json.dumps(arguments, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise NotJsonError(str(e)) from e


def _plain(value: Any) -> Any:
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    # Bytes are the iterable that nobody means as a list.
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return list(value)
    raise TypeError(f"{value!r} is nothing that JSON has")


def guarded(code: str, hint: str, what: str, action: Callable[[], Any]) -> Any:
    """Do something in the JVM; its errors and `NotJsonError` become a `PhantomsError` that says `what` failed."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return action()
    except (Py4JJavaError, PySparkException, NotJsonError) as e:
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
    build = ask(api, None, None, "build_info")
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
