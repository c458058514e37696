"""The peer that a user would pick instead of NCP: the kernel's MPTCP with iperf3, over the same links.

A run as any other (network, calibration, collectors, trust, verdict), but instead of agents an iperf3 that
``mptcpize`` turns to MPTCP: its first subflow goes over the first link, the server announces its addresses on the
others (RFC 8684, ADD_ADDR), and the client joins to each.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.machine.need import Need
from testbed.message import Message
from testbed.plan.model import Connection, Plan, Role, Session
from testbed.runtime import iperf3
from testbed.runtime.agents import Agent
from testbed.runtime.host_settings import BUFFERS, read_counters
from testbed.runtime.network import Network
from testbed.runtime.parts import Failure
from testbed.runtime.processes import Supervised
from testbed.runtime.progress import Step
from testbed.traffic.traffic import Traffic, address_of, from_any_port
from topologies.commands import CommandFailed, in_namespace, run

BY_MPTCP = ("mptcpize", "run")
BEYOND_BYTES = 4 << 20
"""Bytes beyond the transfer, as iperf3 ends when the last byte is in the socket: at most tcp_wmem's largest."""
MOST_LINKS = 8
"""Addresses that the kernel's path manager keeps at most (MPTCP_PM_ADDR_MAX)."""
SETTINGS = tuple(f"{name}={value}" for name, value in BUFFERS.items())

RULE = "the kernel's MPTCP; its packet scheduler and congestion control are in provenance.json"


class Mptcp(Traffic):
    """iperf3 by MPTCP, between the hosts of the plan's session."""

    needs = frozenset({Need.MPTCP})
    poll_s = 0.25
    _started_unix_ns: int | None = None

    @classmethod
    def why_unsupported(cls) -> str | None:
        enabled = Path("/proc/sys/net/mptcp/enabled")
        if not enabled.exists():
            return "this kernel has no MPTCP (CONFIG_MPTCP)"
        if enabled.read_text().strip() != "1":
            return "MPTCP is switched off (sysctl net.mptcp.enabled=1)"
        missing = [program for program in ("mptcpize", "iperf3") if shutil.which(program) is None]
        return f"{missing[0]} is not installed" if missing else None

    @classmethod
    def in_place_of_ncp(cls, plan: Plan, congestion_control: str | None) -> Plan:
        """A plan with the same links and bytes, and checks of its own beside those of any sender over
        several paths."""
        own = plan["sessions"][0]
        # As the collectors look for its sockets: plain TCP's, from any port to iperf3's.
        connections: list[Connection] = [
            {**connection, "receiver": f"{address_of(connection['receiver'])}:{iperf3.PORT}"}
            for connection in own["connections"]
        ]
        session: Session = {
            **own,
            "policy": "mptcp",
            "policy_facts": {"name": "mptcp", "cap_packets": None, "rule": RULE},
            "carrier": "mptcp",
            "transport": "tcp",
            "connections": connections,
            "congestion_control": congestion_control,
        }
        checks = [
            {"name": "every link carried a part", "judge": "mptcp_carried"},
            *(check for check in plan["checks"] if check["judge"] == "multipath"),
            {"name": "database", "judge": "points_stored"},
        ]
        return {**plan, "runtime": "process", "sessions": [session], "checks": checks}

    @classmethod
    def ends_of(cls, session: Session, connection: Connection) -> tuple[str, str]:  # noqa: ARG003
        return from_any_port(connection["sender"]), connection["receiver"]

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        """The client's start."""
        return self._started_unix_ns

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        session, provenance = self.site.session, self.site.provenance
        namespaces = network.namespaces()
        client, server = namespaces[session["sender_host"]], namespaces[session["receiver_host"]]
        provenance["mptcp"] = _prepare(client, server, session)
        said = self._iperf3(client, server, failures, step)
        connections, span_ns = _results(session, *said)
        counters = {
            name.removeprefix("MPTcpExt."): count
            for name, count in read_counters(client).items()
            if name.startswith("MPTcpExt.") and count
        }
        provenance["mptcp"] |= {"counters": counters, "subflows": connections}
        common = {"policy": "mptcp", "bytes": session["transfer_bytes"]}
        goodput_bps = session["transfer_bytes"] * 8e9 / (span_ns[1] - span_ns[0])
        ends: dict[Role, dict[str, Any]] = {
            "sender": {**common, "connections": connections},
            "receiver": {**common, "goodput_bps": goodput_bps},
        }
        words = ("iperf3 over MPTCP starts", "the last byte asked for arrived")
        self.site.write_ends(session, span_ns, words, ends)
        step.note = f"{goodput_bps / 8 / 2**20:.3f} MiB/s by MPTCP"

    def _iperf3(
        self, client: str, server: str, failures: Sequence[Failure], step: Step
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]], int]:
        """The server's own JSON, the subflows' last counters by local address, when it started (Unix ns)."""
        session = self.site.session
        server_json, client_json = (self.site.folder / f"iperf3-{end}.json" for end in ("server", "client"))
        # The addresses are IPv4's; a kernel may have MPTCP without IPv6.
        command = iperf3.server(iperf3.PORT, "--version4", "--interval", "0.1", "--json")
        subflows: dict[str, dict[str, Any]] = {}
        with ExitStack() as ends:
            listening = Supervised("iperf3 server", [*BY_MPTCP, *command], server_json, namespace=server)
            ends.callback(listening.end)
            listening.await_listening(server, iperf3.PORT)
            chosen = session["congestion_control"]
            started_ns = self._started_unix_ns = time.time_ns()
            options = ["--bytes", str(session["transfer_bytes"] + BEYOND_BYTES), "--interval", "0", "--json"]
            options += ["--congestion", chosen] if chosen else []
            command = iperf3.client(_address(session, "receiver"), iperf3.PORT, *options)
            sending = Supervised("iperf3 client", [*BY_MPTCP, *command], client_json, namespace=client)
            ends.callback(sending.end)
            self.watch(
                lambda: sending.has_ended() and listening.has_ended(),
                step,
                failures,
                look=lambda: _sample(client, subflows),
                too_long=lambda: Message("mptcp.timeout", f"iperf3 over MPTCP did not end in time; see {client_json}"),
                shown=lambda: "MPTCP",
                beyond_s=BEYOND_BYTES / 1e5,
            )
        iperf3.read_result(client_json)  # what went wrong there says more than the server's
        return iperf3.read_result(server_json), subflows, started_ns


def _address(session: Session, role: Role, connection: int = 0) -> str:
    return address_of(session["connections"][connection][role])


def _prepare(client: str, server: str, session: Session) -> dict[str, Any]:
    """Buffers, path manager and announced addresses; returns what the kernel will use."""
    others = len(session["connections"]) - 1
    if others >= MOST_LINKS:
        raise RunFailed(
            "mptcp.too-many-links",
            f"the kernel's path manager keeps {MOST_LINKS} addresses; {others + 1} links are too many",
        )
    for namespace in (client, server):
        run(in_namespace(namespace, ["sysctl", "-qw", "net.mptcp.enabled=1", *SETTINGS]))
        limits = ["subflow", str(max(others, 1)), "add_addr_accepted", str(max(others, 1))]
        run(in_namespace(namespace, ["ip", "mptcp", "limits", "set", *limits]))
    for number in range(1, others + 1):
        address = _address(session, "receiver", number)
        run(in_namespace(server, ["ip", "mptcp", "endpoint", "add", address, "signal"]))
    facts: dict[str, Any] = {"asked_congestion_control": session["congestion_control"]}
    for name in ("net.mptcp.scheduler", "net.mptcp.path_manager", "net.ipv4.tcp_congestion_control"):
        try:
            facts[name] = run(in_namespace(client, ["sysctl", "-n", name])).strip()
        except CommandFailed:
            facts[name] = "not told by this kernel"
    return facts | {"settings": list(SETTINGS)}


_ENDS = re.compile(r"(\d+\.\d+\.\d+\.\d+)[^ ]*:(\d+)\s+(\d+\.\d+\.\d+\.\d+)[^ ]*:(\d+)")


def _sample(namespace: str, subflows: dict[str, dict[str, Any]]) -> None:
    """Note each subflow's counters, by local address and port."""
    # A race with the end of a socket is no reason to end the run.
    command = in_namespace(namespace, ["ss", "-HtinO", f"dport = :{iperf3.PORT}"])
    reported = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for line in reported.splitlines():
        ends, acked = _ENDS.search(line), re.search(r"bytes_acked:(\d+)", line)
        if ends and acked:
            algorithm = re.search(r"(\w+) wscale:", line)
            subflows[f"{ends[1]}:{ends[2]}"] = {
                "local": ends[1],
                "acked_bytes": int(acked[1]),
                "congestion_control": algorithm[1] if algorithm else "",
            }


def completion_s(intervals: Sequence[Mapping[str, Any]], wanted_bytes: int) -> float | None:
    """Seconds until ``wanted_bytes`` had arrived, by the server's intervals; None if they never did.

    Within the interval in which they did, bytes count as arriving evenly.
    """
    before = 0
    for interval in intervals:
        got, start, end = int(interval["bytes"]), float(interval["start"]), float(interval["end"])
        if before + got >= wanted_bytes:
            return start + (end - start) * (wanted_bytes - before) / got
        before += got
    return None


def _results(
    session: Session, said: Mapping[str, Any], subflows: Mapping[str, Mapping[str, Any]], started_ns: int
) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    """The sender's connections in the form of agents, and the time from start to the last byte."""
    expected = int(session["transfer_bytes"])
    intervals = [interval["sum"] for interval in said["intervals"]]
    duration_s = completion_s(intervals, expected)
    if duration_s is None:
        got = sum(int(interval["bytes"]) for interval in intervals)
        raise RunFailed("mptcp.bytes-missing", f"{got:,} of {expected:,} bytes arrived over MPTCP")
    connections = []
    for number, connection in enumerate(session["connections"]):
        local = _address(session, "sender", number)
        mine = [s for s in subflows.values() if s["local"] == local]
        largest = max(mine, key=lambda s: int(s["acked_bytes"]), default={"congestion_control": ""})
        connections.append(
            {
                "index": connection["index"],
                "link": connection["link"],
                "acked_bytes": sum(int(s["acked_bytes"]) for s in mine),
                # Of the socket with the data; iperf3's control connection keeps the default.
                "congestion_control": str(largest["congestion_control"]),
            }
        )
    return connections, (started_ns, started_ns + round(duration_s * 1e9))


TRAFFIC = Mptcp
