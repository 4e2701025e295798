"""The errors the facade raises."""

from __future__ import annotations

from collections.abc import Mapping


class PhantomsError(Exception):
    """An error with a class to test for, what was wrong, and what to do about it.

    Modelled on ``pyspark.errors.PySparkException``, whose ``getErrorClass`` and ``getMessageParameters`` it has, but
    usable where pyspark is not installed.

    Parameters
    ----------
    error_class : str
        UPPER_SNAKE, stable: ``MISSING_JAR``, ``MISSING_PYSPARK``, ``MISSING_EXTRA``, ``UNSUPPORTED_SPARK``,
        ``NOT_ACTIVE``, ``BAD_STATISTICS``, ``BAD_CALIBRATION``, ``BAD_PLAN``, ``BAD_ARGUMENT``,
        ``CONNECT_UNSUPPORTED``, ``ANSWERS_DIFFER``, ``NOT_SHARED``, ``MISSING_JAVA``, ``INFO_FAILED``,
        ``COLD_RUN_FAILED``.
    message : str
        What was wrong.
    remedy : str
        What to do.
    parameters : mapping, optional
        Values that occur in the message.
    """

    def __init__(
        self, error_class: str, message: str, remedy: str, parameters: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"[{error_class}] {message} {remedy}")
        self.error_class = error_class
        self.message = message
        self.remedy = remedy
        self.parameters = dict(parameters or {})

    def getErrorClass(self) -> str:  # noqa: N802 - PySpark's name
        """Return the error class."""
        return self.error_class

    def getCondition(self) -> str:  # noqa: N802 - PySpark's name
        """Return the error class under the name PySpark 4 uses."""
        return self.error_class

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802 - PySpark's name
        """Return the values that occur in the message."""
        return dict(self.parameters)
