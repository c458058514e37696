"""The kernel's TCP: one transfer between two hosts, by one of the kinds of ``testbed/traffic/tcp/captured``."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from testbed.errors import RunFailed, Unsupported
from testbed.exit_codes import Exit
from testbed.message import Message
from testbed.plan.model import host_of
from testbed.runtime.agents import Agent
from testbed.runtime.host_settings import prepare_host
from testbed.runtime.network import Network
from testbed.runtime.packets import SETTLE_S, Capture
from testbed.runtime.parts import Failure, watch_until
from testbed.runtime.processes import Supervised
from testbed.runtime.progress import Step
from testbed.runtime.socket_samples import assert_sent_with, congestion_controls
from testbed.scenario.tcp import Role
from testbed.traffic.tcp.captured.capture import HEADER_BYTES
from testbed.traffic.tcp.download import DownloadTransfer
from testbed.traffic.tcp.fetch import FetchTransfer
from testbed.traffic.tcp.iperf3 import Iperf3Transfer
from testbed.traffic.tcp.kind import Kind, Measured
from testbed.traffic.traffic import Traffic, address_of

ROLES: tuple[Role, ...] = ("receiver", "sender")
POLL_S = 0.05
KINDS: Mapping[str, type[Kind]] = {"download": DownloadTransfer, "fetch": FetchTransfer, "iperf3": Iperf3Transfer}
"""The implementation of each kind of a plan's ``tcp`` (``testbed/scenario/tcp.py``)."""


class Tcp(Traffic):
    """TCP without agents: programs of the machine's, or of the kind's own."""

    _kind: Kind | None = None

    def set_hosts(self, network: Network) -> None:
        """Settings of the scenario's section, which provenance has."""
        requested, session = self.site.plan["tcp"], self.site.session
        ways: tuple[tuple[Role, Role], ...] = (("sender", "receiver"), ("receiver", "sender"))
        for role, peer in ways:
            host = host_of(session, role)
            self.site.provenance.setdefault("hosts", {})[host] = prepare_host(
                network.namespaces()[host],
                address_of(session["connections"][0][peer]),
                session["sysctls"][role],
                requested["routes"][role],
                requested["congestion_control"],
            )

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        return self._kind.started_unix_ns() if self._kind else None

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        kind = self._kind = KINDS[self.site.plan["tcp"]["kind"]](
            self.site.plan, self._namespaces(network), self.site.folder, self.site.binaries
        )
        with ExitStack() as watched:
            captures = self._start_captures(kind)
            for capture in captures.values():
                watched.callback(capture.stop)
            with ExitStack() as ends:
                server = kind.start_server()
                ends.callback(server.end)
                kind.client_started_unix_ns = time.time_ns()
                client = kind.start_client()
                ends.callback(client.end)
                self._watch(client, server, failures, step)
                kind.end_server(server)
            if captures:
                time.sleep(SETTLE_S)
        self.site.provenance["frames_not_captured"] = {role: c.lost() for role, c in captures.items()}
        measured = kind.measured()
        self._assert_congestion_control(measured)
        self._write(measured)
        reported = ", ".join(f"{name} {value:.6g}" for name, value in measured.figures.items())
        step.note = f"{measured.bytes / 2**20:.3g} MiB in {measured.duration_s:.3g} s; {reported}"

    def _namespaces(self, network: Network) -> dict[Role, str]:
        return {role: network.namespaces()[host_of(self.site.session, role)] for role in ROLES}

    def _start_captures(self, kind: Kind) -> dict[Role, Capture]:
        where = self.site.plan["tcp"]["capture"]
        found: dict[Role, Capture] = {
            role: Capture(
                role,
                kind.namespaces[role],
                kind.capture(role),
                self.site.logs / f"capture-{role}.log",
                interface=kind.interface(role),
                frame_bytes=HEADER_BYTES,
            )
            for role in ROLES
            if where in (role, "both")
        }
        for capture in found.values():
            capture.await_ready()
        return found

    def _watch(self, client: Supervised, server: Supervised, failures: Sequence[Failure], step: Step) -> None:
        """Wait until the client has ended well."""
        expected_s = self.site.session["expected_s"]

        def look() -> None:
            if server.process.poll() and (failure := server.failure()):
                raise RunFailed.of(failure)

        watch_until(
            client.has_ended,
            step,
            look=look,
            failures=failures,
            limit_s=self.site.plan["limits"]["transfer_s"],
            too_long=lambda: Message("tcp.timeout", f"{client.name} has not ended after {step.late(expected_s)}"),
            tell=lambda: self.site.progress.update(step, step.left(expected_s)),
            every_s=POLL_S,
        )
        if client.process.returncode and (failure := client.failure()):
            unsupported = client.process.returncode == Exit.CANNOT_RUN
            raise Unsupported.of(failure) if unsupported else RunFailed.of(failure)

    def _assert_congestion_control(self, measured: Measured) -> None:
        seen = congestion_controls(self.site.spools, self.site.session["name"]) | {measured.congestion_control}
        seen -= {""}
        self.site.provenance["congestion_control_of_the_socket"] = sorted(seen)
        assert_sent_with(self.site.plan["tcp"]["congestion_control"], seen)

    def _write(self, measured: Measured) -> None:
        """Both ends' results, and the events."""
        own: Mapping[Role, Mapping[str, object]] = {
            "sender": {"congestion_control": self.site.plan["tcp"]["congestion_control"]},
            "receiver": {"goodput_bps": measured.bytes * 8 / measured.duration_s, "figures": dict(measured.figures)},
        }
        results = {role: {"bytes": measured.bytes, **own[role], **measured.details.get(role, {})} for role in ROLES}
        span_ns = (measured.started_unix_ns, measured.finished_unix_ns)
        words = ("the client starts", "all has arrived")
        self.site.write_ends(self.site.session, span_ns, words, results, measured.points)


TRAFFIC = Tcp
