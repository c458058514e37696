"""A run of the matrix: for each loss a network, measured before it is used, and its cells one after another.

Whatever fails, what the run made is removed in reverse order and the cells that were run are kept.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from collectors.host_load import HostLoad
from testbed import engines, paths
from testbed.checks.result import Trust
from testbed.engines import Engine
from testbed.errors import RunFailed, TestbedError
from testbed.interop.cell_run import CellResult, Place, run_cell
from testbed.interop.cells import Cell, loss_words
from testbed.interop.facts import versions
from testbed.interop.report import write_report
from testbed.interop.verdict import MARKS, Outcome
from testbed.plan.model import Plan
from testbed.runner import calibration, live, provenance
from testbed.runner.interrupts import interruptible, uninterruptible
from testbed.runner.network import Network, relay_middle
from testbed.runner.progress import Progress, Step
from testbed.runner.trust import judge_trust, lossy_interfaces
from testbed.study.executor import Study
from testbed.study.folder import make_latest
from testbed.traffic.ncp import Ncp

NAME = "interop"


@dataclass(frozen=True)
class Asked:
    """What is run: the networks' plans by their loss, and the cells of all of them."""

    run: str
    namespace: str
    plans: dict[float, Plan]
    cells: Sequence[Cell]
    scenario_text: str


class Matrix:
    """One run of the matrix on this machine."""

    def __init__(self, asked: Asked, binaries: dict[str, Path], progress: Progress) -> None:
        self.asked, self.binaries, self.progress = asked, binaries, progress
        self.folder = paths.results() / NAME / asked.run
        self.results: list[CellResult] = []
        self.distrust: list[str] = []
        self.provenance: dict[str, Any] = {"run": asked.run, "versions": versions(), "networks": {}}

    def execute(self) -> Outcome:
        """Run all cells and write the result folder; raises :class:`TestbedError` where that broke down."""
        with ExitStack() as stack:
            own = stack.enter_context(live.only_run(self.asked.run, NAME, self.asked.namespace))
            stack.enter_context(interruptible())
            self.folder.mkdir(parents=True)
            (self.folder / "network.yaml").write_text(self.asked.scenario_text)
            make_latest(self.folder)
            broken = ""
            try:
                for loss, plan in self.asked.plans.items():
                    self._on_a_network(loss, plan, own)
            except Exception as error:
                broken = error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"
                self.distrust += getattr(error, "reasons", [])
                raise
            finally:
                outcome = self._write(broken)
            return outcome

    def _on_a_network(self, loss: float, plan: Plan, own: Path) -> None:
        """Make a network, measure it, run its cells; it is gone when this returns or raises."""
        folder = self.folder / f"network-{loss_words(loss)}".replace(" ", "-")
        folder.mkdir()
        with ExitStack() as parts:
            try:
                self._cells_of(parts, loss, plan, own, folder)
            finally:
                with uninterruptible():
                    parts.close()

    def _cells_of(self, parts: ExitStack, loss: float, plan: Plan, own: Path, folder: Path) -> None:
        noted: dict[str, Any] = {}
        self.provenance["networks"][loss_words(loss)] = noted
        with self.progress.step(f"network, {loss_words(loss)}") as step:
            network = self._build(parts, plan, folder)
            readings = calibration.calibrate(
                plan,
                folder / "plan.json",
                self.binaries["ncp-link"],
                network.namespaces(),
                folder / "probe.log",
                folder / "links.csv",
            )
            noted["calibration"] = [asdict(reading) for reading in readings]
            noted["middle"] = network.middle.facts()
            noted["sysctls"] = provenance.sysctls(network.namespaces())
            step.note = calibration.summary(readings)
        host_load = HostLoad(folder / "host_load.lp", self.asked.run, NAME, 0.1)
        host_load.start()
        parts.callback(host_load.stop)
        place = Place(network, plan, self.binaries, own, self.folder / "cells", [network.middle.failed])
        with self.progress.step(f"cells, {loss_words(loss)}") as step:
            cells = [cell for cell in self.asked.cells if cell.loss == loss]
            found = Cells(engines.of(plan), self.progress, place, self.results).run(cells)
            passed = sum(result.judgement.status == "pass" for result in found.values())
            step.note = f"{passed} of {len(cells)} pass"
        noted["qdiscs_after"] = qdiscs = network.qdiscs()
        host_load.stop()
        network.middle.stop()
        trust = judge_trust(
            plan["limits"],
            relay=self._relay_result(plan, folder),
            idle=host_load.idle,
            qdiscs=qdiscs,
            lossy=lossy_interfaces(plan),
            longest_busy_s=host_load.longest_busy_s,
        )
        self.distrust += [f"{loss_words(loss)}: {reason}" for reason in trust.reasons]

    def _build(self, parts: ExitStack, plan: Plan, folder: Path) -> Network:
        file = folder / "plan.json"
        file.write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n")
        relay = None
        if plan["middle"] == "relay":
            (folder / "relay").mkdir()
            relay = relay_middle(plan, file, self.binaries["ncp-link"], folder / "relay", None, folder / "relay.log")
        network = Network(plan, relay, Ncp.hosts_tcp(plan))
        parts.callback(network.tear_down)
        network.build()
        network.start_middle()
        return network

    def _relay_result(self, plan: Plan, folder: Path) -> dict[str, Any] | None:
        if plan["middle"] != "relay":
            return None
        try:
            result: dict[str, Any] = json.loads((folder / "relay" / "result.json").read_text())
        except (OSError, ValueError) as error:
            raise RunFailed(f"the link relay left no result ({error}); see {folder / 'relay.log'}") from error
        shutil.copyfile(folder / "relay" / "result.json", folder / "relay.json")
        return result

    def _write(self, broken: str) -> Outcome:
        self.provenance |= {**provenance.of_machine_and_code(), "seconds": self.progress.seconds}
        text = json.dumps(self.provenance, indent=1, ensure_ascii=False) + "\n"
        (self.folder / "provenance.json").write_text(text)
        trust = Trust(trusted=not self.distrust, reasons=self.distrust)
        outcome = Outcome.of(self.asked.run, self.asked.cells, self.results, trust, broken)
        write_report(outcome, self.folder)
        return outcome


@dataclass
class Cells(Study[Cell, CellResult]):
    """The cells of one network. Each is made once: what can't be trusted is the network, which they share."""

    engine: Engine
    progress: Progress
    place: Place
    results: list[CellResult]
    """Of all networks; those of this one are added as they are made."""

    def engine_of(self, key: Cell) -> Engine:
        """That of its network."""
        return self.engine

    def make(self, key: Cell) -> CellResult:
        """A step of its own: a transfer's time limit counts from its beginning."""
        return run_cell(key, self.place, self.progress, Step(key.title))

    def made(self, key: Cell, found: CellResult) -> None:
        """It is kept, whatever becomes of the others."""
        self.results.append(found)

    def attempts(self, key: Cell) -> int:
        """One."""
        return 1

    def name(self, key: Cell) -> str:
        """For people."""
        return key.title

    def told(self, key: Cell, found: CellResult) -> str:
        """Mark, goodput and what is wrong."""
        goodput = f" {found.goodput_bps / 8 / 2**20:.2f} MiB/s" if found.goodput_bps else ""
        why = "".join(f"\n      {reason}" for reason in found.judgement.reasons)
        return f"{MARKS[found.judgement.status]}{goodput}{why}"
