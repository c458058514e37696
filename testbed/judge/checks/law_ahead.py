"""The expected windows of a run, known before it begins: the law with its tolerance, and the expected ratio.

On the common clock (:mod:`testbed.series.one_clock`), so that a dashboard has it beneath the run from its first second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from testbed.judge.checks import planned
from testbed.judge.checks.in_range import Ratio, Settles
from testbed.judge.checks.law import FollowsLaw, Law, law_by_plan
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.registry import parameters_in_plan
from testbed.plan.duration import shown_s
from testbed.plan.model import Plan, Session
from testbed.series.one_clock import PREFIX, ZERO_NS
from testbed.series.series import Point, line_protocol, point

STEP_S = 0.1
POINTS_MAX = 2000
"""Most points of a connection; a longer run has them farther apart."""


def law_ahead(plan: Plan) -> list[str]:
    """Line protocol, on the common clock, of the measurements

    - ``t0_law_ahead`` (tags run, scenario, policy, session, connection; fields expected, lower, upper: shares) for
      sessions that a ``follows_law`` with the rates of the plan is about; lower and upper where it judges;
    - ``t0_ratio_ahead`` (the same tags; fields expected, lower, upper) for sessions with two connections, of whose
      windows a ``settles`` or ``ratio`` asks a quotient: the first of them counts.
    """
    checks = parameters_in_plan(plan["checks"])
    last_s = shown_s(plan)
    t_s = np.arange(0.0, last_s + STEP_S, max(STEP_S, last_s / POINTS_MAX)).tolist()
    return line_protocol(
        one
        for session in plan["sessions"]
        for points in (_law(plan, session, checks, t_s), _ratio(plan, session, checks, t_s))
        for one in points
    ).splitlines()


class SharesAhead:
    """The law's share of a session's window for a connection at a time, where a check is about it."""

    def __init__(self, plan: Plan) -> None:
        checks = parameters_in_plan(plan["checks"])
        self._laws = {session["name"]: _laws(plan, session, checks) for session in plan["sessions"]}

    def at(self, session: str, connection: str, t_s: float) -> float | None:
        """The share, 0 to 1; None where no check is about the law. ``t_s``: seconds since the transfer's start."""
        laws = self._laws.get(session)
        return float(_law_at(laws, t_s)[1].share(connection, t_s)) if laws else None


def _is_about(check: CheckParameters, plan: Plan, session: Session) -> bool:
    """Whether it is about a session: without a name, about the first one."""
    name = getattr(check, "session", None) or plan["sessions"][0]["name"]
    return name == session["name"] and (not check.policy or session["policy"] in check.policy)


def _laws(plan: Plan, session: Session, checks: Sequence[CheckParameters]) -> list[tuple[FollowsLaw, Law]]:
    """The checks of a session by the law of the plan, in the order of their starts."""
    mine = [c for c in checks if isinstance(c, FollowsLaw) and c.rates == "plan" and _is_about(c, plan, session)]
    return [(c, law_by_plan(plan, session, c.start_s)) for c in sorted(mine, key=lambda c: c.from_s)]


def _law_at(laws: Sequence[tuple[FollowsLaw, Law]], t_s: float) -> tuple[FollowsLaw, Law]:
    """The check at a time: of two that follow each other, each counts from its own start on."""
    return next((pair for pair in reversed(laws) if pair[0].from_s <= t_s), laws[0])


def _law(plan: Plan, session: Session, checks: Sequence[CheckParameters], t_s: Sequence[float]) -> Iterator[Point]:
    laws = _laws(plan, session, checks)
    for connection in planned.connections(session) if laws else ():
        for t in t_s:
            check, law = _law_at(laws, t)
            share = float(law.share(connection, t))
            fields = {"expected": share}
            if check.from_s <= t <= check.to_s:
                fields |= {"lower": max(0.0, share - check.tolerance), "upper": min(1.0, share + check.tolerance)}
            yield _point(plan, session, "law_ahead", connection, fields, t)


def _ratio(plan: Plan, session: Session, checks: Sequence[CheckParameters], t_s: Sequence[float]) -> Iterator[Point]:
    indices = planned.connections(session)
    mine = (c for c in checks if isinstance(c, (Settles, Ratio)) and _is_about(c, plan, session))
    check = next((c for c in mine if c.series == "window_packets" and c.connections == indices), None)
    if check is None or len(indices) != 2:
        return
    if isinstance(check, Settles):
        rates = planned.rates_pps(plan, session)
        target = check.target or rates[indices[0]] / rates[indices[1]]
        lower, upper = target * (1 - check.tolerance), target * (1 + check.tolerance)
    else:
        lower, upper = check.min, check.max
        target = (lower + upper) / 2
    for t in (t_s[0], t_s[-1]):
        fields = {"expected": float(target), "lower": float(lower), "upper": float(upper)}
        yield _point(plan, session, "ratio_ahead", indices[0], fields, t)


def _point(
    plan: Plan, session: Session, measurement: str, connection: str, fields: Mapping[str, float], t_s: float
) -> Point:
    tags = {
        "run": plan["run"],
        "scenario": plan["scenario"],
        "policy": session["policy"],
        "session": session["name"],
        "connection": connection,
    }
    return point(PREFIX + measurement, tags, fields, ZERO_NS + round((float(session["start_s"]) + t_s) * 1e9))
