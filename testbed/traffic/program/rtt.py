"""Round trips beside a transfer, by ICMP echo over each link: what a packet of anybody's waits there."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

from testbed.plan.model import Connection, Plan, Session
from testbed.runtime.processes import Supervised
from testbed.series.series import Point, point
from testbed.traffic.program.captured import tags_of
from testbed.traffic.traffic import address_of
from topologies.link import Link

LEAST_S = 0.1
PAYLOAD_BYTES = 16
"""Payload that ping needs to measure the time."""
FRAME_BYTES = 14 + 20 + 8 + PAYLOAD_BYTES
MOST_OF_THE_RATE = 0.002
_ANSWER = re.compile(r"^\[(\d+)\.(\d{6})\] .* time=([0-9.]+) ms", re.MULTILINE)


class RoundTrips:
    """A ping for each connection of a session, from the sender's host."""

    def __init__(self, plan: Plan, session: Session, namespace: str, logs: Path) -> None:
        self._plan, self._session = plan, session
        links = {link["name"]: link for link in plan["links"]}
        self._pings = [
            Supervised.start(
                "ping",
                _command(connection, links[connection["link"]]),
                logs / f"ping-{session['name']}-{connection['index']}.log",
                namespace=namespace,
            )
            for connection in session["connections"]
        ]

    def stop(self) -> None:
        """Safe to repeat."""
        for ping in self._pings:
            ping.end_group()

    def points(self, span_ns: tuple[int, int]) -> list[Point]:
        """Samples of the time from start to end, as the sender's."""
        found = []
        for connection, ping in zip(self._session["connections"], self._pings, strict=True):
            tags = {**tags_of(self._plan, self._session, "sender"), "connection": str(connection["index"])}
            for at_ns, rtt_ms in answers(ping.log.read_text(errors="replace")):
                if span_ns[0] <= at_ns <= span_ns[1]:
                    found.append(point("ncp_connection", tags, {"rtt_ms": rtt_ms}, at_ns))
        return found


def answers(said: str) -> list[tuple[int, float]]:
    """Time (Unix ns) and RTT (ms) of each answer that ``ping -D`` tells."""
    return [(int(s) * 10**9 + int(us) * 1000, float(ms)) for s, us, ms in _ANSWER.findall(said)]


def medians_ms(points: list[Point], session: Session) -> dict[str, float]:
    """RTTs by the name of the link, which several connections may share; where there were answers."""
    link_of = {str(connection["index"]): connection["link"] for connection in session["connections"]}
    found: dict[str, list[float]] = {}
    for one in points:
        found.setdefault(link_of[one["tags"]["connection"]], []).append(one["fields"]["rtt_ms"])
    return {link: statistics.median(mine) for link, mine in found.items()}


def _command(connection: Connection, link: Link) -> list[str]:
    """Interval of probes: at most ten a second, and less where that would be more than a trace of the link's rate."""
    local, remote = (address_of(connection[end]) for end in ("sender", "receiver"))
    every_s = max(LEAST_S, FRAME_BYTES * 8 / (MOST_OF_THE_RATE * link["rate_bps"])) if link["rate_bps"] else LEAST_S
    return ["ping", "-n", "-D", "-i", f"{every_s:.3f}", "-s", str(PAYLOAD_BYTES), "-I", local, remote]
