"""Writes start, end and results of a transfer that no agent reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from influxdb.line_protocol import make_lines

from testbed.documents import write_json
from testbed.plan.model import Role, Session
from testbed.runtime.site import Site

Point = Mapping[str, Any]


def write_ends(
    site: Site,
    session: Session,
    span_ns: tuple[int, int],
    words: tuple[str, str],
    results: Mapping[Role, Mapping[str, Any]],
    further: Sequence[Point] = (),
) -> None:
    """Write both ends' ``results``, by role, and start and end of the transfer to the timeline's spool, with
    ``further`` points. ``span_ns`` are start and end in Unix nanoseconds, ``words`` describe them."""
    started_ns, finished_ns = span_ns
    duration_s = (finished_ns - started_ns) / 1e9
    common = {
        "session": session["name"],
        "started_unix_ns": started_ns,
        "finished_unix_ns": finished_ns,
        "duration_s": duration_s,
        "error": "",
    }
    for role, result in results.items():
        write_result(site.folder, f"{session['name']}-{role}", {"role": role, **common, **result})
    tags = {"run": site.plan["run"], "scenario": site.plan["scenario"], "session": session["name"]}
    points = [
        {"measurement": "event", "tags": {**tags, "kind": kind}, "time": at_ns, "fields": {"at_s": at_s, "text": text}}
        for kind, at_ns, at_s, text in zip(
            ("transfer_start", "transfer_end"), span_ns, (0.0, duration_s), words, strict=True
        )
    ]
    with (site.spools / "events.lp").open("ab", buffering=0) as spool:
        spool.write(make_lines({"points": [*points, *further]}).encode())


def write_result(folder: Path, name: str, result: Mapping[str, Any]) -> None:
    """Write the result of one end into a run's folder."""
    write_json(folder / "agents" / f"{name}.json", result)
