"""One transfer after another over a network that is up: both ends on their hosts, a capture at each, and the verdict
from all of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass

from testbed.documents import write_json
from testbed.errors import RunFailed
from testbed.judge.status import Status
from testbed.plan.codes import FOLDER
from testbed.plan.model import Plan, Role, host_of
from testbed.runtime.agents import Agent, AgentPlace, ProcessAgent
from testbed.runtime.network import Network
from testbed.runtime.packets import SETTLE_S, Capture
from testbed.runtime.parts import Failure
from testbed.runtime.progress import Ended, SoFar, Step
from testbed.runtime.site import Site
from testbed.runtime.transfer import await_ready, watch_transfer
from testbed.traffic.interop.judge import ENDS, OfEnds, OfPackets, judge
from testbed.traffic.interop.pairings import Pairing, pairing_plans
from testbed.traffic.ncp import Ncp

READY_S = 20.0
TRACE_S = 120.0
CELLS = "cells"
MARKS = {Status.PASS: "✓", Status.FAIL: "✕", Status.UNTRUSTED: "?"}
NOT_RUN = "–"
LEGEND = (
    "✓: both ends and the packets at both ends say that the payload arrived whole and that the protocol was kept; "
    "the figure is MiB/s of payload. ✕: one of them does not. ?: the packets can't be told. –: not run."
)


@dataclass(frozen=True)
class PairingResult:
    """A pairing that was run: ``cell.json``, and a cell in ``interop.json``."""

    sender: str
    receiver: str
    connections: int
    loss: float
    status: Status
    reasons: list[str]
    goodput_bps: float | None
    """Payload bits per second from the first data packet to the last acknowledgement, as the sender's packets show
    them; None where they don't."""
    transfer_bytes: int
    folder: str
    ends: OfEnds
    """The report of each end."""
    packets: OfPackets | None
    """``ncp-trace``'s facts of the capture at each end."""

    @classmethod
    def of(
        cls,
        pairing: Pairing,
        folder: Path,
        transfer_bytes: int,
        judged: tuple[Status, list[str]],
        reports: OfEnds,
        packets: OfPackets | None,
    ) -> PairingResult:
        """The result by its verdict, the reports of the ends and the facts in the packets."""
        sent = packets["sender_end"] if packets else {}
        return cls(
            *(pairing.sender, pairing.receiver, pairing.connections, pairing.loss),
            *judged,
            goodput_bps=sent["payload_bytes"] * 8000 / sent["lasted_ms"] if sent.get("lasted_ms") else None,
            transfer_bytes=transfer_bytes,
            folder=str(folder),
            ends=reports,
            packets=packets,
        )

    @property
    def text(self) -> str:
        """The mark of its status, and the goodput in MiB/s."""
        return MARKS[self.status] + (f" {self.goodput_bps / 8 / 2**20:.2f}" if self.goodput_bps else "")


class Pairings(Ncp):
    """One after another, in place of the session that the network's plan has. ``results`` is the result folder of the
    matrix."""

    def __init__(self, site: Site, pairings: Sequence[Pairing], results: Path) -> None:
        super().__init__(site)
        self.pairings, self.results, self.own = pairings, results, Path()

    @classmethod
    def sockets(cls, plan: Plan) -> Iterator[dict[str, str]]:  # noqa: ARG003
        """Packets are captured."""
        return iter(())

    def places(self, own: Path, credentials: Path | None) -> list[AgentPlace]:
        """Each pairing starts its own."""
        self.own = own
        return []

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        """No session of the plan's."""
        return None

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        """All of them, each once: what can't be trusted is the network, which they share."""
        of = len(self.pairings)
        for number, pairing in enumerate(self.pairings, start=1):
            result = self._run(pairing, network, failures)
            goodput = " MiB/s" if result.goodput_bps else ""
            why = "".join(f"\n      {reason}" for reason in result.reasons)
            left_s = step.elapsed_s / number * (of - number)
            ended = Ended(pairing.title, "", f"{result.text}{goodput}{why}", kept=False)
            self.site.progress.run_ended(ended, SoFar(number, of, left_s))

    def _run(self, pairing: Pairing, network: Network, failures: Sequence[Failure]) -> PairingResult:
        """Runs the pairing to its verdict, which an end that fails is too. Nothing of it runs on when this returns."""
        own = Path(CELLS, pairing.folder, self.site.plan["run"])
        folder = self.results / own
        folder.mkdir(parents=True)
        plans = pairing_plans(self.site.plan, pairing)
        ends = _ends(pairing, plans, self.own, folder)
        failure, namespaces = "", network.namespaces()
        captures: dict[Role, Capture] = {}
        with ExitStack() as parts:
            for end in ENDS:
                file, log = folder / f"{end}.pcap", folder / f"{end}-capture.log"
                captures[end] = Capture(parts, end, namespaces[ends[end].host], file, log)
                captures[end].await_frames()
            parts.callback(time.sleep, SETTLE_S)
            agents: list[ProcessAgent] = []
            try:
                # The receiver first: npm's sender offers its handshake once, and a TCP connection is made once.
                for end in reversed(ENDS):
                    host_pid = network.pid(ends[end].host)
                    agents.append(ProcessAgent(self.site.binaries["ncp-agent"], host_pid, ends[end]))
                    parts.callback(agents[-1].stop)
                    await_ready(agents[-1:], timeout_s=READY_S)
                # A step of its own: a transfer's time limit counts from its beginning.
                watch_transfer(plans["sender"], agents, failures, self.site.progress, Step(pairing.title))
            except RunFailed as error:
                failure = error.message
        if broken := next((said for part in failures if (said := part())), None):
            raise RunFailed.of(broken)  # not the pairing's fault: no further one can be run
        packets, why = _packets(self.site.binaries["ncp-trace"], pairing, folder, captures)
        reports = {end: ends[end].result() for end in ENDS}
        transfer_bytes = plans["sender"]["sessions"][0]["transfer_bytes"]
        judged = judge(transfer_bytes, reports, packets, failure, why)
        for end in ENDS:
            shutil.rmtree(ends[end].control)
        result = PairingResult.of(pairing, own, transfer_bytes, judged, reports, packets)
        write_json(folder / "cell.json", asdict(result))
        return result


def _ends(pairing: Pairing, plans: Mapping[Role, Plan], own: Path, folder: Path) -> dict[Role, AgentPlace]:
    ends: dict[Role, AgentPlace] = {}
    for end, plan in plans.items():
        file = folder / f"{end}-plan.json"
        write_json(file, plan)
        control, log = own / f"{pairing.session}-{end}", folder / f"{end}.log"
        host = host_of(plan["sessions"][0], end)
        by_node = FOLDER if end in plan["sessions"][0].get("code", ()) else None
        ends[end] = AgentPlace(host, end, pairing.session, file, folder / end, control, None, log, by_node=by_node)
        ends[end].prepare()
    return ends


def _packets(trace: Path, pairing: Pairing, folder: Path, captures: Mapping[Role, Capture]) -> tuple[Any, str]:
    """Facts in the packets, or None and the reason why they are unknown."""
    for end, capture in captures.items():
        if frames := capture.lost():
            return None, f"the capture at the {end} missed {frames} frames"
    command = [str(trace), "--session", pairing.session]
    for end in ENDS:
        command += [f"--{end}-plan", str(folder / f"{end}-plan.json")]
        command += [f"--{end}-capture", str(folder / f"{end}.pcap")]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TRACE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"ncp-trace took longer than {TRACE_S:g} s"
    if done.returncode:
        return None, done.stderr.strip()
    return json.loads(done.stdout), ""
