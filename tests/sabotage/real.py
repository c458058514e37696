"""Makes of a simulated run what a run on real packets leaves: beside telemetry and results what the probe said of the
links before it, what the relay counted, and what was sampled of the host. The run's own code judges them.

So that no such run needs a network, root or a quiet machine; those that do are marked for the nightly job.
"""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.engines.emulation.calibration import calibrate
from testbed.judge.checks.result import Trust
from testbed.judge.trust import underlay
from testbed.judge.trust.reasons import of_measurements
from testbed.series import FromFile
from tests import collected

ELSEWHERE = "m1"
"""The machine of a host that is not on this one."""
COLLECTED = ("host,", "interface,", "socket_queue,", "collector,")
Told = dict[str, Any]
"""``probe``: a list of links as the probe prints them, or None where it was not asked; ``of_the_rate``: which part of
the plan's rate it was asked about; ``relay``: its result; ``host``: seconds and idle part of each sample; ``qdiscs``:
counters at the transfer's end; ``underlay``: samples of the way to another machine, with one of the hosts; or None;
``silent``: the beginning of lines of telemetry that there are none of in the run's second half."""


def as_real(plan: Any, folder: Path, change: Callable[[Told], None]) -> tuple[Trust, dict[str, Any]]:
    """``change`` makes of an honest machine a dishonest one. Returns the trust and what provenance tells."""
    plan |= {"engine": "mininet", "middle": "relay", "runtime": "process"}
    (folder / "plan.json").write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n")
    told = _honest(plan)
    change(told)
    events = FromFile(folder / "telemetry.lp").events()
    facts: dict[str, Any] = {"qdiscs_after": told["qdiscs"]}
    (folder / "relay.json").write_text(json.dumps(told["relay"], indent=1) + "\n")
    _write_collected(told, plan, folder)
    if told["probe"] is not None:
        # Asked for a part of the rate, where the readings are of another day.
        asked = [{**link, "rate_bps": int(link["rate_bps"] * told["of_the_rate"])} for link in plan["links"]]
        *_, readings = calibrate(plan | {"links": asked}, folder, _probe(told["probe"], folder), {})
        facts["calibration"] = [vars(reading) for reading in readings]
    if told["underlay"] is not None:
        plan["place"] = {plan["hosts"][-1]["name"]: ELSEWHERE}
        (folder / "plan.json").write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n")
        span = underlay.span_of(events)
        assert span is not None
        told["underlay"] = _during(span[0], told["underlay"])
        underlay.write(told["underlay"], folder / underlay.FILE)
    trust = of_measurements(
        plan,
        links=folder / "links.csv",
        relay=told["relay"],
        qdiscs=told["qdiscs"],
        host_load=told["host"],
        underlay_samples=told["underlay"],
        events=events,
    )
    return trust, facts


def _during(start_ns: int, samples: list[underlay.Sample]) -> list[underlay.Sample]:
    """At the times of this run: the first of those that were taken during it when the transfer starts."""
    by_ns = start_ns - min(one.sent_unix_ns for one in samples if one.when == "during")
    return [replace(one, sent_unix_ns=one.sent_unix_ns + by_ns) for one in samples]


def _honest(plan: Any) -> Told:
    ways = [(link, direction) for link in plan["links"] for direction in ("ab", "ba")]
    return {
        "probe": [
            {
                "link": link["name"],
                "direction": direction,
                "delay_ms": link["delay_ms"] + 0.05,
                "delay_p99_ms": link["delay_ms"] + 0.2,
                "rate_bps": link["rate_bps"] * 0.9995,
                "loss": link["loss"],
                "sent": 1500,
                "received": 1500,
            }
            for link, direction in ways
        ],
        "relay": {
            "links": collected.relayed(plan, lateness_us={"p50": 20.0, "p99": 300.0, "max": 2000.0}),
            "ring_drops": 0,
        },
        "of_the_rate": 1.0,
        "underlay": None,
        "host": [(0.1, 0.75)] * 90,
        "qdiscs": collected.counted(plan),
        "silent": "",
    }


def _probe(links: list[dict[str, Any]], folder: Path) -> Path:
    """A program that says what the probe would."""
    program = folder / "logs" / "probe"
    program.write_text(f"#!/bin/sh\necho {shlex.quote(json.dumps({'links': links}))}\n")
    program.chmod(0o755)
    return program


def _write_collected(told: Told, plan: Any, folder: Path) -> None:
    """The samples of the host, in a file of their own and in the telemetry, and there those of collectors."""
    telemetry = folder / "telemetry.lp"
    lines = [line for line in telemetry.read_text().splitlines() if not line.startswith(COLLECTED)]
    times_ns = collected.every_interval(lines)
    half_ns = times_ns[len(times_ns) // 2] if told["silent"] else times_ns[-1] + 1
    lines += collected.telemetry(plan, times_ns, told["host"])
    silent = [line.startswith(told["silent"]) and int(line.rsplit(" ", 1)[1]) >= half_ns for line in lines]
    telemetry.write_text("".join(f"{line}\n" for line, left_out in zip(lines, silent, strict=True) if not left_out))
    sampled = sum(line.startswith("host,") for line, left_out in zip(lines, silent, strict=True) if not left_out)
    told["host"] = told["host"][:sampled]
    with (folder / "host_load.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("seconds", "idle"), *told["host"]])


class AllStored:
    """In the place of a database that takes every point."""

    note = "all points are stored"

    def __init__(self, _plan: Any, telemetry: Path) -> None:
        self._telemetry = telemetry

    def store(self) -> int:
        """How many there are then."""
        return FromFile(self._telemetry).count_points()

    def store_judged(self, _judged: object) -> None:
        """What only dashboards read."""
