"""One transfer after another over a network that is up: both ends on their hosts, a capture at each, and the verdict
from all of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from testbed.documents import read_json, write_json
from testbed.errors import RunFailed
from testbed.judge.status import Status
from testbed.plan.model import Plan, Role, host_of
from testbed.runtime.agents import Agent, AgentPlace, ProcessAgent
from testbed.runtime.completion import Failure
from testbed.runtime.network import Network
from testbed.runtime.packets import SETTLE_S, Capture
from testbed.runtime.progress import Ended, SoFar, Step
from testbed.runtime.site import Site
from testbed.runtime.transfer import await_ready, watch_transfer
from testbed.traffic.interop.judge import ENDS, Evidence, Judgement, judge
from testbed.traffic.interop.pairings import OURS, PEERS, Pairing
from testbed.traffic.interop.plans import FOLDER, pairing_plans
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


class CellEntry(TypedDict):
    """A cell in ``interop.json``, and ``cell.json``."""

    sender: str
    receiver: str
    connections: int
    loss: float
    status: Status
    reasons: list[str]
    goodput_bps: float | None
    transfer_bytes: int
    folder: str
    ends: dict[str, dict[str, Any] | None]
    """The report of each end, without its samples."""
    packets: Mapping[str, Mapping[str, Any]] | None
    """``ncp-trace``'s facts of the capture at each end."""


@dataclass(frozen=True)
class PairingResult:
    """A pairing that was run."""

    pairing: Pairing
    judgement: Judgement
    evidence: Evidence
    run: str = ""
    """The network's run that it was made in."""

    @property
    def goodput_bps(self) -> float | None:
        """Payload bits per second from the first data packet to the last acknowledgement, as the sender's packets
        show them; None where they don't."""
        facts = (self.evidence.packets or {}).get("sender_end")
        if not facts or not facts["lasted_ms"]:
            return None
        return float(facts["payload_bytes"]) * 8000 / float(facts["lasted_ms"])

    @property
    def text(self) -> str:
        """The mark of its status, and the goodput in MiB/s."""
        goodput = f" {self.goodput_bps / 8 / 2**20:.2f}" if self.goodput_bps else ""
        return MARKS[self.judgement.status] + goodput

    def as_json(self) -> CellEntry:
        """The cell in ``interop.json``."""
        pairing = self.pairing
        return {
            "sender": pairing.sender,
            "receiver": pairing.receiver,
            "connections": pairing.connections,
            "loss": pairing.loss,
            "status": self.judgement.status,
            "reasons": self.judgement.reasons,
            "goodput_bps": self.goodput_bps,
            "transfer_bytes": self.evidence.transfer_bytes,
            "folder": str(Path(CELLS, pairing.folder, self.run)),
            "ends": {end: _without_samples(self.evidence.results[end]) for end in ENDS},
            "packets": self.evidence.packets,
        }

    @classmethod
    def latest(cls, pairing: Pairing, results: Path) -> PairingResult | None:
        """The result of the last attempt, also where its network broke down afterwards; None where none finished.
        ``results`` is the result folder of the matrix."""
        files = sorted((results / CELLS / pairing.folder).glob("*/cell.json"))
        if not files:
            return None
        entry = read_json(files[-1])
        evidence = Evidence(entry["transfer_bytes"], entry["ends"], entry["packets"])
        return cls(pairing, Judgement(Status(entry["status"]), entry["reasons"]), evidence, files[-1].parent.name)


def _without_samples(result: Any) -> Any:
    return {key: value for key, value in result.items() if key != "samples"} if result else None


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
            why = "".join(f"\n      {reason}" for reason in result.judgement.reasons)
            left_s = step.elapsed_s / number * (of - number)
            ended = Ended(pairing.title, "", f"{result.text}{goodput}{why}", kept=False)
            self.site.progress.run_ended(ended, SoFar(number, of, left_s))

    def _run(self, pairing: Pairing, network: Network, failures: Sequence[Failure]) -> PairingResult:
        """Runs the pairing to its verdict, which an end that fails is too. Nothing of it runs on when this returns."""
        run = self.site.plan["run"]
        folder = self.results / CELLS / pairing.folder / run
        folder.mkdir(parents=True)
        plans = pairing_plans(self.site.plan, pairing)
        ends = _ends(pairing, plans, self.own, folder)
        failure = ""
        with ExitStack() as parts:
            captures = _start_captures(parts, network, ends, folder)
            agents: list[ProcessAgent] = []
            try:
                # The receiver first: npm's sender offers its handshake once, and a TCP connection is made once.
                for end in reversed(ENDS):
                    host_pid = network.pid(ends[end].host)
                    agents.append(_agent(getattr(pairing, end), self.site.binaries["ncp-agent"], host_pid, ends[end]))
                    parts.callback(agents[-1].stop)
                    await_ready(agents[-1:], timeout_s=READY_S)
                # A step of its own: a transfer's time limit counts from its beginning.
                watch_transfer(plans["sender"], agents, failures, self.site.progress, Step(pairing.title))
            except RunFailed as error:
                failure = error.message
            finally:
                for agent in agents:
                    agent.stop()
            lost = _end_captures(captures)
        if broken := next((said for part in failures if (said := part())), None):
            raise RunFailed.of(broken)  # not the pairing's fault: no further one can be run
        packets, why = _packets(self.site.binaries["ncp-trace"], pairing, folder, lost)
        results = {end: ends[end].result() for end in ENDS}
        evidence = Evidence(plans["sender"]["sessions"][0]["transfer_bytes"], results, packets, failure, why)
        for end in ENDS:
            shutil.rmtree(ends[end].control)
        result = PairingResult(pairing, judge(evidence), evidence, run)
        write_json(folder / "cell.json", result.as_json())
        return result


def _ends(pairing: Pairing, plans: Mapping[Role, Plan], own: Path, folder: Path) -> dict[Role, AgentPlace]:
    ends: dict[Role, AgentPlace] = {}
    for end, plan in plans.items():
        file = folder / f"{end}-plan.json"
        write_json(file, plan)
        control, log = own / f"{pairing.session}-{end}", folder / f"{end}.log"
        host = host_of(plan["sessions"][0], end)
        ends[end] = AgentPlace(host, end, pairing.session, file, folder / end, control, None, log)
        ends[end].prepare()
    return ends


def _agent(implementation: str, agent: Path, host_pid: int, place: AgentPlace) -> ProcessAgent:
    if implementation == OURS:
        return ProcessAgent(agent, host_pid, place)
    package = PEERS[implementation]
    return ProcessAgent(FOLDER, host_pid, place, lambda seen: ["node", str(seen / "peer.js"), "--package", package])


def _start_captures(
    parts: ExitStack, network: Network, ends: dict[Role, AgentPlace], folder: Path
) -> dict[Role, Capture]:
    namespaces = network.namespaces()
    captures: dict[Role, Capture] = {}
    for end in ENDS:
        capture = Capture(end, namespaces[ends[end].host], folder / f"{end}.pcap", folder / f"{end}-capture.log")
        parts.callback(capture.stop)
        captures[end] = capture
    for capture in captures.values():
        capture.await_ready()
    return captures


def _end_captures(captures: dict[Role, Capture]) -> dict[Role, int]:
    """Frames that each capture missed."""
    time.sleep(SETTLE_S)
    for capture in captures.values():
        capture.stop()
    return {end: capture.lost() for end, capture in captures.items()}


def _packets(trace: Path, pairing: Pairing, folder: Path, lost: dict[Role, int]) -> tuple[Any, str]:
    """Facts in the packets, or None and the reason why they are unknown."""
    for end, frames in lost.items():
        if frames:
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
