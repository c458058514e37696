"""Interface of a kind of traffic to the run around it, which is the same for all."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from testbed.errors import BadInput
from testbed.machine.need import Need
from testbed.message import Message
from testbed.plan.model import Connection, Plan, Session
from testbed.runtime.agents import Agent, AgentPlace
from testbed.runtime.network import HostsTcp, Network
from testbed.runtime.parts import Failure, watch_until
from testbed.runtime.progress import Step
from testbed.runtime.site import Site


class Traffic(ABC):
    """The traffic of one run, in the order of its methods."""

    program: str = ""
    """The program on the hosts, by its binary's and image's name; "" where the kernel itself sends."""

    poll_s = 0.05
    """Interval at which a transfer is looked at."""

    needs: frozenset[Need] = frozenset()
    """Needs of the machine beyond those of all runs."""

    def __init__(self, site: Site) -> None:
        self.site = site

    @classmethod
    def why_unsupported(cls) -> str | None:
        """The reason why this machine can't send it, or None."""
        return None

    @classmethod
    def in_place_of_ncp(cls, plan: Plan, congestion_control: str | None) -> Plan:  # noqa: ARG003 (of a kernel's)
        """The plan of an NCP run as one of its own, over the same links: what a table's column has as ``carrier``."""
        raise BadInput("traffic.not-a-carrier", f"carrier: {cls.__name__} does not take the place of NCP")

    @classmethod
    def sockets(cls, plan: Plan) -> Iterator[dict[str, str]]:
        """Both ends of each of its flows, as ``ncp-collect`` looks for them (collectors/watch/)."""
        for session in plan["sessions"]:
            for connection in session["connections"]:
                names = {
                    "protocol": session["transport"],
                    "flow": f"{session['name']}-{connection['index']}",
                    "session": session["name"],
                    "connection": str(connection["index"]),
                }
                sender, receiver = cls.ends_of(session, connection)
                yield names | one_end("sender", session["sender_host"], sender, receiver)
                yield names | one_end("receiver", session["receiver_host"], receiver, sender)

    @classmethod
    def ends_of(
        cls,
        session: Session,  # noqa: ARG003 (of its transport some ask)
        connection: Connection,
    ) -> tuple[str, str]:
        """A connection's addresses with ports, the sender's first."""
        return connection["sender"], connection["receiver"]

    @classmethod
    def folders(cls, plan: Plan) -> list[Path]:  # noqa: ARG003 (most bring nothing)
        """Folders of this machine, beside the checkout, that it is carried out with."""
        return []

    @classmethod
    def hosts_tcp(cls, plan: Plan) -> HostsTcp:  # noqa: ARG003 (where agents send by TCP)
        """Settings of TCP on all hosts before anything is sent."""
        return HostsTcp()

    def places(self, own: Path, credentials: Path | None) -> list[AgentPlace]:
        """Agents, in the order of their start; none where no agent sends. ``own`` is the run's folder of control
        sockets."""
        return []

    def set_hosts(self, network: Network, parts: ExitStack) -> None:  # noqa: B027 (most leave hosts as they are)
        """Set up what it needs on the hosts of a network that is built; it ends with ``parts``."""

    @abstractmethod
    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        """The start of the first transfer, in Unix nanoseconds; None before it."""

    @abstractmethod
    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        """Send all, and return when it has arrived; raises :class:`RunFailed` where it does not."""

    def watch(
        self,
        over: Callable[[], bool],
        step: Step,
        failures: Sequence[Failure],
        *,
        look: Callable[[], object],
        too_long: Callable[[], Message],
        shown: Callable[[], str],
        beyond_s: float = 0.0,
    ) -> None:
        """Look until the transfer is over, as :func:`~testbed.runtime.parts.watch_until` does, at most ``beyond_s``
        longer than the plan's limit; ``shown`` is the progress in words."""
        limit_s = self.site.plan["limits"]["transfer_s"] + beyond_s
        watch_until(
            over,
            step,
            look=look,
            failures=failures,
            limit_s=limit_s,
            too_long=too_long,
            tell=lambda: self.site.progress.update(step, shown()),
            every_s=self.poll_s,
        )

    def keep_results(self, places: Sequence[AgentPlace]) -> None:  # noqa: B027 (without agents they are kept already)
        """Leave what both ends say in the folder's ``agents/``, also of a run that broke down."""


def address_of(endpoint: str) -> str:
    """The address of ``address:port``."""
    return endpoint.rsplit(":", 1)[0]


def from_any_port(endpoint: str) -> str:
    """The endpoint with port 0, by which collectors find a sender that dials."""
    return f"{address_of(endpoint)}:0"


def one_end(role: str, host: str, local: str, remote: str) -> dict[str, str]:
    """One side of a flow, for :meth:`Traffic.sockets`."""
    return {"role": role, "host": host, "local": local, "remote": remote}
