"""Common parts of the benchmarks of links: namespaces, the two ends of what is measured, candidates, repeats; and this
testbed's own links, made by the same parts as in a run."""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from testbed.errors import RunFailed
from topologies.commands import dies_with_us, in_namespace, run
from topologies.fabric import Fabric, namespace_of, quiet_interfaces
from topologies.link import Link, QueueMode, resolve_link
from topologies.middle import NetemMiddle, RelayMiddle
from topologies.units import QueueLength, Rate
from topologies.within import within

C = TypeVar("C")
UNSHAPED_BPS = 1e9
"""Rate of a plan's link, which always has one; it is not applied where none is configured."""
QUEUE_PACKETS = 2000


@dataclass(frozen=True)
class End:
    """An address within a network namespace (by path)."""

    namespace: str
    address: str

    def __str__(self) -> str:
        """The end as ``ncp-link`` takes it."""
        return f"{self.namespace}={self.address}"


@dataclass(frozen=True)
class Between:
    """The two ends of a link; packets are sent from ``a`` to ``b``."""

    a: End
    b: End


@dataclass(frozen=True)
class LinkRequest:
    """A link's configuration: delay one-way in both directions, rate and loss from ``a`` to ``b`` at least."""

    delay_ms: float = 0.0
    rate_bps: float = 0.0
    """0: no limit. Counted as the candidate counts, see :attr:`Candidate.overhead_bytes`."""
    loss: float = 0.0
    seed: int = 1
    whole_segments: bool = False
    """Whether TCP's segments may cross it whole."""


class Candidate(Protocol):
    """Something that makes links."""

    overhead_bytes: int
    """Bytes that it counts towards the rate of a packet, beside the IP packet."""
    blocks: bool
    """Whether a sender is held back by the rate, so that it need not pace itself."""

    def link(self, requested: LinkRequest) -> AbstractContextManager[Between]:
        """The link exists within it."""


@contextmanager
def namespace() -> Iterator[int]:
    """A network namespace that goes with this process; yields a process id in it."""
    # It says so when it is in its namespace.
    command = dies_with_us(["unshare", "--net", "--", "sh", "-c", "echo; exec sleep infinity"])
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            if not holder.stdout.readline():
                raise RunFailed("bench.no-namespace", "unshare --net made no network namespace")
            within(namespace_of(holder.pid), quiet_interfaces)
            run(in_namespace(namespace_of(holder.pid), ["ip", "link", "set", "lo", "up"]))
            yield holder.pid
        finally:
            holder.terminate()


@dataclass
class Hosts:
    """Two hosts and the fabric between them."""

    pids: tuple[int, int]
    fabric: Fabric

    @property
    def paths(self) -> tuple[str, str]:
        """Paths of the hosts' network namespaces."""
        return namespace_of(self.pids[0]), namespace_of(self.pids[1])

    def connect(self, links: Sequence[Link], *, shaped: bool) -> None:
        """Make the links, with their rate at the hosts' egress if ``shaped``."""
        for link in links:
            self.fabric.add(link, *self.pids, shaped=shaped)
        self.fabric.connect()


@contextmanager
def hosts(fabric_name: str) -> Iterator[Hosts]:
    """Two hosts without links; all is gone at the end."""
    fabric = Fabric(fabric_name)
    with namespace() as a, namespace() as b:
        fabric.create()
        try:
            yield Hosts((a, b), fabric)
        finally:
            fabric.delete()


def plan_of(index: int, requested: LinkRequest, queue_mode: QueueMode = "backpressure") -> Link:
    """A link as a scenario would have it."""
    link = resolve_link(
        index,
        f"link{index}",
        "h1",
        "h2",
        Rate(bps=requested.rate_bps or UNSHAPED_BPS),
        delay_ms=requested.delay_ms,
        loss=requested.loss,
        queue=QueueLength(packets=QUEUE_PACKETS),
        queue_mode=queue_mode,
        seed=requested.seed,
    )
    if requested.whole_segments:
        link["whole_segments"] = True
    return link


class Ours:
    """One link, its middle by netem or the relay, its rate at the hosts or in the middle."""

    def __init__(
        self, fabric_name: str, binary: Path, middle: Literal["netem", "relay"], *, rate_in_the_middle: bool = False
    ) -> None:
        self.fabric_name, self.binary, self.middle = fabric_name, binary, middle
        self.rate_in_the_middle = rate_in_the_middle
        self.overhead_bytes = 14
        self.blocks = not rate_in_the_middle

    @contextmanager
    def link(self, requested: LinkRequest) -> Iterator[Between]:
        """The link exists within the context."""
        link = plan_of(1, requested, "droptail" if self.rate_in_the_middle and requested.rate_bps else "backpressure")
        with hosts(self.fabric_name) as two:
            two.connect([link], shaped=requested.rate_bps > 0 and not self.rate_in_the_middle)
            middle = NetemMiddle(two.fabric) if self.middle == "netem" else RelayMiddle(two.fabric, self.binary)
            try:
                middle.start([link])
                yield Between(End(two.paths[0], link["a"]["address"]), End(two.paths[1], link["b"]["address"]))
            finally:
                middle.stop()


@dataclass
class Bench:
    """The benchmark of links while it runs."""

    fabric_name: str
    binary: Path
    """``ncp-link``."""
    candidates: Mapping[str, Candidate]
    """Links by their names: :data:`OURS`, and peers."""
    quick: bool
    say: Callable[[str], None]
    ends_s: float
    """Deadline (monotonic)."""

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self.ends_s - time.monotonic()

    def repeats(self, what: str, most: int, budget_s: float) -> Iterator[int]:
        """Numbers of repeats from 0: at least one, then as long as another fits the budget and the time left."""
        begun = time.monotonic()
        for number in range(most):
            elapsed = time.monotonic() - begun
            if number and elapsed * (number + 1) / number > min(budget_s, elapsed + self.left_s):
                return
            self.say(f"{what}, repeat {number + 1} of {most}; {max(0, self.left_s):.0f} s left at most")
            yield number

    def turns(self, what: str, candidates: Mapping[str, C], most: int, budget_s: float) -> Iterator[tuple[int, str, C]]:
        """Each repeat with each of the candidates, which take turns."""
        for number in self.repeats(what, most, budget_s):
            for name, candidate in candidates.items():
                yield number, name, candidate
