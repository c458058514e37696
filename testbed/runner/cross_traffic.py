"""Other programs' traffic beside the NCP sessions: iperf3 between hosts of its own, with its goodput as telemetry."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from influxdb.line_protocol import make_lines

from collectors.iperf3 import Iperf3Flow, Point
from testbed.errors import RunFailed
from testbed.plan.model import CrossTraffic, Plan
from testbed.runner import iperf3
from testbed.runner.processes import Supervised
from topologies.commands import dies_with_us, in_namespace

INTERVAL_S = 0.5
END_S = 15.0
"""How long after its time iperf3 may take to end: what is queued has to arrive, and the results to be exchanged."""


class Iperf3(threading.Thread):
    """One flow: a server that tells what it receives as it does, and a client that starts at its time.

    The client's own JSON is ``iperf3-<number>.json`` in the result folder, the server's output is in it.
    """

    def __init__(
        self,
        plan: Plan,
        flow: CrossTraffic,
        namespaces: Mapping[str, str],
        folder: Path,
        started_unix_ns: Callable[[], int | None],
    ) -> None:
        super().__init__(name=f"iperf3-{flow['number']}", daemon=True)
        self._flow, self._namespaces = flow, namespaces
        self._started_unix_ns = started_unix_ns
        self._json = folder / f"{self.name}.json"
        self._log = folder / "logs" / f"{self.name}.log"
        self._spool = folder / "spools" / f"{self.name}.lp"
        self._points = Iperf3Flow(plan, flow)
        self._stopped = threading.Event()
        self._error: str | None = None
        self._client: Supervised | None = None
        with self._log.open("ab") as errors:
            self._server = subprocess.Popen(
                in_namespace(namespaces[flow["server_host"]], dies_with_us(_server_command(flow))),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def failure(self) -> str | None:
        """Why it did not do its part, or None."""
        return self._error

    def run(self) -> None:
        """From the transfer's start to the end of the flow's own time."""
        reader = threading.Thread(target=self._read_server, name=f"{self.name}-goodput", daemon=True)
        reader.start()
        if self._wait_for_its_time():
            flow = self._flow
            # As root: others may choose among few congestion controls.
            self._client = Supervised.start(
                self.name, _client_command(flow), self._json, namespace=self._namespaces[flow["client_host"]]
            )
            self._await_client(time.monotonic() + flow["for_s"] + END_S)
        self._end(self._server)
        reader.join()
        if self._client and not self._error and (whole := self._whole()):
            with self._spool.open("ab", buffering=0) as spool:
                _append(spool, whole)

    def wait(self) -> None:
        """Wait for the flow's end; raises :class:`RunFailed` where it did not work."""
        self.join()
        if self._error:
            raise RunFailed(self._error)

    def stop(self) -> None:
        """End it, whatever it is doing."""
        self._stopped.set()
        if self.ident is not None:
            self.join()
        else:
            self._end(self._server)

    def _wait_for_its_time(self) -> bool:
        start_ns = None
        while start_ns is None:
            if self._stopped.wait(0.02):
                return False
            start_ns = self._started_unix_ns()
        due_s = start_ns / 1e9 + self._flow["from_s"] - time.time()
        return not self._stopped.wait(max(0.0, due_s))

    def _await_client(self, deadline: float) -> None:
        assert self._client is not None
        process = self._client.process
        while process.poll() is None and time.monotonic() < deadline and not self._stopped.wait(0.05):
            continue
        if process.poll() is None:
            self._end(process)
            if not self._stopped.is_set():
                self._error = f"{self.name} did not end within {END_S:g} s of its time; see {self._json}"
            return
        try:
            iperf3.read_result(self._json, self.name)
        except RunFailed as error:
            self._error = f"{error.message} and {self._log}"

    def _whole(self) -> Point | None:
        """What the client says of the whole flow; None where it was stopped so hard that it said nothing."""
        try:
            return self._points.whole(iperf3.read_result(self._json, self.name), time.time_ns())
        except RunFailed:
            return None

    def _read_server(self) -> None:
        """A point for each interval, at the time that the server tells it."""
        assert self._server.stdout is not None
        with self._spool.open("ab", buffering=0) as spool, self._server.stdout as told:
            for line in told:
                if point := self._points.interval(line, time.time_ns()):
                    _append(spool, point)

    @staticmethod
    def _end(process: subprocess.Popen[Any]) -> None:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def server_port(flow: CrossTraffic) -> int:
    """The port of a flow's server; one of its own, even where two have one host."""
    return iperf3.PORT + int(flow["number"]) - 1


def client_port(flow: CrossTraffic) -> int:
    """The port that a flow's data comes from (iperf3's control connection has another)."""
    return iperf3.CLIENT_PORT + int(flow["number"]) - 1


def _append(spool: IO[bytes], point: Point) -> None:
    spool.write(make_lines({"points": [point]}).encode())


def sockets(plan: Plan) -> Iterator[dict[str, str]]:
    """Both ends of each flow's connection with the data, as ``ncp-collect`` looks for them."""
    for flow in plan["cross_traffic"]:
        client = {"host": flow["client_host"], "end": f"{flow['client']}:{client_port(flow)}"}
        server = {"host": flow["server_host"], "end": f"{flow['server']}:{server_port(flow)}"}
        for role, here, there in (("sender", client, server), ("receiver", server, client)):
            yield {
                "protocol": "tcp",
                "flow": f"iperf3-{flow['number']}",
                "session": "",
                "connection": "",
                "role": role,
                "host": here["host"],
                "local": here["end"],
                "remote": there["end"],
            }


def _server_command(flow: CrossTraffic) -> list[str]:
    shown = ("--interval", str(INTERVAL_S), "--format", "k", "--forceflush")
    return iperf3.server(server_port(flow), "--bind", flow["server"], *shown)


def _client_command(flow: CrossTraffic) -> list[str]:
    return iperf3.client(
        flow["server"],
        server_port(flow),
        "--bind",
        flow["client"],
        "--cport",
        str(client_port(flow)),
        "--congestion",
        flow["congestion_control"],
        "--time",
        f"{flow['for_s']:.0f}",
        "--interval",
        str(INTERVAL_S),
        "--json",
        "--get-server-output",
    )
