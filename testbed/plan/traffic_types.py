"""Facts of each kind of traffic, for all who read a plan or its results: a line each.

How it is sent is in its own file, ``testbed/traffic/<name>.py``, which only runs load.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.errors import refuse_unknown
from testbed.plan.model import Plan


@dataclass(frozen=True)
class TrafficFacts:
    """Facts of a kind of traffic."""

    name: str
    shown_as: str
    """The kind's name in a sentence."""
    board: str
    """The dashboard that shows it best."""
    windows: bool = False
    """Whether its sessions are NCP's: they have windows, which are sampled and judged; other traffic has figures of its
    own."""
    of_a_kernel: str = ""
    """Features that it needs of a kernel, beyond links."""
    in_place_of_ncp: bool = False
    """Whether it can carry an NCP session's bytes over the same links, as ``carrier`` of a table's column."""
    captured: bool = False
    """Whether the reports of its ends are compared with captures at both hosts, whatever the run's checks are."""
    waits_in_sockets: bool = False
    """Whether the excess over a link's rate waits in the sender's socket, not in a queue of packets."""


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
"""Traffic of plans from before there was any other."""


def traffic_of(plan: Plan) -> TrafficFacts:
    """The kind of traffic of a plan's sessions; raises :class:`BadInput` where there is no such traffic."""
    return named(str(plan.get("traffic", DEFAULT)))


def sent_by(plan: Plan) -> TrafficFacts:
    """The kind that carries their bytes: the same, or the one in its place over the same links (a session's
    ``carrier``)."""
    return named(str(plan["sessions"][0].get("carrier") or plan.get("traffic", DEFAULT)))


def named(name: str) -> TrafficFacts:
    """Raises :class:`BadInput` where there is no such traffic."""
    refuse_unknown("traffic.unknown", "traffic", name, TRAFFIC)
    return TRAFFIC[name]
