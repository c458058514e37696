"""Makes the runs of the versions that are compared, as a study: each version with each seed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from testbed import engines
from testbed.engines import Options, Programs, provenance
from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.planning.resolve import Choices
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario, load
from testbed.study.cell import ScenarioCell, refuse_unsupported
from testbed.study.compare.groups import Group, Variant, read_run
from testbed.study.programs import programs
from testbed.study.result import CellResult
from testbed.study.run import run_cells

OCCASION = "compare"
"""So that what history keeps of scenarios is not mixed with trials of other versions."""


@dataclass(frozen=True)
class Asked:
    """What is the same for all versions."""

    engine: str
    seeds: int
    quick: bool
    assignments: tuple[str, ...]
    runtime: Literal["docker", "process"] = "docker"
    link: Literal["auto", "netem", "relay"] = "auto"

    @property
    def options(self) -> Options:
        """How their runs are made."""
        facts = engines.named(self.engine).facts
        return Options(None if facts.virtual_time else self.runtime, self.link, None, self.quick)


@dataclass(frozen=True)
class Version:
    """A variant that is ready to be run."""

    name: str
    loaded: LoadedScenario
    programs: Programs
    choices: Choices

    def cell(self, repetition: int, machine_and_code: Mapping[str, Any] | None = None) -> ScenarioCell:
        """Its run with the n-th seed, from 0; ``machine_and_code`` are for its provenance."""
        folder = re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip("-.") or "version"
        choices = replace(self.choices, seed=self.loaded.scenario.seed + repetition)
        at = {"version": folder, "repetition": str(repetition + 1)}
        return ScenarioCell(at, self.loaded, choices, self.programs, machine_and_code=machine_and_code)


def versions(variants: Sequence[Variant], asked: Asked, progress: Progress) -> list[Version]:
    """Every variant loaded and built, and its plan tried; raises before anything is run."""
    engine = engines.named(asked.engine)
    found = []
    for variant in variants:
        loaded = load(variant.scenario, [*asked.assignments, *variant.assignments], quick=asked.quick)
        version = Version(variant.name, loaded, programs(variant.commit, engine, progress), choices_of(asked))
        try:
            engine.refuse(version.cell(0).plan)
        except BadInput as error:
            raise error.at(variant.name) from error
        found.append(version)
    return found


def choices_of(asked: Asked) -> Choices:
    """With the seed left open: each run has its own."""
    return replace(engines.named(asked.engine).choices(asked.options), occasion=OCCASION)


def make(found: Sequence[Version], asked: Asked, folder: Path, progress: Progress) -> list[Group]:
    """Run every version with every seed, the versions in turn, so that what changes on the machine meets all of them
    alike. Their result folders are ``<folder>/cells/<version>/<repetition>/<run>``."""
    facts = provenance.of_machine_and_code()  # looked up once
    cells = {(version.name, n): version.cell(n, facts) for n in range(asked.seeds) for version in found}
    refuse_unsupported(list(cells.values()))
    results = run_cells(list(cells.values()), folder, progress, describe=_why_broken)
    runs = {place: folder / results[cell.id].record.folder for place, cell in cells.items()}
    return [Group(v.name, [read_run(runs[v.name, n]) for n in range(asked.seeds)]) for v in found]


def _why_broken(result: CellResult) -> str:
    """Only of one that broke down."""
    return result.record.reason if result.status == Status.ERROR else ""
