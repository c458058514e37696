"""What a run's windows are to do, known before it begins: the law with its tolerance, and the ratio asked for.

On the common clock (:mod:`testbed.series.one_clock`), so that a dashboard has it beneath the run from its first second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from influxdb.line_protocol import make_lines

from testbed.checks import asked
from testbed.checks.expected import law_by_plan
from testbed.checks.follows_law import FollowsLaw
from testbed.checks.ratio import Ratio
from testbed.checks.registry import parameters_in_plan
from testbed.checks.settles import Settles
from testbed.plan.model import Plan, Session
from testbed.series.one_clock import PREFIX, ZERO_NS
from testbed.series.run_list import expected_s

STEP_S = 0.1
POINTS_MAX = 2000
"""Of a connection; a longer run has them farther apart."""


def law_ahead(plan: Plan) -> list[str]:
    """Line protocol, on the common clock, of the measurements

    - ``t0_law_ahead`` (tags run, scenario, policy, session, connection; fields expected, lower, upper: shares) for
      sessions that a ``follows_law`` with the rates of the plan is about; lower and upper where it judges;
    - ``t0_ratio_ahead`` (the same tags; fields expected, lower, upper) for sessions with two connections, of whose
      windows a ``settles`` or ``ratio`` asks a quotient: the first of them counts.
    """
    checks = parameters_in_plan(plan["checks"])
    last_s = expected_s(plan)
    t_s = np.arange(0.0, last_s + STEP_S, max(STEP_S, last_s / POINTS_MAX))
    points: list[dict[str, Any]] = []
    for session in plan["sessions"]:
        mine = [
            check
            for check in checks
            if getattr(check, "session", None) in (None, session["name"])
            and (not check.policy or session["policy"] in check.policy)
        ]
        if plan["sessions"][0] is not session:  # without a name a check is about the first one
            mine = [check for check in mine if getattr(check, "session", None)]
        points += _law(plan, session, [c for c in mine if isinstance(c, FollowsLaw) and c.rates == "plan"], t_s)
        points += _ratio(plan, session, [c for c in mine if isinstance(c, (Settles, Ratio))], t_s)
    return str(make_lines({"points": points})).splitlines() if points else []


def _law(
    plan: Plan, session: Session, checks: list[FollowsLaw], t_s: np.typing.NDArray[np.float64]
) -> Iterator[dict[str, Any]]:
    """Where two checks follow each other, each counts from its own beginning on."""
    if not checks:
        return
    checks = sorted(checks, key=lambda check: check.from_s)
    laws = [(check, law_by_plan(plan, session, check.start_s)) for check in checks]
    for connection in asked.connections(session):
        for t in t_s:
            check, law = next((pair for pair in reversed(laws) if pair[0].from_s <= t), laws[0])
            share = float(law.share(connection, t))
            fields = {"expected": share}
            if check.from_s <= t <= check.to_s:
                fields |= {"lower": max(0.0, share - check.tolerance), "upper": min(1.0, share + check.tolerance)}
            yield _point(plan, session, "law_ahead", connection, fields, t)


def _ratio(
    plan: Plan, session: Session, checks: list[Settles | Ratio], t_s: np.typing.NDArray[np.float64]
) -> Iterator[dict[str, Any]]:
    indices = asked.connections(session)
    check = next((c for c in checks if c.series == "window_packets" and c.connections == indices), None)
    if check is None or len(indices) != 2:
        return
    if isinstance(check, Settles):
        rates = asked.rates_pps(plan, session)
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
) -> dict[str, Any]:
    start_s = float(session.get("start_s", 0.0))
    return {
        "measurement": PREFIX + measurement,
        "tags": {
            "run": plan["run"],
            "scenario": plan["scenario"],
            "policy": session["policy"],
            "session": session["name"],
            "connection": connection,
        },
        "fields": dict(fields),
        "time": ZERO_NS + round((start_s + float(t_s)) * 1e9),
    }
