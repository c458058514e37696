"""A run's points in the long comparison of nightly runs, as line protocol for the retention policy ``history``.

The run's name is a field, not a tag, so that the number of series does not grow with the runs; its name is not
``run``, for InfluxDB deletes no series by a tag (a run's) that is a field in any measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from influxdb.line_protocol import make_lines

from testbed.judge.checks.derived import occasion, verdict_points
from testbed.judge.checks.result import Verdict
from testbed.plan.model import Plan


def history_lines(
    plan: Plan, verdict: Verdict, results: Sequence[Mapping[str, Any]], start_ns: int, end_ns: int
) -> str:
    """Line protocol of ``run_verdict`` and ``key_figure`` (docs/contracts.md) at ``end_ns`` (Unix nanoseconds).

    ``results`` are the agents' ``result.json`` documents; a run that broke down has none.
    """
    tags = {
        "scenario": plan["scenario"],
        "policy": verdict.policy,
        "engine": plan["engine"],
        "occasion": occasion(plan),
        "variant": plan["variant"],
    }
    points = [_of_verdict(point, tags, verdict) for point in verdict_points(plan, verdict, start_ns, end_ns)]
    if not verdict.broken:
        points += _goodputs(results, tags, verdict.run, end_ns)
    return str(make_lines({"points": points}))


def _of_verdict(point: Mapping[str, Any], tags: Mapping[str, str], verdict: Verdict) -> dict[str, Any]:
    """A point of the measurement ``verdict`` as a point of the long comparison."""
    fields = {**point["fields"], "run_id": verdict.run}
    if "check" in point["tags"]:
        own = {**tags, "figure": point["tags"]["check"]}
        return {"measurement": "key_figure", "tags": own, "fields": fields, "time": point["time"]}
    fields["summary"] = verdict.summary
    if verdict.duration_s is not None:
        fields["duration_s"] = float(verdict.duration_s)
    return {"measurement": "run_verdict", "tags": tags, "fields": fields, "time": point["time"]}


def _goodputs(
    results: Sequence[Mapping[str, Any]], tags: Mapping[str, str], run: str, at_ns: int
) -> Iterator[dict[str, Any]]:
    for result in results:
        if result.get("role") == "receiver" and result.get("goodput_bps"):
            yield {
                "measurement": "key_figure",
                "tags": {**tags, "figure": "goodput_bps", "session": result["session"]},
                "fields": {"measured": float(result["goodput_bps"]), "run_id": run},
                "time": at_ns,
            }
