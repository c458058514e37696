"""``points_stored``: did every sample that was taken reach the database?"""

from __future__ import annotations

from typing import ClassVar, Literal

from testbed.checks.evidence import CannotJudge, Evidence
from testbed.checks.parameters import ANY_TRAFFIC, CheckParameters
from testbed.checks.result import CheckResult
from testbed.plan.engines import engine_of


class PointsStored(CheckParameters):
    """InfluxDB holds as many of the run's points as ``telemetry.lp``."""

    of_traffic: ClassVar[tuple[str, ...]] = ANY_TRAFFIC
    fact: ClassVar[bool] = True

    judge: Literal["points_stored"]

    def asked(self) -> str:
        """What the check asks, in words."""
        return "InfluxDB holds as many of the run's points as the result folder's telemetry.lp."


def points_stored(parameters: PointsStored, evidence: Evidence) -> CheckResult:
    """Compares the file's points, counted now, with the database's, counted when the run ended.

    Judging again from the folder alone can't ask the database, so it takes the count that was recorded.
    """
    if evidence.file_points is None:
        raise CannotJudge("the run's telemetry.lp was not given, so its points can't be counted")
    if evidence.database_points is None and engine_of(evidence.plan).virtual_time:
        reason = "Not asked: no InfluxDB was up, and a run in virtual time needs none."
        return CheckResult(name=parameters.name, judge=parameters.judge, status="not-asked", reason=reason)
    if evidence.database_points is None:
        raise CannotJudge("no count of the database's points was recorded; the run had no database")
    missing = evidence.file_points - evidence.database_points
    same = missing == 0
    stored = f"{evidence.database_points:,} in InfluxDB when the run ended"
    reason = f"{evidence.file_points:,} points in telemetry.lp, {stored}"
    if missing > 0:
        reason += f": {missing:,} did not get there"
    elif missing < 0:
        reason += f": {-missing:,} in the database are not in the file"
    return CheckResult(
        name=parameters.name,
        judge=parameters.judge,
        status="pass" if same else "fail",
        measured=evidence.database_points,
        expected=evidence.file_points,
        tolerance=0.0,
        reason=reason + ".",
        figures={"file_points": evidence.file_points, "database_points": evidence.database_points},
    )
