"""One cell of the matrix for real: both ends on their hosts, a capture at each, and the verdict from all of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from testbed.documents import write_json
from testbed.errors import RunFailed
from testbed.judge.status import Status
from testbed.plan.model import Plan, host_of
from testbed.runtime.agents import AgentPlace, ProcessAgent
from testbed.runtime.completion import Failure
from testbed.runtime.network import Network
from testbed.runtime.packets import SETTLE_S, Capture
from testbed.runtime.progress import Progress, Step
from testbed.runtime.transfer import await_ready, watch_transfer
from testbed.study.interop.cells import OURS, PEERS, Cell
from testbed.study.interop.judge import ENDS, Evidence, Judgement, judge
from testbed.study.interop.plans import FOLDER, CellPlans, cell_plans

READY_S = 20.0
TRACE_S = 120.0


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
    """What each end reported, without its samples."""
    packets: Mapping[str, Mapping[str, Any]] | None
    """What ``ncp-trace`` tells of the capture at each end."""


@dataclass(frozen=True)
class CellResult:
    """A cell that was run."""

    cell: Cell
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

    def as_json(self) -> CellEntry:
        """The cell in ``interop.json``."""
        cell = self.cell
        return {
            "sender": cell.sender,
            "receiver": cell.receiver,
            "connections": cell.connections,
            "loss": cell.loss,
            "status": self.judgement.status,
            "reasons": self.judgement.reasons,
            "goodput_bps": self.goodput_bps,
            "transfer_bytes": self.evidence.transfer_bytes,
            "folder": str(Path("cells", cell.folder, self.run)),
            "ends": {end: _without_samples(self.evidence.results[end]) for end in ENDS},
            "packets": self.evidence.packets,
        }

    @classmethod
    def from_json(cls, cell: Cell, document: Mapping[str, Any]) -> CellResult:
        """Reads it."""
        evidence = Evidence(document["transfer_bytes"], document["ends"], document["packets"])
        run = Path(document["folder"]).name
        return cls(cell, Judgement(Status(document["status"]), document["reasons"]), evidence, run)


def _without_samples(result: Any) -> Any:
    return {key: value for key, value in result.items() if key != "samples"} if result else None


@dataclass(frozen=True)
class Place:
    """Where cells are run: a network that is up, and the programs."""

    network: Network
    plan: Plan
    binaries: dict[str, Path]
    own: Path
    """Folder of the control sockets."""
    folder: Path
    """Of the cells' folders."""
    failures: Sequence[Failure]
    """What became of the parts that every cell depends on."""


def run_cell(cell: Cell, place: Place, progress: Progress, step: Step) -> CellResult:
    """Run a cell to its verdict; an end that fails is a verdict too. Nothing of it runs on when this returns."""
    folder = place.folder / cell.folder / place.plan["run"]
    folder.mkdir(parents=True)
    plans = cell_plans(place.plan, cell)
    [session] = plans.sender["sessions"]
    ends = _ends(cell, plans, place.own, folder)
    failure = ""
    with ExitStack() as parts:
        captures = _start_captures(parts, place.network, ends, folder)
        started: list[ProcessAgent] = []
        try:
            # The receiver first: npm's sender offers its handshake once, and a TCP connection is made once.
            for end in reversed(ENDS):
                host_pid = place.network.pid(ends[end].host)
                started.append(_start(getattr(cell, end), place.binaries["ncp-agent"], host_pid, ends[end]))
                parts.callback(started[-1].stop)
                await_ready(started[-1:], timeout_s=READY_S)
            watch_transfer(plans.sender, started, place.failures, progress, step)
        except RunFailed as error:
            failure = error.message
        finally:
            for agent in started:
                agent.stop()
        lost = _end_captures(captures)
    if broken := next((said for part in place.failures if (said := part())), None):
        raise RunFailed.of(broken)  # not the cell's fault: no further cell can be run
    packets, why = _packets(place.binaries["ncp-trace"], cell, folder, lost)
    results = {end: ends[end].result() for end in ENDS}
    evidence = Evidence(session["transfer_bytes"], results, packets, failure, why)
    for end in ENDS:
        shutil.rmtree(ends[end].control)
    result = CellResult(cell, judge(evidence), evidence, place.plan["run"])
    write_json(folder / "cell.json", result.as_json())
    return result


def _ends(cell: Cell, plans: CellPlans, own: Path, folder: Path) -> dict[str, AgentPlace]:
    [session] = plans.sender["sessions"]
    ends = {}
    for end, file in zip(ENDS, plans.write(folder), strict=True):
        ends[end] = AgentPlace(
            host=host_of(session, "sender" if end == "sender" else "receiver"),
            role=end,
            session=cell.session,
            plan=file,
            directory=folder / end,
            control=own / f"{cell.session}-{end}",
            credentials=None,
            log=folder / f"{end}.log",
        )
        ends[end].prepare()
    return ends


def _start(implementation: str, agent: Path, host_pid: int, place: AgentPlace) -> ProcessAgent:
    if implementation == OURS:
        return ProcessAgent(agent, host_pid, place)
    package = PEERS[implementation]
    return ProcessAgent(FOLDER, host_pid, place, lambda seen: ["node", str(seen / "peer.js"), "--package", package])


def _start_captures(
    parts: ExitStack, network: Network, ends: dict[str, AgentPlace], folder: Path
) -> dict[str, Capture]:
    namespaces = network.namespaces()
    captures = {}
    for end in ENDS:
        capture = Capture(end, namespaces[ends[end].host], folder / f"{end}.pcap", folder / f"{end}-capture.log")
        parts.callback(capture.stop)
        captures[end] = capture
    for capture in captures.values():
        capture.await_ready()
    return captures


def _end_captures(captures: dict[str, Capture]) -> dict[str, int]:
    """Frames that each capture missed."""
    time.sleep(SETTLE_S)
    for capture in captures.values():
        capture.stop()
    return {end: capture.lost() for end, capture in captures.items()}


def _packets(trace: Path, cell: Cell, folder: Path, lost: dict[str, int]) -> tuple[Any, str]:
    """What the packets show, or None and why that can't be told."""
    for end, frames in lost.items():
        if frames:
            return None, f"the capture at the {end} missed {frames} frames"
    command = [str(trace), "--session", cell.session]
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
