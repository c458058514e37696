"""Carries out the plan's timeline on live links and agents, and records when each action took effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from line_protocol_parser import parse_line

from testbed import documents
from testbed.errors import RunFailed
from testbed.message import Message
from testbed.plan.model import Action, Plan
from testbed.points import append_points, point
from testbed.runtime.agents import Agent, control
from testbed.runtime.network import Network
from testbed.runtime.parts import AHEAD_REMOTE_S, Background
from topologies import shaper
from topologies.link import Link, LinkEnd, burst_bytes_at, shaped_at_hosts
from topologies.live_change import wait_until

if TYPE_CHECKING:
    from concurrent.futures import Future

    from testbed.remote.hosts import InventoryHosts

AHEAD_S = 0.05
"""The lead with which an action is requested, so that whoever carries it out is ready and keeps the time."""


class HostRates:
    """Changes the rate at a host's egress within a millisecond, by netlink: a ``tc`` process takes several. Has open
    handles on the hosts' namespaces (path by host name); ends of links at other hosts are left alone."""

    def __init__(self, namespaces: Mapping[str, str], links: Sequence[Link]) -> None:
        from pyroute2 import NetNS  # which few runs need, and takes long to load

        self._handles = {host: NetNS(path) for host, path in namespaces.items()}
        self._indices: dict[str, int] = {}
        for link in filter(shaped_at_hosts, links):
            for end in (link["a"], link["b"]):
                if handle := self._handles.get(end["host"]):
                    self._indices[end["interface"]] = handle.link_lookup(ifname=end["interface"])[0]
                    # The first request of its kind takes tens of milliseconds, so it is made before the transfer.
                    self.set(link, end, link["rate_bps"])

    def set(self, link: Link, end: LinkEnd, rate_bps: float) -> None:
        """Change the rate of one end's shaper in place, keeping its queue and its tokens; nothing for an end at another
        host."""
        if end["host"] not in self._handles:
            return
        options = shaper.rate_class(rate_bps, burst_bytes_at(link, rate_bps), link["frame_bytes"])
        self._handles[end["host"]].tc(
            "change-class",
            "htb",
            index=self._indices[end["interface"]],
            handle=shaper.CLASS_HANDLE,
            parent=shaper.ROOT_HANDLE,
            rate=options["rate"],
            ceil=options["ceil"],
            **{name: int(options[name]) for name in ("burst", "cburst", "quantum")},
        )

    def close(self) -> None:
        """Close the handles."""
        for handle in self._handles.values():
            handle.close()
        self._handles.clear()


class LiveTarget:
    """Carries out each action by the part of the run that it changes: rates at the hosts, other link properties in the
    emulator, readers at agents. Each is made at a time, or at once if that has passed, and returns when it took effect.
    Times are in Unix nanoseconds."""

    def __init__(self, network: Network, agents: Sequence[Agent], remote: InventoryHosts) -> None:
        self._network, self._agents, self._remote = network, agents, remote
        self._links = {link["name"]: link for link in network.links}
        self._rates: HostRates

    def prepare(self) -> HostRates:
        """Open the handles for changes at the hosts, in the thread that makes them, before the transfer starts; gives
        what closes them."""
        self._rates = HostRates(self._network.namespaces(), self._network.links)
        return self._rates

    def change(self, link: str, direction: str, properties: Mapping[str, Any], at_unix_ns: int) -> int:
        """Change properties of a link; the rate is at the hosts' egress where its queue pushes back."""
        plan, rest, done_ns = self._links[link], dict(properties), 0
        if shaped_at_hosts(plan) and "rate_bps" in rest:
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


class Timeline(Background):
    """Waits for the transfer's start, then carries out each action at its time and writes it to a spool."""

    def __init__(self, plan: Plan, target: LiveTarget, started_unix_ns: Callable[[], int | None], spool: Path) -> None:
        super().__init__("timeline", started_unix_ns)
        self._ahead_s = AHEAD_REMOTE_S if plan.get("place") else AHEAD_S
        self._plan, self._target, self._spool = plan, target, spool

    def run(self) -> None:
        """Carry out all actions, unless :meth:`stop` comes first."""
        if not self._plan["timeline"]:
            return
        try:
            with closing(self._target.prepare()):
                self._carry_out_all()
        except Exception as error:  # the run ends with this message, whatever part could not do it
            self._error = Message("timeline.failed", f"timeline: {error}")

    def _carry_out_all(self) -> None:
        if (start_ns := self._await_start()) is None:
            return
        for action in self._plan["timeline"]:
            due_ns = start_ns + round(action["at_s"] * 1e9)
            if self._stopped.wait(max(0.0, (due_ns - time.time_ns()) / 1e9 - self._ahead_s)):
                return
            try:
                self._record(action, self._carry_out(action, due_ns), start_ns)
            except Exception as error:  # the run ends with this message, whatever part could not do it
                text, at_s = action["text"], action["at_s"]
                self._error = Message("timeline.action-failed", f"timeline at {at_s:g} s ({text}): {error}")
                return

    def _carry_out(self, action: Action, at_unix_ns: int) -> int:
        match action["kind"]:
            case "set":
                return self._target.change(action["link"], action["direction"], action["properties"], at_unix_ns)
            case "carrier":
                return self._target.carrier(action["link"], at_unix_ns, up=action["up"])
            case "pause_read":
                return self._target.pause_read(action["connection"], action["for_s"], at_unix_ns)
        raise ValueError(f"there is no action {action['kind']!r}")

    def _record(self, action: Action, done_ns: int, start_ns: int) -> None:
        tags = {"run": self._plan["run"], "scenario": self._plan["scenario"], "kind": action["kind"]}
        tags["session"] = self._plan["sessions"][0]["name"]
        fields = {"at_s": (done_ns - start_ns) / 1e9, "asked_s": action["at_s"], "text": action["text"]}
        append_points(self._spool, [point("event", tags, fields, done_ns)])


def write_csv(telemetry: Path, path: Path) -> None:
    """``events.csv``: a row per action in a run's telemetry, with planned and actual seconds since the transfer's
    start."""
    rows = []
    with telemetry.open(encoding="utf-8") as lines:
        for line in lines:
            fields = parse_line(line)["fields"] if line.startswith("event,") else {}
            if "asked_s" in fields:
                times = {name: f"{fields[name]:.6f}" for name in ("asked_s", "at_s")}
                rows.append({**times, "kind": parse_line(line)["tags"]["kind"], "text": fields["text"]})
    documents.write_csv(path, rows, ("asked_s", "at_s", "kind", "text"))
