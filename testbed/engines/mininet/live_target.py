"""Carries out the timeline's actions: rates at the hosts, other link properties in the emulator, readers at agents."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from testbed.errors import RunFailed
from testbed.runtime.agents import Agent, control
from testbed.runtime.network import Network
from topologies.link import shaped_at_hosts
from topologies.live_change import wait_until

if TYPE_CHECKING:
    from concurrent.futures import Future

    from testbed.engines.mininet.host_rates import HostRates


class LiveTarget:
    """Passes each action of the timeline on to the part of the run that it changes."""

    def __init__(self, network: Network, agents: Sequence[Agent]) -> None:
        self._network, self._agents, self._remote = network, agents, network.remote
        self._links = {link["name"]: link for link in network.links}
        self._rates: HostRates | None = None

    def prepare(self) -> None:
        """Open the handles for changes at the hosts, in the thread that makes them."""
        from testbed.engines.mininet.host_rates import HostRates  # netlink, which few runs need, takes long to load

        self._rates = HostRates(self._network.namespaces(), self._network.links)

    def close(self) -> None:
        """Close the handles."""
        if self._rates is not None:
            self._rates.close()

    def change(self, link: str, direction: str, properties: Mapping[str, Any], at_unix_ns: int) -> int:
        """Change properties of a link; the rate is at the hosts' egress where its queue pushes back."""
        plan, rest, done_ns = self._links[link], dict(properties), 0
        if shaped_at_hosts(plan) and "rate_bps" in rest:
            assert self._rates is not None
            rate_bps = float(rest.pop("rate_bps"))
            remote = self._remote.change_rate(plan, direction, rate_bps, at_unix_ns)
            wait_until(at_unix_ns)
            for name, end in (("ab", plan["a"]), ("ba", plan["b"])):
                if direction in (name, "both"):
                    self._rates.set(plan, end, rate_bps)
            done_ns = _last(time.time_ns(), remote)
        if rest:
            rest = self._remote.emulated(plan, rest)
            done_ns = self._network.emulator.change(plan, direction, rest, at_unix_ns=at_unix_ns).to_unix_ns
        return done_ns

    def carrier(self, link: str, at_unix_ns: int, *, up: bool) -> int:
        """Take a link down, or up again."""
        plan = self._links[link]
        remote = self._remote.set_link_up(plan, at_unix_ns, self._network.namespaces(), up=up)
        return _last(self._network.emulator.carrier(plan, up=up, at_unix_ns=at_unix_ns).to_unix_ns, remote)

    def pause_read(self, connection: int, for_s: float, at_unix_ns: int) -> int:
        """Make the receiver stop reading from a connection's socket for a time; an agent on another machine keeps the
        time itself."""
        receiver = next((agent for agent in self._agents if agent.place.role == "receiver"), None)
        if receiver is None:
            raise RunFailed("timeline.no-receiver", "there is no receiver to pause")
        request = f"/pause-read?connection={connection}&ms={for_s * 1000:.0f}"
        if receiver.place.host in self._remote.names:
            ahead_ns = receiver.place.ahead_ns
            answer = control(receiver.place, "POST", f"{request}&at_unix_ns={at_unix_ns + ahead_ns}")
            return int(answer["applied_unix_ns"]) - ahead_ns
        wait_until(at_unix_ns)
        control(receiver.place, "POST", request)
        return time.time_ns()


def _last(here_ns: int, remote: Sequence[Future[int]]) -> int:
    """The time at which a change was done everywhere."""
    return max([here_ns, *(done.result() for done in remote)])
