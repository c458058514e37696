"""Data that the judge derives, as line protocol for ``derived.lp`` and the database: law and verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from influxdb.line_protocol import make_lines

from testbed.judge.checks import planned, summary
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.follows_law import FollowsLaw
from testbed.judge.checks.law import law_for
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import Verdict
from testbed.judge.status import Status
from testbed.plan.model import Plan
from testbed.series import Reader, named
from testbed.series.reader import end_of, start_of
from testbed.series.tables import AFTER_MS, BEFORE_MS


def derived_lines(plan: Plan, reader: Reader, verdict: Verdict) -> str:
    """Line protocol of the measurements ``law`` and ``verdict`` (nanoseconds), a line each, "" without any.

    ``law`` (tags run, scenario, session, connection, check; fields expected_share, error = measured − law)
    has a point at every sample of the share; ``law_worst`` (the same tags; field error, without its sign) is the
    largest of the time that is judged. For ``verdict`` see :func:`verdict_points`. Both are at the transfer's end.
    """
    evidence = Evidence(plan, reader)
    points = list(_law_points(plan, evidence))
    start_ns = start_of(evidence.events)
    end_ns = end_of(evidence.events) or start_ns
    if start_ns is not None and end_ns is not None:  # else nothing was ever sent: no time to put a verdict at
        points += _worst_points(plan, evidence, points, end_ns)
        points += verdict_points(plan, verdict, start_ns, end_ns)
    return str(make_lines({"points": points})) if points else ""


def broken_lines(plan: Plan, verdict: Verdict, at_ns: int) -> str:
    """Line protocol of the verdict on a run that broke down at ``at_ns``."""
    return str(make_lines({"points": list(verdict_points(plan, verdict, at_ns, at_ns))}))


def _law_points(plan: Plan, evidence: Evidence) -> Iterator[dict[str, Any]]:
    for check in parameters_in_plan(plan["checks"]):
        if not isinstance(check, FollowsLaw):
            continue
        session = planned.session_of(plan, check.session)
        if check.policy and session["policy"] not in check.policy:
            continue
        try:
            start = evidence.start_ns(session["name"])
            law = law_for(evidence, session, check.start_s, check.rates)
        except CannotJudge:
            continue  # the verdict says so
        tags = {**_run_tags(plan), "session": session["name"], "check": check.name}
        samples = evidence.reader.read(named(check.series), {"session": session["name"]})
        for connection, (t_ns, values) in samples.items():
            expected = law.share(connection, (t_ns - start) / 1e9)
            for time, value, share in zip(t_ns, values, expected, strict=True):
                if time >= start:
                    yield {
                        "measurement": "law",
                        "tags": {**tags, "connection": connection},
                        "fields": {"expected_share": float(share), "error": float(value - share)},
                        "time": int(time),
                    }


def _worst_points(plan: Plan, evidence: Evidence, law: list[dict[str, Any]], end_ns: int) -> Iterator[dict[str, Any]]:
    judged = {c.name: c for c in parameters_in_plan(plan["checks"]) if isinstance(c, FollowsLaw)}
    worst: dict[tuple[str, str, str], float] = {}
    for point in law:
        tags = point["tags"]
        check = judged[tags["check"]]
        t_s = (point["time"] - evidence.start_ns(tags["session"])) / 1e9
        error = abs(point["fields"]["error"])
        key = (tags["session"], tags["connection"], tags["check"])
        if check.from_s <= t_s <= check.to_s:
            worst[key] = max(error, worst.get(key, 0.0))
    for (session, connection, name), error in worst.items():
        tags = {**_run_tags(plan), "session": session, "connection": connection, "check": name}
        yield {"measurement": "law_worst", "tags": tags, "fields": {"error": error}, "time": end_ns}


def marks(plan: Plan, verdict: Verdict, start_ns: int) -> list[str]:
    """Makes the events that only a check can find, as line protocol: when windows had settled (kind ``settled``)."""
    in_plan = {check["name"]: check for check in plan["checks"]}
    points = []
    for check in verdict.checks:
        if check.judge == "settles" and isinstance(check.measured, (int, float)):
            at_s = in_plan[check.name]["from_s"] + check.measured
            tags = {**_run_tags(plan), "kind": "settled", "session": str(check.figures.get("session", ""))}
            fields = {"text": f"{check.name}: settled after {check.measured:.1f} s", "at_s": float(at_s)}
            time = start_ns + round(at_s * 1e9)
            points.append({"measurement": "event", "tags": tags, "fields": fields, "time": time})
    return str(make_lines({"points": points})).splitlines() if points else []


def verdict_points(plan: Plan, verdict: Verdict, start_ns: int, end_ns: int) -> Iterator[dict[str, Any]]:
    """The measurement ``verdict`` (tags ``run``, ``scenario``, ``policy``, ``occasion``) at ``end_ns``.

    One point for the run (fields verdict, passed, not_passed, broken, trusted, checks, failed, summary, from_ms, to_ms:
    a span that shows all of the run), and one per check with the tags ``check``, ``judge``, and in words, for alerts,
    ``measures``, ``expects`` and ``unit`` (fields status, passed, failed, reason, and
    measured, expected, tolerance, of_expected where they are numbers). A run that broke down
    has no checks: nothing was judged.
    """
    tags = {**_run_tags(plan), "policy": verdict.policy, "occasion": occasion(plan)}
    yield {
        "measurement": "verdict",
        "tags": tags,
        "fields": {
            "verdict": verdict.verdict,
            "passed": int(verdict.verdict == Status.PASS),
            "not_passed": int(verdict.verdict != Status.PASS and not verdict.broken),
            "broken": int(bool(verdict.broken)),
            "summary": verdict.summary,
            "trusted": int(verdict.trust.trusted),
            "checks": len(verdict.checks),
            "failed": sum(check.status in (Status.FAIL, Status.ERROR) for check in verdict.checks),
            "from_ms": start_ns // 1_000_000 - BEFORE_MS,
            "to_ms": end_ns // 1_000_000 + AFTER_MS,
        },
        "time": end_ns,
    }
    in_plan = {check["name"]: check for check in plan.get("checks", [])}
    for check in [] if verdict.broken else verdict.checks:
        in_words = {
            "measures": summary.measured(check),
            "expects": summary.expected(check, in_plan.get(check.name, {})),
            "unit": summary.unit_of(check, in_plan.get(check.name, {})) or "-",
        }
        numbers = {
            name: float(value)
            for name in ("measured", "expected", "tolerance")
            if isinstance(value := getattr(check, name), (int, float))
        }
        if (part := summary.of_expected(check, in_plan.get(check.name, {}))) is not None:
            numbers["of_expected"] = part
        yield {
            "measurement": "verdict",
            "tags": {**tags, "check": check.name, "judge": check.judge, **in_words},
            "fields": {
                "status": check.status,
                "reason": check.reason,
                "passed": int(check.status == Status.PASS),
                "failed": int(check.status in (Status.FAIL, Status.ERROR)),
                **numbers,
            },
            "time": end_ns,
        }


def occasion(plan: Plan) -> str:
    """The trigger of the run: ``manual``, or ``nightly`` for runs that alerts watch."""
    return str(plan.get("occasion", "manual"))


def _run_tags(plan: Plan) -> dict[str, str]:
    return {"run": plan["run"], "scenario": plan["scenario"]}
