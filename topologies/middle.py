"""The middle of a run's links: kernel netem, or the user-space relay where the kernel has none."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from testbed.message import Message
from topologies.capabilities import has_netem, refusals
from topologies.link import Link
from topologies.live_change import Applied
from topologies.netem_middle import NetemMiddle
from topologies.relay_middle import RelayMiddle

__all__ = ["Applied", "Middle", "NetemMiddle", "RelayMiddle", "has_netem", "refusals"]


class Middle(Protocol):
    """The interface of both link emulators. A blackhole is ``change(link, "both", {"loss": 1.0})``."""

    name: str

    def start(self, links: Sequence[Link]) -> None:
        """Start to forward frames; raises :class:`~topologies.commands.CommandFailed`."""

    def change(self, link: Link, direction: str, properties: Mapping[str, Any], *, at_unix_ns: int = 0) -> Applied:
        """Change a live link's properties at a time, or now if it has passed, keeping what is queued and on its way.

        ``direction`` is ``ab``, ``ba`` or ``both``; properties are named as in ``internal/linkmodel``'s Change. Raises
        :class:`ValueError` for what the middle can't change,
        :class:`~topologies.commands.CommandFailed` if it breaks down.
        """

    def carrier(self, link: Link, *, up: bool, at_unix_ns: int = 0) -> Applied:
        """Take a link down at both ends, as the hosts see it, or up again."""

    def facts(self) -> dict[str, Any]:
        """Facts for readers of a result: ``middle``, ``losses_seeded``, ``reason``."""

    def failed(self) -> Message | None:
        """The fault of a link emulator that ended by itself, or None while it works."""

    def stop(self) -> None:
        """End it."""
