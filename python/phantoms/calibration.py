"""The constants of the cost model, measured on the machine that runs the session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phantoms import _files, _jvm, outputs
from phantoms.errors import PhantomsError
from phantoms.session import require_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MACHINE", "Calibration", "calibrate", "load_calibration"]

MACHINE = "spark.phantoms.machine"
"""The conf that tells the chooser which constants to use."""

FORMAT = "phantoms-machine"

MEANINGS = {
    "c1": "probing a table before the shuffle",
    "c2": "shipping an entry of 32 bytes across it",
    "c2PerByte": "each byte more of an entry shipped",
    "merge": "merging an entry after it, table in the cache",
    "emit": "writing a result row",
    "plainRow": "plain Spark: an input row of one groupBy",
    "plainGroup": "plain Spark: a group that crosses the shuffle",
    "scanRow": "reading an input row",
    "fixed": "starting one more stage",
}


@dataclass(frozen=True)
class Calibration:
    """Machine constants as measured.

    Attributes
    ----------
    constants : dict
        Nanoseconds by name; see `MEANINGS`.
    r2 : dict
        By regression (``map``, ``reduce``, ``plain``): the part of the variance of measured times it explains.
    clamped : tuple of dict
        Constants that came out beyond 20 times their default, or below a twentieth: ``name``, ``measured``, ``used``.
    spark_version : str
        The Spark that ran.
    cores : int
        Tasks that it ran at once.
    details : dict
        Everything, the times of each job included: what `save` writes.
    """

    constants: Mapping[str, float]
    r2: Mapping[str, float]
    clamped: tuple[Mapping[str, Any], ...]
    spark_version: str
    cores: int
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Calibration:
        """Read what `to_dict` made.

        Raises
        ------
        PhantomsError
            ``BAD_CALIBRATION`` if it is something else.
        """
        try:
            if document["format"] != FORMAT or document["version"] != 1:
                raise ValueError("another format or version")
            return cls(
                constants={str(k): float(v) for k, v in document["constants"].items()},
                r2={str(k): float(v["r2"]) for k, v in document.get("fits", {}).items()},
                clamped=tuple(document.get("clamped", ())),
                spark_version=str(document.get("spark", "")),
                cores=int(document.get("cores", 0)),
                details=dict(document),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise PhantomsError(
                "BAD_CALIBRATION",
                # Not the error's own words: they quote what may have come from any file.
                f"this is no calibration ({type(e).__name__}): it is not of format {FORMAT}, version 1, or incomplete.",
                "Give what Calibration.save wrote.",
            ) from None

    @property
    def conf(self) -> str:
        """The constants as a value of ``spark.phantoms.machine``."""
        return ",".join(f"{k}={v:g}" for k, v in self.constants.items())

    def apply(self, spark: SparkSession) -> None:
        """Let the chooser of a session use the constants.

        Raises
        ------
        PhantomsError
            ``NOT_ACTIVE`` if the plugin is not part of the session; ``BAD_CALIBRATION`` if it refuses a constant.
        """
        require_active(spark)
        _call("the constants", lambda: spark.conf.set(MACHINE, self.conf))

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, which ``spark.phantoms.machine`` may name.

        Raises
        ------
        PhantomsError
            ``BAD_CALIBRATION`` if it cannot be written.
        """
        try:
            Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")
        except OSError as e:
            raise PhantomsError("BAD_CALIBRATION", f"{path} cannot be written: {e}.", "Give another path.") from e

    def to_dict(self) -> dict[str, Any]:
        """Everything measured, as JSON has it."""
        return dict(self.details)

    def __str__(self) -> str:
        """The constants beside the defaults, and how well they explain what was measured."""
        known = self.details
        defaults = known.get("defaults", {})
        lines = [
            f"machine constants: Spark {self.spark_version}, {self.cores} cores, "
            f"{known.get('rows', 0):,} rows, measured in {known.get('seconds', 0):.0f} s"
        ]
        for name, value in self.constants.items():
            usual = f"default {defaults[name]:,g}" if name in defaults else ""
            lines.append(f"  {name:<10} {value:>13,g} ns   {usual:<19} {MEANINGS.get(name, '')}")
        for name, fit in known.get("fits", {}).items():
            lines.append(
                f"  fit of {name}: R2 {fit['r2']:.3f}, median error {100 * fit['median_error']:.0f} %, "
                f"{len(fit['runs'])} jobs"
            )
        lines += [
            f"  clamped: {c['name']} came out as {c['measured']:,g} ns, which is not plausible; {c['used']:,g} is used"
            for c in self.clamped
        ]
        return "\n".join(lines)


def _call(what: str, action: Callable[[], Any]) -> Any:
    return _jvm.guarded("BAD_CALIBRATION", "Correct the argument or the file.", what, action)


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PhantomsError(
            "BAD_ARGUMENT", f"{name} must be a positive whole number, not {value!r}.", "Pass at least 1."
        )
    return value


def calibrate(
    spark: SparkSession,
    *,
    rows: int = 1_000_000,
    repeat: int = 3,
    seed: int = 1,
    path: str | Path | None = None,
    directory: str | None = None,
    apply: bool = True,
) -> Calibration:
    """Measure the constants the chooser weighs alternatives with, and let it use them in this session.

    Runs some thirty small jobs with known configurations over generated data, with the plugin and without, and fits the
    constants to the CPU time of their stages by regression. Takes about a minute on two idle cores. Without calibration
    the chooser uses defaults, which were set by hand.

    Parameters
    ----------
    spark : SparkSession
        A session with the plugin. Its confs hold for the jobs, but stay as they are.
    rows : int
        Rows of the generated data. With fewer, what is measured is mostly the cost of starting tasks.
    repeat : int
        Measured runs of each job, after one to warm up; their median counts.
    seed : int
        Of the generated data.
    path : str or Path, optional
        Where to save the result; `load_calibration` and ``spark.phantoms.machine`` read it.
    directory : str, optional
        Where the generated data may be written for the time being. Needed where executors do not see the driver's disk.
    apply : bool
        Whether to set ``spark.phantoms.machine`` in this session.

    Returns
    -------
    Calibration
        Constants, quality of the fits, and what was measured.

    Raises
    ------
    PhantomsError
        ``NOT_ACTIVE`` without the plugin; ``BAD_ARGUMENT`` for a number below 1 or a path that cannot be written;
        ``BAD_CALIBRATION`` if the data cannot be written or a job fails; ``CONNECT_UNSUPPORTED`` for a Spark Connect
        session.
    """
    require_active(spark)
    size, runs = _count("rows", rows), _count("repeat", repeat)
    outputs.check(path, "path")
    given = {"rows": size, "repeat": runs, "seed": seed, "directory": directory}
    found = Calibration.from_dict(_call("calibration", lambda: _jvm.call(spark, "calibrate", given)))
    if path is not None:
        found.save(path)
    if apply:
        found.apply(spark)
    return found


def load_calibration(spark: SparkSession, path: str | Path) -> Calibration:
    """Use the constants of a file in this session. The conf ``spark.phantoms.machine=PATH`` does the same.

    Parameters
    ----------
    spark : SparkSession
        A session with the plugin.
    path : str or Path
        What `Calibration.save` wrote.

    Raises
    ------
    PhantomsError
        ``BAD_CALIBRATION`` if it cannot be read; ``NOT_ACTIVE`` without the plugin.
    """
    found = Calibration.from_dict(
        _files.read_json(path, "BAD_CALIBRATION", "Give a file that Calibration.save wrote.", most=2**20)
    )
    found.apply(spark)
    return found
