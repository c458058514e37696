"""Writes start, end and results of a transfer that no agent reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from influxdb.line_protocol import make_lines

from testbed.documents import write_json
from testbed.plan.model import Plan

Point = Mapping[str, Any]


def write_events(
    plan: Plan, spools: Path, result: Mapping[str, Any], words: tuple[str, str], further: Sequence[Point] = ()
) -> None:
    """Add start and end to the timeline's spool, with ``further`` points. ``result`` is the receiver's: ``session``,
    ``started_unix_ns``, ``finished_unix_ns``, ``duration_s``; ``words`` describe start and end."""
    tags = {"run": plan["run"], "scenario": plan["scenario"], "session": result["session"]}
    points = [
        {
            "measurement": "event",
            "tags": {**tags, "kind": kind},
            "time": result[when],
            "fields": {"at_s": at_s, "text": text},
        }
        for kind, when, at_s, text in (
            ("transfer_start", "started_unix_ns", 0.0, words[0]),
            ("transfer_end", "finished_unix_ns", result["duration_s"], words[1]),
        )
    ]
    with (spools / "events.lp").open("ab", buffering=0) as spool:
        spool.write(make_lines({"points": [*points, *further]}).encode())


def write_result(folder: Path, name: str, result: Mapping[str, Any]) -> None:
    """Write the result of one end into a run's folder."""
    write_json(folder / "agents" / f"{name}.json", result)
