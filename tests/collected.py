"""What the collectors of a run on real packets leave, where none ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.plan.place import FABRIC
from testbed.points import line_protocol, point


def counted(plan: Any) -> list[dict[str, Any]]:
    """The queues at every end of every link, which dropped nothing."""
    ends = [end for link in plan["links"] for end in (link["a"], link["b"])]
    at = [*((end["host"], end["interface"]) for end in ends), *((FABRIC, end["middle_interface"]) for end in ends)]
    return [{"host": host, "dev": interface, "kind": "htb", "root": True, "drops": 0} for host, interface in at]


def relayed(plan: Any, **values: Any) -> list[dict[str, Any]]:
    """Each link, both ways, as the relay counts it."""
    return [
        {
            "link": link["name"],
            "direction": direction,
            "frames": 1500,
            "unasked_drops": {"ring": 0},
            "lateness_us": {"p50": 20.0, "p99": 100.0, "max": 900.0},
            **values,
        }
        for link in plan["links"]
        for direction in ("ab", "ba")
    ]


def telemetry(plan: Any, times_ns: Sequence[int], spans: Sequence[tuple[float, float]]) -> list[str]:
    """The lines of the host's load, by its ``spans``, and of all collectors, at these times."""
    run = {"run": plan["run"], "scenario": plan["scenario"]}
    flows = [f"{session['name']}-{one['index']}" for session in plan["sessions"] for one in session["connections"]]
    one: list[tuple[str, dict[str, str], dict[str, float]]] = [
        *(("interface", {"interface": counter["dev"]}, {"sent_packets": 1.0}) for counter in counted(plan)),
        *(
            ("socket_queue", {"flow": flow, "role": role}, {"send_queue_bytes": 0.0})
            for flow in flows
            for role in ("sender", "receiver")
        ),
    ]
    reports = [("collector", {"collector": name}, {"samples": 1.0}) for name in ("host", "interfaces", "sockets")]
    host = [
        point("host", run, {"cpu": 1.0 - idle, "steal": 0.0, "run_queue": 1}, times_ns[0] + number * 100_000_000)
        for number, (_, idle) in enumerate(spans)
    ]
    others = [
        point(measurement, run | tags, fields, time_ns)
        for number, time_ns in enumerate(times_ns)
        for measurement, tags, fields in (*one, *(reports if number % 10 == 9 else ()))
    ]
    return line_protocol([*host, *others]).splitlines()


def every_interval(lines: Sequence[str]) -> range:
    """Times for as long as those of telemetry's lines, ten a second."""
    times_ns = [int(line.rsplit(" ", 1)[1]) for line in lines]
    return range(min(times_ns), max(times_ns) + 1, 100_000_000)
