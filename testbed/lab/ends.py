"""Common parts of the benchmarks of links: namespaces, the two ends of what is measured, candidates, repeats."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from testbed.errors import RunFailed
from topologies.commands import dies_with_us, in_namespace, run
from topologies.fabric import namespace_of, quiet_interfaces
from topologies.within import within

C = TypeVar("C")


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
