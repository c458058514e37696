"""The matrix of the agent and npm's implementations as a study: a cell for each loss, which is a network that is run
with the pairings as its traffic.

What can't be trusted, and is run again, is a network with all of its pairings, as these share it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from testbed import engines, paths
from testbed.documents import entry_of, read_json, write_json
from testbed.engines import provenance
from testbed.engines.engine import Options, Programs
from testbed.engines.mininet.run import EmulatedRun
from testbed.judge.checks.result import Trust
from testbed.judge.status import Status, verdict_of
from testbed.machine.machine import program
from testbed.machine.need import Need
from testbed.message import Message
from testbed.plan.engines import DEFAULT
from testbed.planning.resolve import Choices
from testbed.runtime.progress import Progress, Step
from testbed.study.cell import CELLS, Cell, ScenarioCell, ready, said_by, when_free
from testbed.study.record import RunRecord
from testbed.study.report import page
from testbed.study.run import StudySpec, run_study
from testbed.traffic.interop.pairings import Pairing, load_network, loss_words
from testbed.traffic.interop.transfer import LEGEND, NOT_RUN, PairingResult, Pairings

NAME = "interop"
_WORDS = {Status.FAIL: "fail", Status.UNTRUSTED: "can't be judged", Status.MISSING: "were not run"}


class Document(TypedDict):
    """``interop.json``."""

    schema: Literal[2]
    run: str
    verdict: Status
    summary: str
    trust: Annotated[dict[str, Any], entry_of(Trust)]
    broken: str | None
    columns: list[str]
    rows: list[list[str]]
    cells: list[Annotated[dict[str, Any], entry_of(PairingResult)]]


def document_of(run: str, results: Mapping[Pairing, PairingResult | None], trust: Trust, broken: str) -> Document:
    """Results of all requested pairings, None of those that were not run: ``untrusted`` where links or machine can't be
    trusted or packets are unknown, ``pass`` only if every pairing was run and passes. The table has sender and receiver
    down; connections and loss across; ✓, ✕ or ? and MiB/s in each cell."""
    statuses = [result.status if result else Status.MISSING for result in results.values()]
    unknown = [
        Message("interop.untrusted", f"{pairing.title}: {' '.join(result.reasons)}")
        for pairing, result in results.items()
        if result and result.status == Status.UNTRUSTED
    ]
    trust = Trust.of([*trust.said, *unknown])
    summary = f"{statuses.count(Status.PASS)} of {len(statuses)} cells pass"
    for status, word in _WORDS.items():
        summary += f", {statuses.count(status)} {word}" * (status in statuses)
    rows: dict[str, list[str]] = {}
    for pairing, result in results.items():
        head = f"{pairing.sender} → {pairing.receiver}"
        rows.setdefault(head, [head]).append(result.text if result else NOT_RUN)
    across = dict.fromkeys(f"{pairing.connections}, {loss_words(pairing.loss)}" for pairing in results)
    return {
        "schema": 2,
        "run": run,
        "verdict": verdict_of([*statuses, *trust.parts]),
        "summary": summary,
        "trust": trust.model_dump(),
        "broken": broken or None,
        "columns": ["sender → receiver", *across],
        "rows": list(rows.values()),
        "cells": [asdict(result) for result in results.values() if result],
    }


def write(folder: Path, document: Document) -> None:
    """``interop.json`` and ``interop.html``; the same document gives the same bytes."""
    write_json(folder / "interop.json", document)
    cells = document["cells"]
    pairings = [Pairing(0, one["sender"], one["receiver"], one["connections"], one["loss"]) for one in cells]
    page.write_interop(folder, document, pairings, LEGEND)


@dataclass(frozen=True, eq=False)
class NetworkCell(ScenarioCell):
    """A network with its pairings; each run writes ``network.json`` beside its folder."""

    pairings: Sequence[Pairing] = ()
    movable = False
    unsupported = ""  # refused before the study begins
    earlier = Cell.earlier  # by the ledger: a network has no verdict of its own

    @property
    def folder(self) -> Path:
        """Folder in the result folder of the matrix."""
        return Path(self.name.replace(", ", "-").replace(" ", "-"))

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Build, measure, run the pairings, take down."""
        plan = self.engine.plan(self.loaded, self.programs, self.choices)
        network = EmulatedRun(plan, self.loaded, self.programs.binaries, progress, study / self.folder)
        network.emulation.traffic = Pairings(network.emulation.site, self.pairings, study)
        waiting, trust = Step("waiting"), None
        try:
            trust = when_free(network.measured, lambda name: progress.update(waiting, name))
        finally:  # also of a network that broke down
            (study / self.folder).mkdir(exist_ok=True)
            document = {"trust": trust and trust.model_dump(), "noted": network.provenance}
            write_json(study / self.folder / "network.json", document)
        statuses = [result.status for result in self.results(study).values() if result]
        passed = f"{statuses.count(Status.PASS)} of {len(statuses)} pass"
        return RunRecord(
            run=plan["run"],
            cell=self.id,
            folder=str(self.folder / plan["run"]),
            status=verdict_of([*statuses, *trust.parts]),
            reason="; ".join([passed, *trust.reasons]),
        )

    def results(self, study: Path) -> dict[Pairing, PairingResult | None]:
        """The result of the last attempt at each pairing, also where its network broke down afterwards; None where none
        finished."""
        files = {pairing: sorted((study / CELLS / pairing.folder).glob("*/cell.json")) for pairing in self.pairings}
        return {pairing: PairingResult(**read_json(found[-1])) if found else None for pairing, found in files.items()}


@dataclass(frozen=True)
class Matrix:
    """All pairings, ready to be run; ``folder`` is the result folder."""

    cells: Sequence[NetworkCell]
    spec: StudySpec
    folder: Path
    progress: Progress

    def execute(self) -> Document:
        """Run all and write the result folder, also after a breakdown, which is raised."""
        try:
            run_study(self.spec, self.folder, self.progress, describe=lambda one: one.record.reason)
        except Exception as error:
            self._write(getattr(error, "reasons", ()), said_by(error)["reason"])
            raise
        return self._write((), "")

    def _write(self, links_off: Sequence[Message], broken: str) -> Document:
        files = {cell.at["loss"]: self.folder / cell.folder / "network.json" for cell in self.cells}
        networks = {loss: read_json(file) for loss, file in files.items() if file.is_file()}
        facts = {
            "run": self.folder.name,
            "versions": {"tcpdump": program("tcpdump", "--version")().detail},
            "networks": {loss: network["noted"] for loss, network in networks.items()},
            **provenance.of_machine_and_code(),
            "seconds": self.progress.seconds,
        }
        provenance.write(self.folder, facts)
        trusts = {loss: Trust(**network["trust"]) for loss, network in networks.items() if network["trust"]}
        trust = Trust.of([*links_off, *(why.at(loss) for loss, one in trusts.items() for why in one.said)])
        results = {pairing: of for cell in self.cells for pairing, of in cell.results(self.folder).items()}
        document = document_of(self.folder.name, results, trust, broken)
        write(self.folder, document)
        return document


def cells_of(
    pairings: Sequence[Pairing], settings: Sequence[str], quick: bool, programs: Programs, choices: Choices
) -> list[NetworkCell]:
    """Returns a cell for each loss; raises :class:`BadInput`."""
    return [
        NetworkCell(
            {"loss": loss_words(loss)},
            load_network(settings, loss=loss, quick=quick),
            choices,
            programs,
            name=f"network, {loss_words(loss)}",
            pairings=[pairing for pairing in pairings if pairing.loss == loss],
        )
        for loss in dict.fromkeys(pairing.loss for pairing in pairings)
    ]


def prepare(pairings: Sequence[Pairing], settings: Sequence[str], options: Options, resume: str = "") -> Matrix:
    """Prepare a matrix; raises BadInput or CannotRun before there is a result folder."""
    load_network(settings, loss=0.0, quick=options.quick)
    engine, progress = engines.named(DEFAULT), Progress()
    programs = ready(engine, options, progress, NAME, further=frozenset({Need.PEERS}))
    cells = cells_of(pairings, settings, options.quick, programs, engine.choices(options))
    for cell in cells:
        engine.refuse(cell.plan)
    identity: dict[str, Any] = {"cells": [one.folder for one in pairings], "settings": list(settings)}
    how = f"{len(pairings)} cells, links by {cells[0].choices.middle}"
    spec = StudySpec("interop", NAME, cells, identity | asdict(options), how)
    folder = spec.begin(paths.results() / NAME, resume)
    (folder / "network.yaml").write_text(cells[0].loaded.text)
    return Matrix(cells, spec, folder, progress)
