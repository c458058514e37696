"""What each kind of traffic is, for all who read a plan or its results: a line each.

How it is sent is in its own file, ``testbed/traffic/<name>.py``, which only runs load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.errors import BadInput
from testbed.plan.model import Plan


@dataclass(frozen=True)
class TrafficFacts:
    """What is true of all that is sent by it."""

    name: str
    shown_as: str
    """What a sentence calls it."""
    board: str
    """The dashboard that shows it best."""
    windows: bool = False
    """Its sessions are NCP's: they have windows, which are sampled and judged; else it brings figures of its own."""
    of_a_kernel: str = ""
    """What of a kernel it can't do without, beyond links."""
    in_place_of_ncp: bool = False
    """It carries an NCP session's bytes over the same links, as ``carrier`` of a table's column."""
    captured: bool = False
    """What its ends say of themselves is held against captures at both hosts, whatever is asked of the run."""
    waits_in_sockets: bool = False
    """What is above a link's rate waits in the sender's socket, not in a queue of packets."""


TRAFFIC: Mapping[str, TrafficFacts] = {
    facts.name: facts
    for facts in (
        TrafficFacts("ncp", "NCP", "convergence", windows=True),
        TrafficFacts("tcp", "the kernel's TCP", "tcp", of_a_kernel="TCP"),
        TrafficFacts("ndn", "NDN", "ndn", of_a_kernel="sockets", waits_in_sockets=True),
        TrafficFacts("program", "a program of its own", "links", of_a_kernel="sockets", captured=True),
        TrafficFacts("mptcp", "the kernel's MPTCP", "tcp", of_a_kernel="MPTCP", in_place_of_ncp=True),
    )
}
DEFAULT = next(iter(TRAFFIC))
"""Of plans from when there was no other."""


def traffic_of(plan: Plan) -> TrafficFacts:
    """What a plan's sessions were planned as; raises :class:`BadInput` where there is no such traffic."""
    return named(str(plan.get("traffic", DEFAULT)))


def sent_by(plan: Plan) -> TrafficFacts:
    """What carries their bytes: the same, or what takes its place over the same links (a session's ``carrier``)."""
    return named(str(plan["sessions"][0].get("carrier") or plan.get("traffic", DEFAULT)))


def named(name: str) -> TrafficFacts:
    """Raises :class:`BadInput` where there is no such traffic."""
    if name not in TRAFFIC:
        raise BadInput(
            "traffic.unknown", "traffic {traffic!r}: should be {known}", traffic=name, known=", ".join(TRAFFIC)
        )
    return TRAFFIC[name]
