"""Starts the agents and watches the transfer until both ends report that it is over."""

import time
from collections.abc import Sequence
from typing import Any

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.plan.duration import expected_transfer_s
from testbed.plan.model import Plan
from testbed.runtime.agents import Agent, control, why_it_ended
from testbed.runtime.parts import Failure, watch_until
from testbed.runtime.progress import Progress, Step

POLL_S = 0.1
DRAIN_S = 30.0
"""The time that an agent may take after the transfer to push its remaining telemetry."""
SILENT_S = 10.0
"""An agent that runs and does not answer for this long hangs."""
STALLED_S = 5.0
"""The time without new data after which receivers must answer as well."""


def await_ready(agents: Sequence[Agent], *, timeout_s: float) -> None:
    """Wait until each agent has opened its sockets; one that only answers others is running then."""
    deadline = time.monotonic() + timeout_s
    waiting = list(agents)
    while waiting:
        for agent in list(waiting):
            if agent.exit_code() is not None:
                raise RunFailed.of(why_it_ended(agent))
            if state_of(agent).get("state") in ("ready", "running"):
                waiting.remove(agent)
        if waiting and time.monotonic() > deadline:
            late = ", ".join(f"agent {one.place.name} on {one.place.host} (see {one.place.log})" for one in waiting)
            raise RunFailed("agent.not-ready", f"not ready after {timeout_s:g} s: {late}")
        time.sleep(POLL_S / 2)


def start_of_transfer(agents: Sequence[Agent]) -> int | None:
    """The time at which the first sender's session was established, in Unix nanoseconds; None before that."""
    return int(state_of(_senders(agents)[0]).get("started_unix_ns", 0)) or None


def _senders(agents: Sequence[Agent]) -> list[Agent]:
    """The senders in the order that they start in."""
    return sorted((agent for agent in agents if agent.place.role == "sender"), key=lambda agent: agent.place.start_s)


def watch_transfer(
    plan: Plan, agents: Sequence[Agent], failures: Sequence[Failure], progress: Progress, step: Step
) -> None:
    """Start the senders and wait until every agent has ended well; raises :class:`RunFailed` otherwise.

    ``failures`` report on the parts that the transfer depends on (link emulator, gateway).
    """
    senders = _senders(agents)
    waiting, running = list(senders), list(agents)
    begun_s, next_status_s = time.monotonic(), 0.0
    expected_s = expected_transfer_s(plan)
    heard = Heard()

    def look() -> None:
        while waiting and time.monotonic() - begun_s >= waiting[0].place.start_s:
            tell_to_start(waiting.pop(0))
        for agent in list(running):
            code = agent.exit_code()
            if code == 0:
                running.remove(agent)
            elif code is not None:
                raise RunFailed.of(why_it_ended(agent))

    def tell() -> None:
        nonlocal next_status_s
        elapsed_s = step.elapsed_s
        if elapsed_s >= next_status_s and any(agent in running for agent in senders):
            next_status_s = elapsed_s + 0.5
            states = [state_of(agent) for agent in senders]
            heard.note(senders, states, elapsed_s)
            if heard.stalled(states, elapsed_s):
                rest = [agent for agent in running if agent not in senders]
                heard.note(rest, [state_of(agent) for agent in rest], elapsed_s)
            progress.update(step, _status(plan, senders, states, step))

    watch_until(
        lambda: not running,
        step,
        look=look,
        failures=failures,
        limit_s=plan["limits"]["transfer_s"] + DRAIN_S,
        too_long=lambda: Message(
            "run.timeout", f"the transfer is not over after {step.late(expected_s)}; it was stopped"
        ),
        tell=tell,
        every_s=POLL_S,
    )
    step.note = _outcome(senders)


def state_of(agent: Agent) -> dict[str, Any]:
    """The agent's state by its own account; empty where it does not answer."""
    try:
        return control(agent.place, "GET", "/state")
    except (OSError, ValueError):
        return {}  # not there yet, or just ended, or no JSON


def tell_to_start(agent: Agent) -> None:
    """Make a sender start; raises :class:`RunFailed` where it does not answer."""
    try:
        control(agent.place, "POST", "/start")
    except OSError as error:
        raise RunFailed(
            "agent.not-started", f"agent {agent.place.name} on {agent.place.host} can't be started: {error}"
        ) from error


class Heard:
    """The time of each agent's last answer, in seconds of the step, and of the last new bytes.

    Receivers get requests only while nothing arrives: each request costs the agent time.
    """

    def __init__(self) -> None:
        self._last_s: dict[str, float] = {}
        self._bytes, self._since_s = -1, 0.0

    def note(self, agents: Sequence[Agent], states: Sequence[dict[str, Any]], now_s: float) -> None:
        """Note the agents' answers; raises :class:`RunFailed` for one that runs and has been silent too long."""
        for agent, state in zip(agents, states, strict=True):
            if state or agent.exit_code() is not None:
                self._last_s[agent.place.name] = now_s
            elif now_s - self._last_s.setdefault(agent.place.name, now_s) >= SILENT_S:
                raise RunFailed(
                    "agent.silent",
                    f"agent {agent.place.name} on {agent.place.host} has not answered for {SILENT_S:g} s: it hangs, "
                    f"or this machine leaves it no time; see {agent.place.log}",
                )

    def stalled(self, states: Sequence[dict[str, Any]], now_s: float) -> bool:
        """Whether senders, by their answers, have delivered nothing for a while."""
        if (carried := sum(state.get("bytes", 0) for state in states)) > self._bytes:
            self._bytes, self._since_s = carried, now_s
        return now_s - self._since_s >= STALLED_S


def _status(plan: Plan, senders: Sequence[Agent], answers: Sequence[dict[str, Any]], step: Step) -> str:
    states = [state or agent.place.result() or {} for agent, state in zip(senders, answers, strict=True)]
    total = sum(session["transfer_bytes"] for session in plan["sessions"])
    done = sum(state.get("bytes", 0) for state in states) / total
    windows = ":".join(f"{c['window_packets']:.0f}" for state in states for c in state.get("connections", []))
    return f"{done:4.0%}  {step.left(expected_transfer_s(plan), done)}" + (f"  windows {windows}" if windows else "")


def _outcome(senders: Sequence[Agent]) -> str:
    return "; ".join(
        f"{result['bytes'] / 2**20:g} MiB in {result['duration_s']:.1f} s, "
        f"{result['goodput_bps'] / 8 / 2**20:.3f} MiB/s"
        for result in (agent.place.result() or {} for agent in senders)
        if {"bytes", "duration_s", "goodput_bps"} <= result.keys()
    )
