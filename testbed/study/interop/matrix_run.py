"""A run of the matrix, as a study: for each loss a network, which is an ordinary run whose traffic is the cells, one
after another.

What can be trusted or not, and is made again, is a network with all of its cells, as these share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from testbed import engines, paths
from testbed.documents import read_json, write_json
from testbed.engines import Engine, Options, Programs, provenance
from testbed.engines.mininet.lifecycle import EmulatedRun
from testbed.errors import TestbedError
from testbed.judge.checks.result import Trust
from testbed.judge.status import Status
from testbed.machine import Need
from testbed.plan.default_engine import DEFAULT
from testbed.planning.resolve import Choices
from testbed.runtime.agents import Agent, AgentPlace
from testbed.runtime.completion import Failure
from testbed.runtime.network import Network
from testbed.runtime.progress import Ended, Progress, SoFar, Step
from testbed.scenario.load import LoadedScenario
from testbed.study import cell as study
from testbed.study.cell import ready
from testbed.study.interop.cell_run import CellResult, Place, run_cell
from testbed.study.interop.cells import Cell, loss_words
from testbed.study.interop.facts import versions
from testbed.study.interop.plans import load_network
from testbed.study.interop.report import write_report
from testbed.study.interop.verdict import MARKS, Outcome
from testbed.study.job import when_free
from testbed.study.ledger import begin, kept_when_stopped
from testbed.study.record import RunRecord
from testbed.study.run import run_cells
from testbed.traffic import Site
from testbed.traffic.ncp import Ncp

NAME = "interop"


@dataclass
class Matrix:
    """The networks, by their loss."""

    cells: Sequence[Cell]
    networks: Mapping[float, LoadedScenario]
    engine: Engine
    programs: Programs
    choices: Choices
    folder: Path
    """The result folder."""
    progress: Progress
    results: dict[Cell, CellResult] = field(default_factory=dict)
    """Of the latest attempt at each cell, also where its network broke down."""
    noted: dict[str, Any] = field(default_factory=dict)
    """Of each network, for provenance."""

    trusts: dict[float, Trust] = field(default_factory=dict)
    """Whether a network can be trusted, of those that were made."""

    def make(self, key: float) -> Trust:
        """Build, measure, run the cells, take down."""
        loaded, cells = self.networks[key], self.on(key)
        plan = self.engine.plan(loaded, self.programs, self.choices)
        run = EmulatedRun(plan, loaded, self.programs.binaries, self.progress, self._place(key))
        run.traffic = Meetings(run.traffic.site, self, cells)
        self.noted[loss_words(key)] = run.provenance
        waiting = Step("waiting")
        trust = when_free(run.measure, lambda name: self.progress.update(waiting, name))
        results = [self.results[cell].as_json() for cell in cells]
        kept = {"trust": trust.model_dump(), "cells": results, "noted": run.provenance}
        write_json(self._place(key) / "network.json", kept)
        self.trusts[key] = trust
        return trust

    def earlier(self, key: float) -> Trust | None:
        """By its ``network.json``."""
        path = self._place(key) / "network.json"
        if not path.is_file():
            return None
        kept = read_json(path)
        for cell, document in zip(self.on(key), kept["cells"], strict=True):
            self.results[cell] = CellResult.from_json(cell, document)
        self.noted[loss_words(key)] = kept["noted"]
        self.trusts[key] = Trust(**kept["trust"])
        return self.trusts[key]

    def untrusted(self, key: float, found: Trust) -> bool:
        """By the links and the machine, and where the packets of a cell can't be told."""
        return not found.trusted or any(
            self.results[cell].judgement.status == Status.UNTRUSTED for cell in self.on(key)
        )

    def described(self, key: float) -> str:
        """How many cells pass, and what can't be trusted."""
        results = [self.results[cell] for cell in self.on(key)]
        passed = sum(result.judgement.status == Status.PASS for result in results)
        return "; ".join([f"{passed} of {len(results)} pass", *self.trusts[key].reasons])

    def on(self, loss: float) -> list[Cell]:
        """The cells of one network."""
        return [cell for cell in self.cells if cell.loss == loss]

    def execute(self) -> Outcome:
        """Run all cells and write the result folder; raises :class:`TestbedError` where that broke down."""
        networks = {cell.id: cell for cell in (NetworkCell(self, loss) for loss in self.networks)}
        broken, off = "", ()
        try:
            with kept_when_stopped(self.progress, f"To go on: the same command with --resume {self.folder.name}"):
                run_cells(
                    list(networks.values()),
                    self.folder,
                    self.progress,
                    describe=lambda result: self.described(networks[result.cell].loss),
                )
        except Exception as error:
            broken = error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"
            off = getattr(error, "reasons", ())
            raise
        finally:
            of_networks = [why.at(loss_words(loss)) for loss, trust in self.trusts.items() for why in trust.said]
            outcome = self._write(Trust.of([*off, *of_networks]), broken)
        return outcome

    def _write(self, trust: Trust, broken: str) -> Outcome:
        facts: dict[str, Any] = {
            "run": self.folder.name,
            "versions": versions(),
            "networks": self.noted,
            **provenance.of_machine_and_code(),
            "seconds": self.progress.seconds,
        }
        write_json(self.folder / "provenance.json", facts)
        results = [self.results[cell] for cell in self.cells if cell in self.results]
        outcome = Outcome.of(self.folder.name, self.cells, results, trust, broken)
        write_report(outcome, self.folder)
        return outcome

    def _place(self, loss: float) -> Path:
        return self.folder / f"network-{loss_words(loss)}".replace(" ", "-")


class Meetings(Ncp):
    """The cells on one network, in place of the session that its plan has."""

    def __init__(self, site: Site, matrix: Matrix, cells: Sequence[Cell]) -> None:
        super().__init__(site)
        self.matrix, self.cells, self.own = matrix, cells, Path()

    @classmethod
    def sockets(cls, plan: Any) -> Iterator[dict[str, str]]:  # noqa: ARG003
        """Packets are captured."""
        return iter(())

    def places(self, own: Path, credentials: Path | None) -> list[AgentPlace]:
        """Each cell starts its own."""
        self.own = own
        return []

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        """No session of the plan's."""
        return None

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        """All cells."""
        folder, plan = self.matrix.folder / "cells", self.site.plan
        place = Place(network, plan, dict(self.site.binaries), self.own, folder, failures)
        progress, results = self.site.progress, self.matrix.results
        for number, cell in enumerate(self.cells, 1):  # each a step of its own: a time limit counts from its beginning
            results[cell] = run_cell(cell, place, progress, Step(cell.title))
            so_far = SoFar(number, len(self.cells), 0.0)
            progress.run_ended(Ended(cell.title, "", _described(results[cell]), kept=False), so_far)


def _described(found: CellResult) -> str:
    """Mark, goodput and what is wrong."""
    goodput = f" {found.goodput_bps / 8 / 2**20:.2f} MiB/s" if found.goodput_bps else ""
    why = "".join(f"\n      {reason}" for reason in found.judgement.reasons)
    return f"{MARKS[found.judgement.status]}{goodput}{why}"


@dataclass(frozen=True, eq=False)
class NetworkCell(study.Cell):
    """A network with all pairings on it: what can be trusted or not."""

    matrix: Matrix
    loss: float
    movable = False

    @property
    def at(self) -> Mapping[str, str]:  # type: ignore[override]
        """Its loss."""
        return {"network": loss_words(self.loss)}

    @property
    def label(self) -> str:
        """``network, clean``."""
        return f"network, {loss_words(self.loss)}"

    @property
    def engine(self) -> Engine:
        """Real packets."""
        return self.matrix.engine

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """All of its pairings."""
        return self._record(self.matrix.make(self.loss))

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """By its ``network.json``."""
        found = self.matrix.earlier(self.loss)
        return [self._record(found)] if found else []

    def _record(self, found: Trust) -> RunRecord:
        status = Status.UNTRUSTED if self.matrix.untrusted(self.loss, found) else Status.PASS
        return RunRecord(cell=self.id, status=status, reason="; ".join(found.reasons))


def prepare(cells: Sequence[Cell], settings: Sequence[str], options: Options, resume: str = "") -> Matrix:
    """Ready to be executed; raises for bad input, and a machine that can't, before the result folder is made."""
    losses = dict.fromkeys(cell.loss for cell in cells)
    networks = {loss: load_network(list(settings), loss=loss, quick=options.quick) for loss in losses}
    engine, progress = engines.named(DEFAULT), Progress()
    programs = ready(engine, options, progress, NAME, further=frozenset({Need.PEERS}))
    choices = engine.choices(options)
    for loaded in networks.values():
        engine.refuse(engine.plan(loaded, programs, choices))
    identity = {"cells": [cell.folder for cell in cells], "settings": list(settings), **asdict(options)}
    folder = begin(paths.results() / NAME, "interop", identity, resume)
    (folder / "network.yaml").write_text(next(iter(networks.values())).text)
    progress.say(f"{NAME} {folder.name}: {len(cells)} cells, links by {choices.middle}, results in {folder}")
    return Matrix(cells, networks, engine, programs, choices, folder, progress)
