"""``kind: download``: one object over a new connection, timed until the sender's kernel has had all acknowledged."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed, Unsupported
from testbed.message import Message
from testbed.runtime.processes import Supervised
from testbed.scenario.tcp import KERNELS_INITIAL_WINDOW, Download
from testbed.traffic.pcap import NotACapture
from testbed.traffic.tcp import Measured, Tcp
from testbed.traffic.tcp.captured.capture import read_connections
from testbed.traffic.tcp.captured.receive_window import expected_rtts
from testbed.traffic.tcp.captured.sequence import DATA, EDGES, Incomplete, TimeSequence, time_sequence, write_csv
from topologies.commands import CommandFailed, in_namespace, run

PORT = Download.sender_port


class DownloadTransfer(Tcp):
    """``tcp-download serve`` and ``get``; their results are ``download-server.json`` and ``download-client.json``."""

    def start_server(self) -> Supervised:
        self._kernel = self._probe()
        requested = self.requested
        if requested["unlimited_window"] and self._kernel["limited"] is not False:
            raise Unsupported.of(_why_limited(self._kernel))
        command = self._command("serve", "--listen", "--seed", str(self.site.plan["seed"]))
        return self.start("download server", command, "sender", self.said("server"), listens_at=PORT)

    def start_client(self) -> Supervised:
        buffer = self.requested["receive_buffer_bytes"]
        options = ["--receive-buffer", str(buffer)] if buffer else []
        command = self._command("get", "--server", "--from", self.address("receiver"), *options)
        # Root may ask for a larger buffer than net.core.rmem_max.
        return self.start("download client", command, "receiver", self.said("client"), unprivileged=not buffer)

    def measured(self) -> Measured:
        server, client = _result(self.said("server")), _result(self.said("client"))
        sequence = self._sequence()
        write_csv(sequence, self.site.folder / EDGES, self.site.folder / DATA)
        met = sequence.edges_met(self.rtt_s, int(server["max_segment_size_bytes"]))
        flight = sequence.first_flight()
        completion_ms = float(server["acknowledged_ms"])
        figures = {
            "completion_ms": completion_ms,
            "rtts": completion_ms / 1000 / self.rtt_s,
            "theory_rtts": self._theory_rtts(sequence),
            "initial_window_bytes": float(sequence.initial_window_bytes),
            "first_flight_bytes": float(sum(data.bytes for data in flight)),
            "first_flight_ms": (flight[-1].t_s - flight[0].t_s) * 1000,
            "edges_met": float(len(met)),
            "segments_sent_again": float(server["segments_sent_again"]),
        }
        return Measured(
            started_unix_ns=int(server["started_unix_ns"]),
            finished_unix_ns=int(server["finished_unix_ns"]),
            bytes=int(client["bytes"]),
            figures=figures,
            congestion_control=str(server["congestion_control"]),
            details={
                "sender": {**_own(server), "edges_met_bytes": [edge.right_edge_bytes for edge in met]},
                "receiver": {**_own(client), "kernel_initial_window": self._kernel},
            },
        )

    def _theory_rtts(self, sequence: TimeSequence) -> float:
        requested = self.requested
        initial_window = int(requested["routes"]["sender"].get("initcwnd", KERNELS_INITIAL_WINDOW))
        return expected_rtts(
            requested["object_bytes"], sequence.initial_window_bytes, initial_window, requested["congestion_control"]
        )

    @property
    def _program(self) -> str:
        return str(self.site.binaries["tcp-download"])

    def _command(self, verb: str, of_server: str, *further: str) -> list[str]:
        """The command of an end; ``of_server`` is its option for the server's address."""
        size, limit_s = str(self.requested["object_bytes"]), self.site.plan["limits"]["transfer_s"]
        common = [of_server, f"{self.address('sender')}:{PORT}", "--bytes", size, "--timeout", f"{limit_s:.0f}s"]
        return [self._program, verb, *common, *further]

    def _probe(self) -> dict[str, Any]:
        """The window that this kernel offers in a new connection, by a connection within the receiver's host."""
        try:
            return dict(json.loads(run(in_namespace(self.namespaces["receiver"], [self._program, "window"]))))
        except CommandFailed as error:  # a kernel that does not tell (before 5.4)
            return {"limited": None, "why": str(error)}

    def _sequence(self) -> TimeSequence:
        path = self.capture("sender")
        try:
            connections = [c for c in read_connections(path) if c.server[1] == PORT]
            if len(connections) != 1:
                raise RunFailed(
                    "tcp.several-connections",
                    f"{path} has {len(connections)} connections with port {PORT}, not the download's one",
                )
            return time_sequence(connections[0])
        except (NotACapture, Incomplete) as error:
            raise RunFailed(
                "tcp.packets-missing", f"the download's packets are incomplete ({error}); see {path}"
            ) from error


def _why_limited(kernel: Mapping[str, Any]) -> Message:
    if kernel["limited"] is None:
        return Message(
            "kernel.window-unknown", f"what window this kernel offers in a new connection is unknown: {kernel['why']}"
        )
    return Message(
        "kernel.window-limited",
        f"this kernel limits the initial receive window to 64 KiB: for a receive buffer of {kernel['asked_bytes']:,} "
        f"bytes it offers {kernel['offered_bytes']:,}",
    )


def _result(path: Path) -> dict[str, Any]:
    """The result that an end printed; raises :class:`RunFailed` where it is none, or one of a failure."""
    try:
        result: dict[str, Any] = json.JSONDecoder().raw_decode(path.read_text())[0]
    except (OSError, ValueError) as error:
        raise RunFailed("tcp.no-download-result", f"tcp-download left no result ({error}); see {path}") from error
    if result["error"]:
        raise RunFailed("tcp.download-failed", f"tcp-download: {result['error']}; see {path}")
    return result


def _own(result: Mapping[str, Any]) -> dict[str, Any]:
    """An end's report without the run's own entries."""
    theirs = {"role", "error", "started_unix_ns", "finished_unix_ns", "duration_s", "goodput_bps"}
    return {name: value for name, value in result.items() if name not in theirs}


TRAFFIC = DownloadTransfer
