"""NDN: an agent on every host of a chain."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.plan.model import Plan
from testbed.runtime.agents import Agent, AgentPlace, why_it_ended
from testbed.runtime.host_settings import prepare_host
from testbed.runtime.network import HostsTcp, Network
from testbed.runtime.parts import Failure
from testbed.runtime.progress import Step
from testbed.runtime.socket_samples import assert_sent_with, congestion_controls
from testbed.runtime.transfer import DRAIN_S, state_of, tell_to_start
from testbed.series.catalogue import SEGMENTS
from testbed.traffic.traffic import Traffic, address_of, one_end


class Ndn(Traffic):
    """One fetch, by the consumer at the chain's first host."""

    program = "ndn-agent"
    poll_s = 0.1

    @classmethod
    def sockets(cls, plan: Plan) -> Iterator[dict[str, str]]:
        """The faces' sockets: of each link, the side that sends Data and the other."""
        session = plan["sessions"][0]["name"]
        for node in plan["ndn"]["nodes"]:
            for face in node["faces"]:
                names = {"protocol": face["transport"], "flow": face["name"], "session": session, "connection": ""}
                role = "sender" if face["listen"] else "receiver"
                yield names | one_end(role, node["host"], face["local"], face["remote"])

    @classmethod
    def hosts_tcp(cls, plan: Plan) -> HostsTcp:
        return HostsTcp(_congestion_control(plan))

    def places(self, own: Path, credentials: Path | None) -> list[AgentPlace]:
        session = self.site.session["name"]
        # Producer first: a face that dials finds the one that listens.
        hosts = [node["host"] for node in reversed(self.site.plan["ndn"]["nodes"])]
        return [self.site.place(host, host, session, own, credentials, part=("run", "--node", host)) for host in hosts]

    def set_hosts(self, network: Network, parts: ExitStack) -> None:
        """TCP's settings, where faces are TCP's."""
        requested = _congestion_control(self.site.plan)
        for node in self.site.plan["ndn"]["nodes"] if requested else ():
            self.site.provenance.setdefault("hosts", {})[node["host"]] = [
                prepare_host(network.namespaces()[node["host"]], address_of(face["remote"]), {}, {}, str(requested))
                for face in node["faces"]
            ]

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        return int(state_of(self._consumer(started)).get("started_unix_ns", 0)) or None

    def _consumer(self, started: Sequence[Agent]) -> Agent:
        host = self.site.plan["ndn"]["nodes"][0]["host"]
        return next(agent for agent in started if agent.place.host == host)

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        consumer = self._consumer(started)
        tell_to_start(consumer)
        self._watch(consumer, started, failures, step)
        # The others answer until they are stopped; then they push what telemetry they still have.
        for agent in started:
            agent.stop()
            if agent.place.result() is None:
                raise RunFailed("ndn.no-result", f"{why_it_ended(agent)}; it left no result")
        if requested := _congestion_control(self.site.plan):
            seen = congestion_controls(self.site.spools, self.site.session["name"])
            self.site.provenance["congestion_control_of_the_sockets"] = sorted(seen)
            assert_sent_with(requested, seen)
        step.note = _in_words(consumer.place.result() or {})

    def _watch(self, consumer: Agent, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        """Wait until the consumer has ended well."""
        session = self.site.session

        def look() -> None:
            for agent in started:
                if agent is not consumer and agent.exit_code() is not None:
                    raise RunFailed.of(why_it_ended(agent))

        def too_long() -> Message:
            return Message("ndn.timeout", f"the fetch is not over after {step.late(session['expected_s'])}")

        def shown() -> str:
            done = state_of(consumer).get("bytes", 0) / session["transfer_bytes"]
            return f"{done:4.0%}  {step.left(session['expected_s'], done)}"

        def ended() -> bool:
            return consumer.exit_code() is not None

        self.watch(ended, step, failures, look=look, too_long=too_long, shown=shown, beyond_s=DRAIN_S)
        if consumer.exit_code():
            raise RunFailed.of(why_it_ended(consumer))

    def keep_results(self, places: Sequence[AgentPlace]) -> None:
        """Results in the form of a session's, and the consumer's log."""
        by_host: dict[str, Mapping[str, Any]] = {}
        for place in places:
            if (result := place.result()) is not None:
                by_host[place.host] = result
            if (place.directory / SEGMENTS).exists():
                shutil.copyfile(place.directory / SEGMENTS, self.site.folder / SEGMENTS)
        for name, result in as_session_results(self.site.plan, by_host).items():
            self.site.write_result(name, result)


def _congestion_control(plan: Plan) -> str | None:
    """The congestion control of faces over TCP; None where they are UDP's."""
    section = plan["ndn"]
    return str(section["congestion_control"]) if section["transport"] == "tcp" else None


def _in_words(result: Mapping[str, Any]) -> str:
    figures = result.get("figures", {})
    return (
        f"{result.get('bytes', 0) / 2**20:.3g} MiB in {result.get('duration_s', 0):.1f} s, "
        f"{figures.get('goodput_mbps', 0):.1f} Mbit/s, RTT {figures.get('rtt_ms', 0):.1f} ms (median), "
        f"{result.get('retransmissions', 0)} retransmissions, {result.get('marks', 0)} marks"
    )


TRAFFIC = Ndn


def as_session_results(plan: Plan, by_host: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Results by file name without suffix, from those of the agents by host.

    The consumer is the session's receiver and the producer its sender; every result keeps what its agent said, with
    its own word for its part as ``node_role``. The first forwarder's figures are those of its face to the consumer,
    where the bottleneck is: ``backlog_max_bytes``, ``forwarder_drops``.
    """
    session = plan["sessions"][0]["name"]
    found: dict[str, dict[str, Any]] = {}
    for place, node in enumerate(plan["ndn"]["nodes"]):
        if (result := by_host.get(node["host"])) is None:
            continue
        own = {**result, "session": session, "node_role": result["role"]}
        if node["role"] == "consumer":
            found[f"{session}-receiver"] = own | {"role": "receiver"}
        elif node["role"] == "producer":
            found[f"{session}-sender"] = own | {"role": "sender"}
        else:
            figures = _at_the_bottleneck(node, result) if place == 1 else {}
            found[f"{session}-{node['host']}"] = own | {"figures": figures}
    return found


def _at_the_bottleneck(node: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, float]:
    name = node["faces"][0]["name"]
    face = next((face for face in result.get("faces", []) if face["name"] == name), None)
    if face is None:
        return {}
    return {"backlog_max_bytes": float(face["backlog_max_bytes"]), "forwarder_drops": float(face["drops"])}
