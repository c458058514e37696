"""``window_edges``: did the receiver's window stop the sender, how often, and how fast did its right edge rise?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message


class WindowEdges(CheckParameters):
    """The sender had to wait at ``count`` right edges of the advertised window, and each was ``min_rise`` to
    ``max_rise`` times as far as the one before."""

    of_traffic: ClassVar[tuple[str, ...]] = ("tcp",)

    judge: Literal["window_edges"]
    session: str | None = None
    count: int = Field(ge=0)
    min_rise: float = Field(1.0, ge=1)
    max_rise: float = Field(100.0, ge=1)

    @model_validator(mode="after")
    def _rises_in_order(self) -> WindowEdges:
        if self.max_rise < self.min_rise:
            raise InvalidValue(
                "check.rise-below-min",
                "max_rise ({max_rise:g}) has to be at least min_rise ({min_rise:g})",
                max_rise=self.max_rise,
                min_rise=self.min_rise,
            )
        return self

    def in_words(self) -> str:
        """The check in words."""
        if not self.count:
            return "The receiver's window never makes the sender wait."
        rises = f", each {self.min_rise:g} to {self.max_rise:g} times the one before" if self.count > 1 else ""
        return f"The sender waits at {self.count} right edges of the receiver's window{rises}."

    def unfit(self, section: Any) -> str | None:
        return None if section.kind == "download" else f"is about a download, not {section.kind}"


def window_edges(parameters: WindowEdges, evidence: Evidence) -> CheckResult:
    """The result from the sender's capture."""
    session = planned.session_of(evidence.plan, parameters.session)
    sender = evidence.result_of(session["name"], "sender")
    if sender is None or "edges_met_bytes" not in sender:
        raise CannotJudge("edges.none", "the sender's result has no edges; only a download's has")
    met: Sequence[int] = sender["edges_met_bytes"]
    rises = [after / before for before, after in pairwise(met)]
    fine = len(met) == parameters.count and all(parameters.min_rise <= r <= parameters.max_rise for r in rises)
    where = f" at {', '.join(f'{edge:,}' for edge in met)} bytes" if met else ""
    rose = f"; they rose {', '.join(f'{rise:.2f}' for rise in rises)} times" if rises else ""
    expected = f"{parameters.count}"
    if parameters.count > 1:
        expected += f", rising {parameters.min_rise:g} to {parameters.max_rise:g} times"
    return CheckResult.of(
        parameters,
        Status.PASS if fine else Status.FAIL,
        Message("edges.met", "The sender waited at {met} edges{where}{rose}.", met=len(met), where=where, rose=rose),
        measured=len(met),
        expected=expected,
        figures={"edges_met_bytes": list(met), "rises": [rounded(rise) for rise in rises]},
    )
