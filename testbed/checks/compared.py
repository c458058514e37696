"""Runs on one clock, for comparison: their samples at the time since the transfer's start, from a common zero.

A dashboard's time axis is the time of the points, which InfluxQL can't shift. So what is compared is written
once more, as if every transfer had started at :data:`ZERO_NS`.
"""

from __future__ import annotations

from collections import defaultdict

from influxdb.line_protocol import make_lines

from testbed.checks import asked
from testbed.checks.evidence import CannotJudge, Evidence
from testbed.series import Reader, named
from testbed.series.compared import COMPARED, MEASUREMENT, ZERO_NS


def compared_lines(plan: asked.Plan, reader: Reader) -> list[str]:
    """Points of the measurement ``compared`` (tags run, scenario, policy, session, connection; a field per
    series of :data:`COMPARED`, named as it is), from each session's own start to its end."""
    evidence = Evidence(plan, reader)
    points = []
    for session in plan["sessions"]:
        tags = {"run": plan["run"], "scenario": plan["scenario"], "policy": session["policy"]}
        fields: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
        for name in COMPARED:
            try:
                found = evidence.samples(name, session["name"])
            except CannotJudge:  # it never started
                break
            of_session = named(name).group_by == "session"
            for group, samples in found.items():
                connection = "" if of_session else group
                for t_s, value in zip(samples.t_s, samples.values, strict=True):
                    fields[connection, ZERO_NS + round(t_s * 1e9)][name] = float(value)
        points += [
            {
                "measurement": MEASUREMENT,
                "tags": {**tags, "session": session["name"], "connection": connection},
                "fields": values,
                "time": time_ns,
            }
            for (connection, time_ns), values in fields.items()
        ]
    return str(make_lines({"points": points})).splitlines() if points else []
