"""A live run as the timeline acts on it: links' rates at the hosts, all else in the middle, readers at the agents."""

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
    """Passes each action on to the part that owns what it changes."""

    def __init__(self, network: Network, agents: Sequence[Agent]) -> None:
        self._network, self._agents = network, agents
        self._links = {link["name"]: link for link in network.links}
        self._rates: HostRates | None = None

    def prepare(self) -> None:
        """Open what changes at the hosts need, in the thread that makes them."""
        from testbed.engines.mininet.host_rates import HostRates  # netlink, which few runs need, takes long to load

        self._rates = HostRates(self._network.namespaces(), self._network.links)

    def close(self) -> None:
        """Give it back."""
        if self._rates is not None:
            self._rates.close()

    def change(self, link: str, direction: str, properties: Mapping[str, Any], at_unix_ns: int) -> int:
        """Change properties of a link; the rate is at the hosts' egress where its queue pushes back."""
        plan = self._links[link]
        rest = dict(properties)
        done_ns = 0
        if shaped_at_hosts(plan) and "rate_bps" in rest:
            assert self._rates is not None
            rate_bps = float(rest.pop("rate_bps"))
            others = self._network.elsewhere
            elsewhere = others.change_rate(plan, direction, rate_bps, at_unix_ns) if others else ()
            wait_until(at_unix_ns)
            for name, end in (("ab", plan["a"]), ("ba", plan["b"])):
                if direction in (name, "both"):
                    self._rates.set(plan, end, rate_bps)
            done_ns = last(time.time_ns(), elsewhere)
        if rest:
            if self._network.elsewhere:
                rest = self._network.elsewhere.in_the_middle(plan, rest)
            done_ns = self._network.middle.change(plan, direction, rest, at_unix_ns=at_unix_ns).to_unix_ns
        return done_ns

    def carrier(self, link: str, at_unix_ns: int, *, up: bool) -> int:
        """Pull a link's plug or put it back."""
        plan, others = self._links[link], self._network.elsewhere
        elsewhere = others.change_plug(plan, at_unix_ns, self._network.namespaces(), up=up) if others else ()
        here = self._network.middle.carrier(plan, up=up, at_unix_ns=at_unix_ns)
        return last(here.to_unix_ns, elsewhere)

    def pause_read(self, connection: int, for_s: float, at_unix_ns: int) -> int:
        """Make the receiver stop reading from a connection's socket for a time; on another machine it keeps the time
        itself."""
        elsewhere = self._network.elsewhere
        for agent in self._agents:
            if agent.place.role == "receiver":
                asked = f"/pause-read?connection={connection}&ms={for_s * 1000:.0f}"
                if elsewhere and agent.place.host in elsewhere.names:
                    ahead_ns = agent.place.ahead_ns
                    answer = control(agent, "POST", f"{asked}&at_unix_ns={at_unix_ns + ahead_ns}")
                    return int(answer["applied_unix_ns"]) - ahead_ns
                wait_until(at_unix_ns)
                control(agent, "POST", asked)
                return time.time_ns()
        raise RunFailed("timeline.no-receiver", "there is no receiver to pause")


def last(here_ns: int, elsewhere: Sequence[Future[int]]) -> int:
    """When a change was done everywhere."""
    return max([here_ns, *(done.result() for done in elsewhere)])
