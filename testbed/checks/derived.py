"""What the judge derives, as line protocol for ``derived.lp`` and the database: law and verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from influxdb.line_protocol import make_lines

from testbed.checks import asked
from testbed.checks.evidence import CannotJudge, Evidence
from testbed.checks.follows_law import FollowsLaw
from testbed.checks.registry import parameters_in_plan
from testbed.checks.result import Verdict
from testbed.series import Reader, named
from testbed.series.reader import end_of, start_of


def derived_lines(plan: asked.Plan, reader: Reader, verdict: Verdict) -> str:
    """Line protocol of the measurements ``law`` and ``verdict`` (nanoseconds), a line each, "" without any.

    ``law`` (tags run, scenario, session, connection, check; fields expected_share, error = measured − law)
    has a point at every sample of the share. ``verdict`` (tags run, scenario, policy; fields verdict, passed,
    checks, failed) has one point at the transfer's end, and one per check with the tag ``check`` (fields
    status, passed).
    """
    evidence = Evidence(plan, reader)
    points = [*_law_points(plan, evidence), *_verdict_points(plan, evidence, verdict)]
    return str(make_lines({"points": points})) if points else ""


def _law_points(plan: asked.Plan, evidence: Evidence) -> Iterator[dict[str, Any]]:
    for check in parameters_in_plan(plan["checks"]):
        if not isinstance(check, FollowsLaw):
            continue
        session = asked.session_of(plan, check.session)
        try:
            start = evidence.start_ns(session["name"])
        except CannotJudge:
            continue  # the verdict says so
        law = asked.law_for(plan, session, check.start_s)
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


def _verdict_points(plan: asked.Plan, evidence: Evidence, verdict: Verdict) -> Iterator[dict[str, Any]]:
    time = end_of(evidence.events) or start_of(evidence.events)
    if time is None:  # nothing was ever sent, so there is no time to put a verdict at
        return
    failed = sum(check.status in ("fail", "error") for check in verdict.checks)
    yield {
        "measurement": "verdict",
        "tags": {**_run_tags(plan), "policy": verdict.policy},
        "fields": {
            "verdict": verdict.verdict,
            "passed": int(verdict.verdict == "pass"),
            "checks": len(verdict.checks),
            "failed": failed,
        },
        "time": time,
    }
    for check in verdict.checks:
        yield {
            "measurement": "verdict",
            "tags": {**_run_tags(plan), "policy": verdict.policy, "check": check.name},
            "fields": {"status": check.status, "passed": int(check.status == "pass")},
            "time": time,
        }


def _run_tags(plan: asked.Plan) -> dict[str, str]:
    return {"run": plan["run"], "scenario": plan["scenario"]}
