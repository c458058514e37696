"""Figures of a session from outside, whatever its program reports: by captures its start and the bytes over each link,
and round trips by ICMP echo over each link, beside the transfer: what a packet of anybody's waits there."""

import re
import socket
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.plan.intervals import both_ways
from testbed.plan.model import Connection, Plan, Role, Session
from testbed.points import Point, point
from testbed.runtime.processes import Supervised
from testbed.traffic.pcap import HEAD_BYTES, frames, packets, payload_bytes
from testbed.traffic.traffic import address_of

HEADER_BYTES = 100
"""Enough of a frame: the cooked header has 20, IPv4's and TCP's at most 120, of which the first 34 are read."""


def expression(session: Session) -> str:
    """tcpdump's filter: what goes to and fro between the session's addresses."""
    pairs = {(address_of(c["sender"]), address_of(c["receiver"])) for c in session["connections"]}
    hosts = [f"(host {sender} and host {receiver})" for sender, receiver in sorted(pairs)]
    return f"(tcp or udp) and ({' or '.join(hosts)})"


def first_unix_ns(capture: Path) -> int | None:
    """The time of the first frame, also while the capture is on; None before it."""
    try:
        if capture.stat().st_size < HEAD_BYTES:
            return None
        return next(frames(capture)).t_ns
    except OSError:
        return None


@dataclass(frozen=True)
class Arrivals:
    """Frames with payload from sender to receiver, in the order in which the receiver's host got them."""

    t_ns: NDArray[np.int64]
    connection: NDArray[np.int64]
    """The place of each frame's connection in the session."""
    payload_bytes: NDArray[np.int64]
    """Payload bytes of UDP or TCP: with the program's own headers, and retransmissions."""

    def until(self, unix_ns: int) -> int:
        """Bytes that had arrived by then."""
        return int(self.payload_bytes[self.t_ns <= unix_ns].sum())

    def by_link(self, session: Session) -> dict[str, int]:
        """All of them, by the name of the link, which several connections may share; 0 where nothing came."""
        found: Counter[str] = Counter()
        for place, connection in enumerate(session["connections"]):
            found[connection["link"]] += int(self.payload_bytes[self.connection == place].sum())
        return dict(found)


def read_arrivals(capture: Path, session: Session) -> Arrivals:
    """Figures of the session in a capture at the receiver's host; raises
    :class:`~testbed.traffic.pcap.NotACapture` where it is none."""
    places = {_packed(c["receiver"]): place for place, c in reversed(list(enumerate(session["connections"])))}
    senders = {_packed(c["sender"]) for c in session["connections"]}
    rows = sorted(
        (frame.t_ns, places[packet.dst], payload)
        for frame, packet in packets(capture)
        if packet.src in senders and packet.dst in places and (payload := payload_bytes(packet))
    )
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Arrivals(columns[:, 0], columns[:, 1], columns[:, 2])


def points(plan: Plan, session: Session, found: Arrivals, span_ns: tuple[int, int]) -> list[Point]:
    """The receiver's telemetry as an agent's would be, from start to end: rates over the last second, and bytes."""
    start_ns, end_ns = span_ns
    interval_ns = round(plan["telemetry"]["interval_ms"] * 10**6)
    session_tags = tags_of(plan, session, "receiver")
    # One after the end: what arrived last is in it.
    times = [*range(start_ns + interval_ns, end_ns, interval_ns), end_ns]
    sums = [_sums(found, place) for place in range(len(session["connections"]))]
    made: list[Point] = []
    for at_ns in times:
        over_s = min(10**9, at_ns - start_ns) / 1e9
        risen = [arrived(at_ns) - arrived(at_ns - 10**9) for arrived in sums]
        total = sum(arrived(at_ns) for arrived in sums)
        rate_bps = sum(risen) * 8 / over_s
        made.append(point("ncp_session", session_tags, {"goodput_bps": rate_bps, "bytes": total}, at_ns))
        for connection, rose in zip(session["connections"], risen, strict=True):
            fields = {"delivered_pps": rose / session["segment_bytes"] / over_s}
            if sum(risen):
                fields["delivered_share"] = rose / sum(risen)
            tags = {**session_tags, "connection": str(connection["index"])}
            made.append(point("ncp_connection", tags, fields, at_ns))
    return made


def tags_of(plan: Plan, session: Session, role: Role) -> dict[str, str]:
    """The tags of an end's telemetry, as an agent's would be."""
    names = {"session": session["name"], "role": role, "policy": session["policy"]}
    return {"run": plan["run"], "scenario": plan["scenario"], **names}


def _sums(found: Arrivals, place: int) -> Callable[[int], int]:
    """The bytes of a connection that had arrived by a time."""
    mine = found.connection == place
    t_ns, total = found.t_ns[mine], np.concatenate(([0], np.cumsum(found.payload_bytes[mine])))
    return lambda at_ns: int(total[np.searchsorted(t_ns, at_ns, side="right")])


def _packed(end: str) -> bytes:
    return socket.inet_aton(address_of(end))


LEAST_S = 0.1
PAYLOAD_BYTES = 16
"""Payload that ping needs to measure the time."""
FRAME_BYTES = 14 + 20 + 8 + PAYLOAD_BYTES
MOST_OF_THE_RATE = 0.002
_ANSWER = re.compile(r"^\[(\d+)\.(\d{6})\] .* time=([0-9.]+) ms", re.MULTILINE)


def pings(plan: Plan, session: Session, namespace: str, logs: Path) -> list[Supervised]:
    """A ping for each connection of a session, from the sender's host."""
    links = {link["name"]: link for link in plan["links"]}
    return [
        Supervised(
            "ping",
            _command(
                connection,
                min(each.link["rate_bps"] for each in both_ways(links[connection["link"]], plan["timeline"])),
            ),
            logs / f"ping-{session['name']}-{connection['index']}.log",
            namespace=namespace,
        )
        for connection in session["connections"]
    ]


def round_trips(plan: Plan, session: Session, pings: Sequence[Supervised], span_ns: tuple[int, int]) -> list[Point]:
    """Samples of the time from start to end, as the sender's."""
    found = []
    for connection, ping in zip(session["connections"], pings, strict=True):
        tags = {**tags_of(plan, session, "sender"), "connection": str(connection["index"])}
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


def _command(connection: Connection, rate_bps: float) -> list[str]:
    """Interval of probes: at most ten a second, and less where that would be more than a trace of the link's least
    rate."""
    local, remote = (address_of(connection[end]) for end in ("sender", "receiver"))
    every_s = max(LEAST_S, FRAME_BYTES * 8 / (MOST_OF_THE_RATE * rate_bps)) if rate_bps else LEAST_S
    return ["ping", "-n", "-D", "-i", f"{every_s:.3f}", "-s", str(PAYLOAD_BYTES), "-I", local, remote]
