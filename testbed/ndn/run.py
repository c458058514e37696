"""A run whose traffic is NDN: an agent on every host of a chain instead of NCP's two; all around it is the same."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.ndn.results import SEGMENTS, as_session_results
from testbed.runner.agents import Agent, AgentPlace, agent_name, control, why_it_ended
from testbed.runner.life import Run
from testbed.runner.network import Network
from testbed.runner.progress import Step
from testbed.runner.transfer import DRAIN_S, state_of
from testbed.tcp.host_settings import prepare_host
from testbed.tcp.socket_samples import assert_sent_with, congestion_controls

POLL_S = 0.1


class NdnRun(Run):
    """One run of a plan with ``traffic: ndn`` on this machine."""

    program = "ndn-agent"

    def _places(self, own: Path, credentials: Path | None) -> list[AgentPlace]:
        session = self.plan["sessions"][0]["name"]
        places = []
        # Producer first: a face that dials finds the one that listens.
        for node in reversed(self.plan["ndn"]["nodes"]):
            name = agent_name(session, node["host"])
            place = AgentPlace(
                host=node["host"],
                role=node["host"],
                session=session,
                plan=self.plan_file,
                directory=self.spools / name,
                control=own / name,
                credentials=credentials,
                log=self.logs / f"{name}.log",
                part=("run", "--node", node["host"]),
            )
            place.prepare()
            places.append(place)
        return places

    def _build_network(
        self, parts: ExitStack, places: list[AgentPlace], credentials: Path | None
    ) -> tuple[Network, list[Agent]]:
        network, started = super()._build_network(parts, places, credentials)
        if self.plan["ndn"]["transport"] == "tcp":
            for node in self.plan["ndn"]["nodes"]:
                self.provenance.setdefault("hosts", {})[node["host"]] = [
                    prepare_host(
                        network.namespaces()[node["host"]],
                        _address(face["remote"]),
                        {},
                        {},
                        self.plan["ndn"]["congestion_control"],
                    )
                    for face in node["faces"]
                ]
        return network, started

    def _started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        return int(state_of(self._consumer(started)).get("started_unix_ns", 0)) or None

    def _consumer(self, started: Sequence[Agent]) -> Agent:
        host = self.plan["ndn"]["nodes"][0]["host"]
        return next(agent for agent in started if agent.place.host == host)

    def _transfer(
        self, network: Network, started: Sequence[Agent], failures: Sequence[Callable[[], str | None]], step: Step
    ) -> None:
        consumer = self._consumer(started)
        control(consumer, "POST", "/start")
        self._watch(consumer, started, failures, step)
        # The others answer until they are told to stop; then they push what telemetry they still have.
        for agent in started:
            agent.stop()
            if agent.place.result() is None:
                raise RunFailed(f"{why_it_ended(agent)}; it left no result")
        self._assert_congestion_control()
        result = consumer.place.result() or {}
        step.note = _in_words(result)

    def _watch(
        self, consumer: Agent, started: Sequence[Agent], failures: Sequence[Callable[[], str | None]], step: Step
    ) -> None:
        """Until the consumer has ended well; raises :class:`RunFailed` otherwise."""
        session = self.plan["sessions"][0]
        limit_s = self.plan["limits"]["transfer_s"] + DRAIN_S
        while (code := consumer.exit_code()) is None:
            for agent in started:
                if agent is not consumer and agent.exit_code() is not None:
                    raise RunFailed(why_it_ended(agent))
            for failure in failures:
                if told := failure():
                    raise RunFailed(told)
            if step.elapsed_s > limit_s:
                raise RunFailed(
                    f"the fetch is not over after {step.elapsed_s:.0f} s ({session['expected_s']:.0f} s at full rate)"
                )
            done = state_of(consumer).get("bytes", 0) / session["transfer_bytes"]
            left_s = max(0.0, session["expected_s"] - step.elapsed_s)
            self.progress.update(step, f"{done:4.0%}  {step.elapsed_s:.0f} s, about {left_s:.0f} s left")
            time.sleep(POLL_S)
        if code:
            raise RunFailed(why_it_ended(consumer))

    def _assert_congestion_control(self) -> None:
        if self.plan["ndn"]["transport"] != "tcp":
            return
        seen = congestion_controls(self.spools, self.plan["sessions"][0]["name"])
        self.provenance["congestion_control_of_the_sockets"] = sorted(seen)
        assert_sent_with(self.plan["ndn"]["congestion_control"], seen)

    def _keep_results(self) -> None:
        by_host: dict[str, Mapping[str, Any]] = {}
        for place in self.places:
            if (result := place.result()) is not None:
                by_host[place.host] = result
            if (place.directory / SEGMENTS).exists():
                shutil.copyfile(place.directory / SEGMENTS, self.folder / SEGMENTS)
        for name, result in as_session_results(self.plan, by_host).items():
            text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
            (self.folder / "agents" / f"{name}.json").write_text(text)


def _address(endpoint: str) -> str:
    return endpoint.rsplit(":", 1)[0]


def _in_words(result: Mapping[str, Any]) -> str:
    figures = result.get("figures", {})
    return (
        f"{result.get('bytes', 0) / 2**20:.3g} MiB in {result.get('duration_s', 0):.1f} s, "
        f"{figures.get('goodput_mbps', 0):.1f} Mbit/s, RTT {figures.get('rtt_ms', 0):.1f} ms (median), "
        f"{result.get('retransmissions', 0)} retransmissions, {result.get('marks', 0)} marks"
    )
