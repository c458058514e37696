"""Data that the judge derives, as line protocol: law and verdict, for ``derived.lp`` and the database.

For the retention policy ``history``, a run's points in the long comparison of nightly runs. Before a run begins, the
expected windows: the law with its tolerance, and the expected ratio. They are on the common clock
(:mod:`testbed.series.one_clock`), so that a dashboard has them beneath the run from its first second. And as a table,
``windows.csv``: the sender's connections over time.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.documents import write_csv
from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.in_range import Ratio, Settles
from testbed.judge.checks.law import FollowsLaw, Law, law_of
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.planned import rates_by_plan
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import CheckResult, Verdict
from testbed.judge.status import Status
from testbed.plan.codes import is_about
from testbed.plan.duration import shown_s
from testbed.plan.model import Plan, Session
from testbed.points import Point, line_protocol, point
from testbed.series import Reader, named
from testbed.series.one_clock import ZERO_NS
from testbed.series.reader import end_of, group_order, start_of

_UNITS = {
    "follows_law": "of the window",
    "settles": "s",
    "goodput": "of what the links carry",
    "fair_share": "(Jain's index)",
    "link_filled": "of the link's rate",
    "mptcp_carried": "subflows",
    "payload_intact": "bytes",
    "payload_captured": "bytes",
    "points_stored": "points",
    "protocol_kept": "problems",
    "window_edges": "edges",
}
"""Units by the check's function; a check of a series has the series' own unit."""


def derived_lines(plan: Plan, reader: Reader, verdict: Verdict) -> str:
    """Line protocol of the measurements ``law`` and ``verdict`` (nanoseconds), a line each, "" without any.

    ``law`` (tags run, scenario, session, connection, check; fields expected_share, error = measured − law)
    has a point at every sample of the share; ``law_worst`` (the same tags; field error, without its sign) is the
    largest of the time that is judged. For ``verdict`` see :func:`verdict_points`. Both are at the transfer's end.
    """
    evidence = Evidence(plan, reader)
    start_ns = start_of(evidence.events)
    if start_ns is None:  # nothing was ever sent: no time to put a verdict at
        return ""
    end_ns = end_of(evidence.events) or start_ns
    return line_protocol([*_law_points(plan, evidence, end_ns), *verdict_points(plan, verdict, end_ns)])


def broken_lines(plan: Plan, verdict: Verdict, at_ns: int) -> str:
    """Line protocol of the verdict on a run that broke down at ``at_ns``."""
    return line_protocol(verdict_points(plan, verdict, at_ns))


def _law_points(plan: Plan, evidence: Evidence, end_ns: int) -> list[Point]:
    points, worst = [], []
    for check in parameters_in_plan(plan["checks"]):
        if not isinstance(check, FollowsLaw):
            continue
        session = planned.session_of(plan, check.session)
        if not is_about(check.policy, session):
            continue
        try:
            start_ns = evidence.start_ns(session["name"])
            law = check.law(evidence, session)
        except CannotJudge:
            continue  # the verdict says so
        found = evidence.reader.read(named(check.series), {"session": session["name"]})
        for connection, samples in found.items():
            tags = {**_run_tags(plan), "session": session["name"], "check": check.name, "connection": connection}
            t_s, measured = Timed.of(samples, start_ns, None)
            shares = law.share(connection, t_s)
            errors = measured - shares
            for at_s, share, error in zip(t_s.tolist(), shares.tolist(), errors.tolist(), strict=True):
                fields = {"expected_share": share, "error": error}
                points.append(point("law", tags, fields, start_ns + round(at_s * 1e9)))
            judged = np.abs(errors[(t_s >= check.from_s) & (t_s <= check.to_s)])
            if judged.size:
                worst.append(point("law_worst", tags, {"error": float(judged.max())}, end_ns))
    return points + worst


def marks(plan: Plan, verdict: Verdict, start_ns: int) -> list[str]:
    """Makes the events that only a check can find, as line protocol: when windows had settled (kind ``settled``)."""
    in_plan = {check["name"]: check for check in plan["checks"]}
    points = []
    for check in verdict.checks:
        if check.judge == "settles" and isinstance(check.measured, (int, float)):
            at_s = in_plan[check.name]["from_s"] + check.measured
            tags = {**_run_tags(plan), "kind": "settled", "session": str(check.figures.get("session", ""))}
            fields = {"text": f"{check.name}: settled after {check.measured:.1f} s", "at_s": float(at_s)}
            points.append(point("event", tags, fields, start_ns + round(at_s * 1e9)))
    return line_protocol(points).splitlines()


def verdict_points(plan: Plan, verdict: Verdict, end_ns: int) -> Iterator[Point]:
    """The measurement ``verdict`` (tags ``run``, ``scenario``, ``policy``, ``occasion``) at ``end_ns``.

    - One point for the run: fields verdict, passed, not_passed, broken, trusted, checks, failed and summary.
    - One point per check, with the tags ``check`` and ``judge`` and, for alerts, in words ``measures``, ``expects`` and
      ``unit``. Fields are status, trusted (of the run), passed, failed and reason; where they are numbers also
      measured, expected, tolerance and of_expected. A run that broke down has no checks: nothing was judged.
    """
    tags = {**_run_tags(plan), "policy": verdict.policy, "occasion": occasion(plan)}
    fields = {
        "verdict": verdict.verdict,
        "passed": int(verdict.verdict == Status.PASS),
        "not_passed": int(verdict.verdict != Status.PASS and not verdict.broken),
        "broken": int(bool(verdict.broken)),
        "summary": verdict.summary,
        "trusted": int(verdict.trust.trusted),
        "checks": len(verdict.checks),
        "failed": sum(check.status in (Status.FAIL, Status.ERROR) for check in verdict.checks),
    }
    yield point("verdict", tags, fields, end_ns)
    in_plan = {check["name"]: check for check in plan.get("checks", [])}
    for check in [] if verdict.broken else verdict.checks:
        found = _check_point(tags, check, in_plan.get(check.name, {}), end_ns)
        yield {**found, "fields": {**found["fields"], "trusted": fields["trusted"]}}


def _check_point(tags: Mapping[str, str], check: CheckResult, planned_check: Mapping[str, Any], end_ns: int) -> Point:
    in_words = {
        "measures": measured_in_words(check),
        "expects": expected_in_words(check, planned_check),
        "unit": unit_of(check, planned_check) or "-",
    }
    values = {name: getattr(check, name) for name in ("measured", "expected", "tolerance")}
    values["of_expected"] = part_of_expected(check, planned_check)
    fields = {
        "status": check.status,
        "reason": check.reason,
        "passed": int(check.status == Status.PASS),
        "failed": int(check.status in (Status.FAIL, Status.ERROR)),
        **{name: float(value) for name, value in values.items() if isinstance(value, (int, float))},
    }
    return point("verdict", {**tags, "check": check.name, "judge": check.judge, **in_words}, fields, end_ns)


def history_lines(plan: Plan, verdict: Verdict, results: Sequence[Mapping[str, Any]], end_ns: int) -> str:
    """Line protocol of ``run_verdict`` and ``key_figure`` (docs/contracts.md) at ``end_ns`` (Unix nanoseconds).

    The run's name is a field, not a tag, so that the number of series does not grow with the runs; its name is not
    ``run``, for InfluxDB deletes no series by a tag (a run's) that is a field in any measurement. ``results`` are the
    agents' ``result.json`` documents; a run that broke down has none.
    """
    tags = {"scenario": plan["scenario"], "engine": plan["engine"], "variant": plan["variant"]}
    tags |= {"policy": verdict.policy, "occasion": occasion(plan)}
    points = []
    for found in verdict_points(plan, verdict, end_ns):
        fields = {**found["fields"], "run_id": verdict.run}
        if "check" in found["tags"]:
            points.append(point("key_figure", {**tags, "figure": found["tags"]["check"]}, fields, end_ns))
            continue
        if verdict.duration_s is not None:
            fields["duration_s"] = float(verdict.duration_s)
        points.append(point("run_verdict", tags, fields, end_ns))
    for result in [] if verdict.broken else results:
        if result.get("role") == "receiver" and result.get("goodput_bps"):
            fields = {"measured": float(result["goodput_bps"]), "run_id": verdict.run}
            own = {**tags, "figure": "goodput_bps", "session": result["session"]}
            points.append(point("key_figure", own, fields, end_ns))
    return line_protocol(points)


def occasion(plan: Plan) -> str:
    """The trigger of the run: ``manual``, or ``nightly`` for runs that alerts watch."""
    return str(plan.get("occasion", "manual"))


def _run_tags(plan: Plan) -> dict[str, str]:
    return {"run": plan["run"], "scenario": plan["scenario"]}


def unit_of(check: CheckResult, planned: Mapping[str, Any]) -> str:
    """The unit of the check's figures, "" for a plain ratio; ``planned`` is the check in the plan."""
    if check.judge in _UNITS:
        return _UNITS[check.judge]
    if check.judge == "level" and "series" in planned:
        return named(planned["series"]).unit
    return ""


def measured_in_words(check: CheckResult) -> str:
    """The measured value in words, ``nothing`` without one."""
    return "nothing" if check.measured is None else _text(check.measured)


def expected_in_words(check: CheckResult, planned: Mapping[str, Any]) -> str:
    """The expected value in words, with its tolerance."""
    text = "to be judged" if check.expected is None else _text(check.expected)
    if check.tolerance:
        return f"{text} ± {check.tolerance:g}"
    if check.judge == "settles" and "tolerance" in planned:
        return f"{text}, within ± {planned['tolerance']:.0%} of the ratio"
    return text


def part_of_expected(check: CheckResult, planned: Mapping[str, Any]) -> float | None:
    """The figure in parts of what is expected (of what is allowed, where nothing at all would be best); None where it
    has no number."""
    if not isinstance(check.measured, (int, float)):
        return None
    if isinstance(check.expected, (int, float)):
        whole = float(check.expected) or float(check.tolerance or 0)
    elif check.judge == "settles":
        whole = float(planned.get("within_s", 0))
    elif planned.get("max"):
        whole = (float(planned.get("min") or 0) + float(planned["max"])) / 2
    else:
        whole = float(planned.get("min") or 0)
    return float(check.measured) / whole if whole else None


def _text(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


_SERIES = {
    "window": ("window_packets", 3),
    "share": ("window_share", 6),
    "in_flight": ("in_flight_packets", 0),
    "rtt_ms": ("rtt_ms", 3),
    "rto_ms": ("rto_ms", 3),
    "acked": ("acked", 0),
}
"""The series of each column, and its decimals."""
COLUMNS = ("t_s", "connection", *_SERIES, "session")


def write_windows_csv(reader: Reader, sessions: list[str], path: Path) -> int:
    """Writes the samples since each session's transfer_start; returns the number of rows.

    Windows, in flight and acked are packets, times since the transfer's start are seconds. A value that was
    not sampled is left empty.
    """
    events = reader.events()
    rows: dict[tuple[str, float, tuple[float, str]], dict[str, str]] = {}
    for session in sessions:
        start_ns = start_of(events, session)
        if start_ns is None:
            continue
        for column, (series, decimals) in _SERIES.items():
            for connection, samples in reader.read(named(series), {"session": session}).items():
                found = Timed.of(samples, start_ns, None)
                for t_s, value in zip(found.t_s.tolist(), found.values.tolist(), strict=True):
                    row = rows.setdefault((session, t_s, group_order(connection)), {})
                    row |= {"t_s": f"{t_s:.3f}", "connection": connection, "session": session}
                    row[column] = f"{value:.{decimals}f}"
    write_csv(path, [row for _, row in sorted(rows.items())], COLUMNS, "\n")
    return len(rows)


STEP_S = 0.1
EDGE_S = 1e-6
"""The width of a step in a line."""
POINTS_MAX = 2000
"""Most points of a connection; a longer run has them farther apart."""


def law_ahead(plan: Plan) -> list[str]:
    """Line protocol, on the common clock, of two measurements with tags run, scenario, policy, session, connection.

    ``law_ahead`` (fields expected, lower, upper: shares) is for sessions that a ``follows_law`` with the rates of
    the plan is about, where it judges; a ``event`` of kind ``law`` says where that ends. ``ratio_ahead`` (fields
    expected, lower, upper) is for sessions with two connections, of whose windows a ``settles`` or ``ratio`` asks a
    quotient: the first counts.
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
    return name == session["name"] and is_about(check.policy, session)


def _laws(plan: Plan, session: Session, checks: Sequence[CheckParameters]) -> list[tuple[FollowsLaw, Law]]:
    """The checks of a session by the law of the plan, in the order of their starts."""
    mine = [c for c in checks if isinstance(c, FollowsLaw) and c.rates == "plan" and _is_about(c, plan, session)]
    return [(c, law_of(session, rates_by_plan(plan, session), c.start_s)) for c in sorted(mine, key=lambda c: c.from_s)]


def _law_at(laws: Sequence[tuple[FollowsLaw, Law]], t_s: float) -> tuple[FollowsLaw, Law]:
    """The check at a time: of two that follow each other, each counts from its own start on."""
    return next((pair for pair in reversed(laws) if pair[0].from_s <= t_s), laws[0])


def _law(plan: Plan, session: Session, checks: Sequence[CheckParameters], t_s: Sequence[float]) -> Iterator[Point]:
    laws = _laws(plan, session, checks)
    for connection in planned.connections(session):
        for t in t_s if laws else ():
            check, law = _law_at(laws, t)
            # A plot's point is the mean of an interval from its time on.
            if check.from_s <= t < check.to_s:
                share = float(law.share(connection, t))
                fields = {"lower": max(0.0, share - check.tolerance), "upper": min(1.0, share + check.tolerance)}
                yield _point(plan, session, "law_ahead", connection, {"expected": share, **fields}, t)
    for check, _ in laws:
        if check.to_s < t_s[-1]:
            # The mark where it is no longer expected, with what happened last before.
            before = [f" ({each['text']})" for each in plan["timeline"] if check.from_s < each["at_s"] <= check.to_s]
            text = f"{check.name}: judged from {check.from_s:g} s to {check.to_s:g} s only{''.join(before[-1:])}"
            tags = {**_run_tags(plan), "kind": "law", "session": session["name"]}
            at_ns = ZERO_NS + round((float(session["start_s"]) + check.to_s) * 1e9)
            yield point("event", tags, {"text": text}, at_ns)


def _ratio(plan: Plan, session: Session, checks: Sequence[CheckParameters], t_s: Sequence[float]) -> Iterator[Point]:
    indices = planned.connections(session)
    mine = (c for c in checks if isinstance(c, (Settles, Ratio)) and _is_about(c, plan, session))
    check = next((c for c in mine if c.series == "window_packets" and c.connections == indices), None)
    if check is None or len(indices) != 2:
        return
    if isinstance(check, Ratio):
        targets: planned.Steps = [(0.0, (check.min + check.max) / 2)]
        band = check.min / targets[0][1], check.max / targets[0][1]
    else:
        rates = planned.rates_over_time(plan, session)
        targets = planned.without_repeats([(at_s, check.target or check.ratio_of(each)) for at_s, each in rates])
        band = 1 - check.tolerance, 1 + check.tolerance
    # A line from point to point has a step where a change has two.
    ends = [*(at_s - EDGE_S for at_s, _ in targets[1:]), t_s[-1]]
    for (from_s, target), to_s in zip(targets, ends, strict=True):
        fields = {"expected": float(target), "lower": float(target * band[0]), "upper": float(target * band[1])}
        for t in (from_s, to_s):
            yield _point(plan, session, "ratio_ahead", indices[0], fields, t)


def _point(
    plan: Plan, session: Session, measurement: str, connection: str, fields: Mapping[str, float], t_s: float
) -> Point:
    of_session = {"policy": session["policy"], "session": session["name"], "connection": connection}
    at_ns = ZERO_NS + round((float(session["start_s"]) + t_s) * 1e9)
    return point(measurement, {**_run_tags(plan), **of_session}, fields, at_ns)
