"""The sender's and receiver's agents: containers, or plain processes on Mininet hosts; one interface for both."""

from __future__ import annotations

import http
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.plan.model import Plan
from testbed.runtime.ledger import RUN_LABEL
from testbed.runtime.live import ledger_of
from testbed.runtime.processes import AGENT_UID, MOST_MEMORY_BYTES, Supervised, last_words
from topologies import control_socket
from topologies.fabric import namespace_of

LOOK_S = 0.5
"""Interval of looking whether a container runs whose process is there: each request to the Docker engine costs CPU
time, and a run may have many containers."""


def no_answer(*further: type[Exception]) -> tuple[type[Exception], ...]:
    """The errors of Docker's client where there is no engine, and further ones."""
    import requests  # with Docker's client, and not for agents that are processes

    return requests.ConnectionError, requests.Timeout, *further


def agent_name(session: str, role: str) -> str:
    """An agent's name: that of its container, log and result."""
    return f"{session}-{role}"


@dataclass(frozen=True)
class AgentPlace:
    """One agent: its part in the plan and its files."""

    host: str
    role: str
    session: str
    plan: Path
    directory: Path
    """The agent's own folder, for telemetry and result."""
    control: Path
    """Folder of the control socket, short enough for a Unix socket's path."""
    credentials: Path | None
    """InfluxDB's; None: telemetry stays in the agent's spool."""
    log: Path
    start_s: float = 0.0
    """Seconds after the first sender at which a sender starts."""
    part: tuple[str, ...] = ()
    """Arguments that tell the program its part in the plan; without any, ``role --session session``."""
    by_node: Path | None = None
    """The folder with the program that Node runs, ``agent.js``, in place of the traffic's own."""
    code: Path | None = None
    """The user's own code: the package that this drives, or else the program in place of the traffic's own."""
    ahead_ns: int = 0
    """The lead of its machine's clock before this one's."""

    @property
    def name(self) -> str:
        """The agent's name; a host may have several agents."""
        return agent_name(self.session, self.role)

    def prepare(self) -> None:
        """Make the folders that the unprivileged agent writes to."""
        for folder in (self.directory, self.control):
            folder.mkdir(parents=True)
            os.chown(folder, AGENT_UID, AGENT_UID)

    def result(self) -> dict[str, Any] | None:
        """The agent's own result, if it left one."""
        try:
            loaded = json.loads((self.directory / "result.json").read_text())
        except (OSError, ValueError):
            return None
        return loaded if isinstance(loaded, dict) else None

    def arguments(self, plan: object, directory: object, control: object, credentials: object) -> list[str]:
        """The program's arguments, with its files where it sees them."""
        return [
            *(self.part or (self.role, "--session", self.session)),
            *("--plan", str(plan), "--dir", str(directory), "--control", f"{control}/control.sock"),
            *(("--credentials", str(credentials)) if self.credentials else ()),
        ]


def control(place: AgentPlace, method: str, path: str) -> dict[str, Any]:
    """One request to the agent's control socket; raises ``OSError`` while it does not answer."""
    try:
        body = control_socket.request(place.control / "control.sock", method, path)
    except control_socket.Refused as refusal:
        text = f"{method} {path}"
        raise RunFailed("agent.refused", f"agent {place.name} refused {text}: {refusal}") from refusal
    document: dict[str, Any] = json.loads(body) if body.strip() else {}
    if place.ahead_ns and document.get("started_unix_ns"):
        document["started_unix_ns"] -= place.ahead_ns
    return document


def start_container(client: Any, image: str, command: list[str], **options: Any) -> tuple[Any, int]:
    """Create and start a read-only container without capabilities; returns it and its process."""
    options = {"read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges"], **options}
    container = client.containers.create(image, command, **options)
    container.start()
    container.reload()
    return container, int(container.attrs["State"]["Pid"])


class Container:
    """A container that was started by :func:`start_container`."""

    container: Any

    def state(self) -> dict[str, Any] | None:
        """The state; None when it was removed. Raises one of :func:`no_answer` where the engine does not answer."""
        from docker.errors import NotFound

        try:
            self.container.reload()
        except NotFound:
            return None
        state: dict[str, Any] = self.container.attrs["State"]
        return state

    def ask_to_end(self) -> None:
        """SIGTERM, without waiting."""
        self._signal("SIGTERM")

    def kill(self) -> None:
        """SIGKILL."""
        self._signal("SIGKILL")

    def _signal(self, name: str) -> None:
        from docker.errors import APIError, NotFound

        try:
            self.container.kill(signal=name)
        except no_answer(NotFound):
            return
        except APIError as error:
            if error.status_code != http.HTTPStatus.CONFLICT:  # it has ended
                raise


class ContainerAgent(Container):
    """An agent in a container, with no network but the run's links: unprivileged, read-only, no capability.

    The first agent of a host brings the host's network namespace; further ones join it (``beside``).
    """

    def __init__(
        self,
        client: Any,
        image: str,
        plan: Plan,
        place: AgentPlace,
        beside: ContainerAgent | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """``labels`` replace the one by which leftovers on this machine are known."""
        from docker.types import Mount

        self.place = place
        name = f"{plan['namespace']}-{place.name}"
        ledger_of(plan["run"]).will_make("container", name)
        mounts = [
            Mount("/plan.json", str(place.plan), "bind", read_only=True),
            Mount("/data", str(place.directory), "bind"),
            Mount("/control", str(place.control), "bind"),
        ]
        if place.credentials:
            mounts.append(Mount("/credentials.json", str(place.credentials), "bind", read_only=True))
        self.container, self.pid = start_container(
            client,
            image,
            place.arguments("/plan.json", "/data", "/control", "/credentials.json"),
            name=name,
            labels=dict(labels or {RUN_LABEL: plan["run"]}),
            network_mode=f"container:{beside.container.id}" if beside else "none",
            user=f"{AGENT_UID}:{AGENT_UID}",
            pids_limit=256,
            mem_limit=MOST_MEMORY_BYTES,
            memswap_limit=MOST_MEMORY_BYTES,  # none of it is swapped
            mounts=mounts,
        )
        self._looked_s = 0.0
        self._code: int | None = None

    def exit_code(self) -> int | None:
        """None while the container runs; 137 when it was killed or removed by somebody."""
        if self._code is None and (self._is_gone() or time.monotonic() - self._looked_s >= LOOK_S):
            self._code = self._look()
            self._looked_s = time.monotonic()
        return self._code

    def _is_gone(self) -> bool:
        """Whether the process has ended, so that its end is noticed at once."""
        return not Path(f"/proc/{self.pid}").exists()

    def _look(self) -> int | None:
        """Ask the Docker engine for the exit code; None while the container runs."""
        try:
            state = self.state()
        except no_answer() as error:
            raise RunFailed(
                "agent.docker-does-not-answer",
                f"agent {self.place.name} on {self.place.host}: the Docker engine does not answer ({error})",
                "When it does again, ./run.sh clean removes what is left of this run.",
            ) from error
        if state is None:
            return 137
        return None if state["Running"] else int(state["ExitCode"])

    def out_of_memory(self) -> str:
        """Words for an agent that the kernel killed for its memory; empty for others."""
        if not self.container.attrs["State"].get("OOMKilled"):
            return ""
        return f": out of memory (limit {self.container.attrs['HostConfig']['Memory'] >> 20} MiB)"

    def has_ended(self) -> bool:
        return self.exit_code() is not None

    def stop(self) -> None:
        """Stop and remove the container; its output goes to the log."""
        from docker.errors import NotFound

        try:
            if self.exit_code() is None:
                self.container.stop(timeout=10)
            self.place.log.write_bytes(self.container.logs(timestamps=True))
            self.container.remove(force=True)
        except no_answer(NotFound):  # the ledger knows of it
            return


class ProcessAgent(Supervised):
    """An agent as an unprivileged process in the network namespace of a plain Mininet host.

    ``program`` is the agent's file.
    """

    def __init__(self, program: Path, host_pid: int, place: AgentPlace, *, limited: bool = True) -> None:
        self.place, program = place, place.by_node or place.code or program
        # The checkout may be where only root can go (/root), so the files that the agent needs are bound to a
        # folder that it can reach, in a mount namespace of its own.
        seen = place.control
        bound = {program: seen / program.name, place.plan: seen / "plan.json", place.directory: seen / "data"}
        if place.by_node and place.code:
            bound[place.code] = seen / place.code.name
        for source, target in bound.items():
            target.mkdir() if source.is_dir() else target.touch()
        arguments = place.arguments(seen / "plan.json", seen / "data", seen, place.credentials)
        command = ["node", f"{seen}/{program.name}/agent.js"] if place.by_node else [f"{seen}/{program.name}"]
        super().__init__(
            f"agent {place.name}",
            [*command, *arguments],
            place.log,
            namespace=namespace_of(host_pid),
            unprivileged=True,
            bound=bound,
            limited=limited,
        )

    def exit_code(self) -> int | None:
        """None while the process runs."""
        return self.process.poll()

    def out_of_memory(self) -> str:
        """Nothing: it gets no memory beyond its limit, and says so itself."""
        return ""

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """End the process if it still runs."""
        if self.exit_code() is None:
            super().stop(timeout_s=timeout_s)


Agent: TypeAlias = ContainerAgent | ProcessAgent


def why_it_ended(agent: Agent) -> Message:
    """One line about an agent that ended too early, with its own words where it left some."""
    result, code = agent.place.result() or {}, agent.exit_code()
    said = f": {result['error']}" if result.get("error") else last_words(agent.place.log)
    said = agent.out_of_memory() or said
    return Message("agent.ended", f"agent {agent.place.name} on {agent.place.host} ended with {code}{said}")
