"""Cross traffic beside the sessions: iperf3 between hosts of its own, with its goodput as telemetry."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from collectors.iperf3 import Iperf3Flow
from testbed.errors import RunFailed
from testbed.plan.model import CrossTraffic, Plan
from testbed.points import append_points
from testbed.runtime import iperf3
from testbed.runtime.parts import AHEAD_REMOTE_S, Background
from testbed.runtime.processes import Supervised

if TYPE_CHECKING:
    from testbed.runtime.network import Program

INTERVAL_S = 0.5
END_S = 15.0
"""The time that iperf3 may take to end after its own: the queue has to drain, and the results to be exchanged."""


class _LocalProgram(Supervised):
    """A program of this machine, whose lines can be read if it is ``piped``, and are in its log otherwise."""

    def lines(self) -> Iterator[tuple[int, str]]:
        assert self.process.stdout is not None
        with self.process.stdout as printed:
            for line in printed:
                yield time.time_ns(), line

    def keep(self, file: Path) -> None:
        """Nothing: it wrote there itself."""


class Iperf3(Background):
    """One flow: a server that reports what it receives as it does, and a client that starts at its time.

    The client's own JSON is ``iperf3-<number>.json`` in the result folder, with the server's output in it.
    """

    def __init__(
        self,
        plan: Plan,
        flow: CrossTraffic,
        namespaces: Mapping[str, str],
        folder: Path,
        started_unix_ns: Callable[[], int | None],
        start_elsewhere: Callable[[str, str, Sequence[str], int, Path], Program] | None = None,
    ) -> None:
        """``namespaces`` are paths by host; ``start_elsewhere`` starts a program at another host: by that, a name for
        it, the command, the time (Unix nanoseconds; at once if it has passed) and the log of its errors."""
        super().__init__(f"iperf3-{flow['number']}", started_unix_ns)
        self._flow, self._namespaces, self._start_elsewhere = flow, namespaces, start_elsewhere
        self._json = folder / f"{self.name}.json"
        self._log = folder / "logs" / f"{self.name}.log"
        self._spool = folder / "spools" / f"{self.name}.lp"
        self._points = Iperf3Flow(plan, flow)
        shown = ("--interval", str(INTERVAL_S), "--format", "k", "--forceflush")
        self._server = self._start("server_host", iperf3.server(server_port(flow), "--bind", flow["server"], *shown))

    def _start(
        self,
        role: Literal["client_host", "server_host"],
        command: Sequence[str],
        at_unix_ns: int = 0,
        file: Path | None = None,
    ) -> Program:
        host = self._flow[role]
        if host in self._namespaces:
            path = self._namespaces[host]
            return _LocalProgram(self.name, command, file or self._log, namespace=path, piped=file is None)
        assert self._start_elsewhere is not None
        return self._start_elsewhere(host, f"{self.name}-{role}", command, at_unix_ns, self._log)

    def run(self) -> None:
        """Carry out the flow, from the transfer's start to the end of its own time."""
        reader = threading.Thread(target=self._read_server, name=f"{self.name}-goodput", daemon=True)
        reader.start()
        result = None
        try:
            if (at_unix_ns := self._wait_for_its_time()) is not None:
                result = self._carry_out(at_unix_ns)
        except RunFailed as error:
            self._error = error.said
        self._server.end()
        reader.join()
        if result and (whole := self._points.whole(result, time.time_ns())):
            append_points(self._spool, [whole])

    def wait(self) -> None:
        """Wait for the flow's end; raises :class:`RunFailed` where it failed."""
        self.join()
        if self._error:
            raise RunFailed.of(self._error)

    def stop(self) -> None:
        """End the flow, whatever it is doing."""
        super().stop()
        if self.ident is None:  # it never began
            self._server.end()

    def _wait_for_its_time(self) -> int | None:
        """Wait until the client is to be requested; returns its start, or None where the flow was stopped before."""
        if (start_ns := self._await_start()) is None:
            return None
        at_unix_ns = start_ns + round(self._flow["from_s"] * 1e9)
        ahead_s = 0.0 if self._flow["client_host"] in self._namespaces else AHEAD_REMOTE_S
        return None if self._stopped.wait(max(0.0, at_unix_ns / 1e9 - time.time() - ahead_s)) else at_unix_ns

    def _carry_out(self, at_unix_ns: int) -> dict[str, Any] | None:
        """The client's result of the whole flow; None where it was stopped so hard that it left none."""
        # As root: others may choose among few congestion controls.
        client = self._start("client_host", _client_command(self._flow), at_unix_ns, self._json)
        deadline_s = at_unix_ns / 1e9 + self._flow["for_s"] + END_S
        while not client.has_ended() and time.time() < deadline_s and not self._stopped.wait(0.05):
            continue
        if came_to_its_end := client.has_ended():
            client.keep(self._json)
        else:
            client.end()
            if not self._stopped.is_set():
                name, log = self.name, self._json
                raise RunFailed("cross-traffic.timeout", f"{name} did not end {END_S:g} s after its time; see {log}")
        try:
            return iperf3.read_result(self._json, self.name)
        except RunFailed as error:
            if came_to_its_end:
                raise RunFailed("cross-traffic.failed", f"{error.said} and {self._log}") from error
            return None

    def _read_server(self) -> None:
        """Write a point for each interval, at the time that the server reports it."""
        for at_unix_ns, line in self._server.lines():
            if point := self._points.interval(line, at_unix_ns):
                append_points(self._spool, [point])


def server_port(flow: CrossTraffic) -> int:
    """The port of a flow's server; one of its own, even where two have one host."""
    return iperf3.PORT + int(flow["number"]) - 1


def client_port(flow: CrossTraffic) -> int:
    """The port that a flow's data comes from (iperf3's control connection has another)."""
    return iperf3.CLIENT_PORT + int(flow["number"]) - 1


def sockets(plan: Plan) -> Iterator[dict[str, str]]:
    """Both ends of each flow's data connection, as ``ncp-collect`` looks for them."""
    for flow in plan["cross_traffic"]:
        names = {"protocol": "tcp", "flow": f"iperf3-{flow['number']}", "session": "", "connection": ""}
        sender, receiver = f"{flow['client']}:{client_port(flow)}", f"{flow['server']}:{server_port(flow)}"
        yield {**names, "role": "sender", "host": flow["client_host"], "local": sender, "remote": receiver}
        yield {**names, "role": "receiver", "host": flow["server_host"], "local": receiver, "remote": sender}


def _client_command(flow: CrossTraffic) -> list[str]:
    return iperf3.client(
        flow["server"],
        server_port(flow),
        *("--bind", flow["client"], "--cport", str(client_port(flow)), "--congestion", flow["congestion_control"]),
        *("--time", f"{flow['for_s']:.0f}", "--interval", str(INTERVAL_S), "--json", "--get-server-output"),
    )
