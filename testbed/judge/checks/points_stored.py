"""``points_stored``: did every sample that was taken reach the database?"""

from __future__ import annotations

from typing import ClassVar, Literal

from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import ANY_TRAFFIC, CheckParameters
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import Message
from testbed.plan.engines import engine_of


class PointsStored(CheckParameters):
    """InfluxDB holds as many of the run's points as ``telemetry.lp``."""

    of_traffic: ClassVar[tuple[str, ...]] = ANY_TRAFFIC
    fact: ClassVar[bool] = True

    judge: Literal["points_stored"]

    def in_words(self) -> str:
        """The check in words."""
        return "InfluxDB holds as many of the run's points as the result folder's telemetry.lp."


def points_stored(parameters: PointsStored, evidence: Evidence) -> CheckResult:
    """Compares the file's points, counted now, with the database's, counted when the run ended.

    Judging again from the folder alone can't ask the database, so it takes the count that was recorded.
    """
    if evidence.file_points is None:
        raise CannotJudge("points.no-file", "the run's telemetry.lp was not given, so its points can't be counted")
    if evidence.database_points is None and engine_of(evidence.plan).virtual_time:
        said = Message("points.not-asked", "Skipped: no InfluxDB was up, and a run in virtual time needs none.")
        return CheckResult.of(parameters, Status.SKIPPED, said)
    if evidence.database_points is None:
        raise CannotJudge(
            "points.not-counted", "no count of the database's points was recorded; the run had no database"
        )
    missing = evidence.file_points - evidence.database_points
    same = missing == 0
    said = Message(
        "points.stored",
        "{file_points:,} points in telemetry.lp, {database_points:,} in InfluxDB when the run ended.",
        file_points=evidence.file_points,
        database_points=evidence.database_points,
    )
    if missing > 0:
        said = Message(
            "points.missing",
            "{file_points:,} points in telemetry.lp, {database_points:,} in InfluxDB when the run ended: {missing:,} "
            "did not get there.",
            file_points=evidence.file_points,
            database_points=evidence.database_points,
            missing=missing,
        )
    elif missing < 0:
        said = Message(
            "points.not-in-the-file",
            "{file_points:,} points in telemetry.lp, {database_points:,} in InfluxDB when the run ended: {more:,} in "
            "the database are not in the file.",
            file_points=evidence.file_points,
            database_points=evidence.database_points,
            more=-missing,
        )
    return CheckResult.of(
        parameters,
        Status.PASS if same else Status.FAIL,
        said,
        measured=evidence.database_points,
        expected=evidence.file_points,
        tolerance=0.0,
        figures={"file_points": evidence.file_points, "database_points": evidence.database_points},
    )
