"""A run whose traffic is one transfer by the kernel's TCP instead of NCP's agents: all around it is the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from influxdb.line_protocol import make_lines

from testbed.errors import Exit, RunFailed, Unsupported
from testbed.runner.agents import Agent, AgentPlace
from testbed.runner.life import Run
from testbed.runner.network import Network
from testbed.runner.packets import SETTLE_S, Capture
from testbed.runner.processes import Supervised
from testbed.runner.progress import Step
from testbed.tcp.capture import HEADER_BYTES
from testbed.tcp.host_settings import prepare_host
from testbed.tcp.kind import Kind, Measured, Stage, address_of
from testbed.tcp.kinds import KINDS
from testbed.tcp.section import Role
from testbed.tcp.socket_samples import assert_sent_with, congestion_controls

ROLES: tuple[Role, ...] = ("receiver", "sender")
POLL_S = 0.05


class TcpRun(Run):
    """One run of a plan with ``traffic: tcp`` on this machine."""

    _kind: Kind | None = None

    def _places(self, own: Path, credentials: Path | None) -> list[AgentPlace]:
        return []

    def _started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        return self._kind.started_unix_ns() if self._kind else None

    def _build_network(
        self, parts: ExitStack, places: list[AgentPlace], credentials: Path | None
    ) -> tuple[Network, list[Agent]]:
        network, started = super()._build_network(parts, places, credentials)
        asked, session = self.plan["tcp"], self.plan["sessions"][0]
        ways: tuple[tuple[Role, Role], ...] = (("sender", "receiver"), ("receiver", "sender"))
        for role, peer in ways:
            self.provenance.setdefault("hosts", {})[session[f"{role}_host"]] = prepare_host(
                network.namespaces()[session[f"{role}_host"]],
                address_of(session, peer),
                session["sysctls"][role],
                asked["routes"][role],
                asked["congestion_control"],
            )
        return network, started

    def _transfer(
        self, network: Network, started: Sequence[Agent], failures: Sequence[Callable[[], str | None]], step: Step
    ) -> None:
        kind = self._kind = KINDS[self.plan["tcp"]["kind"]](self._stage(network))
        captures = self._start_captures(kind.stage)
        try:
            server = kind.start_server()
            client: Supervised | None = None
            try:
                kind.client_started_unix_ns = time.time_ns()
                client = kind.start_client()
                self._watch(client, server, failures, step)
                kind.end_server(server)
            finally:
                for process in (client, server):
                    if process is not None and process.process.poll() is None:
                        process.end_group()
            if captures:
                time.sleep(SETTLE_S)
        finally:
            for capture in captures.values():
                capture.stop()
        self.provenance["frames_not_captured"] = {role: c.lost() for role, c in captures.items()}
        measured = kind.measured()
        self._assert_congestion_control(measured)
        self._write_results(measured)
        self._write_events(measured)
        told = ", ".join(f"{name} {value:.6g}" for name, value in measured.figures.items())
        step.note = f"{measured.bytes / 2**20:.3g} MiB in {measured.duration_s:.3g} s; {told}"

    def _stage(self, network: Network) -> Stage:
        session, namespaces = self.plan["sessions"][0], network.namespaces()
        by_role: dict[Role, str] = {role: namespaces[session[f"{role}_host"]] for role in ROLES}
        return Stage(self.plan, by_role, self.folder, self.binaries)

    def _start_captures(self, stage: Stage) -> dict[Role, Capture]:
        where = self.plan["tcp"]["capture"]
        found: dict[Role, Capture] = {
            role: Capture(
                role,
                stage.namespaces[role],
                stage.capture(role),
                self.logs / f"capture-{role}.log",
                interface=stage.interface(role),
                frame_bytes=HEADER_BYTES,
            )
            for role in ROLES
            if where in (role, "both")
        }
        for capture in found.values():
            capture.await_ready()
        return found

    def _watch(
        self, client: Supervised, server: Supervised, failures: Sequence[Callable[[], str | None]], step: Step
    ) -> None:
        """Until the client has ended well; raises :class:`RunFailed` otherwise."""
        expected_s, limit_s = self.plan["sessions"][0]["expected_s"], self.plan["limits"]["transfer_s"]
        while client.process.poll() is None:
            for failure in failures:
                if told := failure():
                    raise RunFailed(told)
            if server.process.poll():
                raise RunFailed(str(server.failure()))
            if step.elapsed_s > limit_s:
                raise RunFailed(
                    f"{client.name} has not ended after {step.elapsed_s:.0f} s ({expected_s:.0f} s were expected)"
                )
            left_s = max(0.0, expected_s - step.elapsed_s)
            self.progress.update(step, f"{step.elapsed_s:.0f} s, about {left_s:.0f} s left")
            time.sleep(POLL_S)
        if client.process.returncode == Exit.CANNOT_RUN:
            raise Unsupported(str(client.failure()))
        if client.process.returncode:
            raise RunFailed(str(client.failure()))

    def _assert_congestion_control(self, measured: Measured) -> None:
        seen = congestion_controls(self.spools, self.plan["sessions"][0]["name"]) | {measured.congestion_control}
        seen -= {""}
        self.provenance["congestion_control_of_the_socket"] = sorted(seen)
        assert_sent_with(self.plan["tcp"]["congestion_control"], seen)

    def _write_results(self, measured: Measured) -> None:
        session = self.plan["sessions"][0]["name"]
        common = {
            "session": session,
            "bytes": measured.bytes,
            "started_unix_ns": measured.started_unix_ns,
            "finished_unix_ns": measured.finished_unix_ns,
            "duration_s": measured.duration_s,
            "error": "",
        }
        figures: Mapping[Role, Mapping[str, object]] = {
            "sender": {"congestion_control": self.plan["tcp"]["congestion_control"]},
            "receiver": {"goodput_bps": measured.bytes * 8 / measured.duration_s, "figures": dict(measured.figures)},
        }
        for role in ROLES:
            result = {"role": role, **common, **figures[role], **measured.details.get(role, {})}
            text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
            (self.folder / "agents" / f"{session}-{role}.json").write_text(text)

    def _write_events(self, measured: Measured) -> None:
        tags = {"run": self.plan["run"], "scenario": self.plan["scenario"], "session": self.plan["sessions"][0]["name"]}
        points = [
            {
                "measurement": "event",
                "tags": {**tags, "kind": kind},
                "time": at_ns,
                "fields": {"at_s": at_s, "text": text},
            }
            for kind, at_ns, at_s, text in (
                ("transfer_start", measured.started_unix_ns, 0.0, "the client starts"),
                ("transfer_end", measured.finished_unix_ns, measured.duration_s, "all has arrived"),
            )
        ]
        with (self.spools / "events.lp").open("ab", buffering=0) as spool:
            spool.write(make_lines({"points": [*points, *measured.points]}).encode())
