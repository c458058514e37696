"""Makes the runs of the versions that are compared, as a study: each version with each seed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from testbed import engines
from testbed.engines import Options, Programs, Run, provenance
from testbed.errors import BadInput
from testbed.judge.verify import read_verdict
from testbed.plan.engines import engine_of
from testbed.planning.resolve import Choices
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario, load
from testbed.study.carry_out import carry_out_without_pages
from testbed.study.cell import Cell
from testbed.study.compare.groups import Group, Variant, read_run
from testbed.study.programs import programs
from testbed.study.runs import Folders

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

    def cell(self, repetition: int) -> Cell:
        """Its run with the n-th seed, from 0."""
        folder = re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip("-.") or "version"
        choices = replace(self.choices, seed=self.loaded.scenario.seed + repetition)
        return Cell((folder, str(repetition + 1)), self.loaded, choices, self.programs)


def versions(variants: Sequence[Variant], asked: Asked, progress: Progress) -> list[Version]:
    """Every variant loaded and built, and its plan tried; raises before anything is run."""
    engine = engines.named(asked.engine)
    found = []
    for variant in variants:
        loaded = load(variant.scenario, [*asked.assignments, *variant.assignments], quick=asked.quick)
        version = Version(variant.name, loaded, programs(variant.commit, engine, progress), choices_of(asked))
        try:
            engine.refuse(version.cell(0).plan())
        except BadInput as error:
            raise error.at(variant.name) from error
        found.append(version)
    return found


def choices_of(asked: Asked) -> Choices:
    """With the seed left open: each run has its own."""
    return replace(engines.named(asked.engine).choices(asked.options), occasion=OCCASION)


@dataclass
class Versions(Folders):
    """Each version with each seed."""

    machine_and_code: Mapping[str, Any]
    """For provenance, looked up once."""

    def carry_out(self, run: Run) -> None:
        """In the simulator, which makes many in no time, without pages."""
        if not engine_of(run.plan).kernel:
            carry_out_without_pages(run, self.machine_and_code)
        else:
            super().carry_out(run)

    def told(self, key: Cell, found: Path) -> str:
        """Only of one that broke down."""
        return read_verdict(found).broken or ""


def make(found: Sequence[Version], asked: Asked, folder: Path, progress: Progress) -> list[Group]:
    """Run every version with every seed, the versions in turn, so that what changes on the machine meets all of them
    alike. Their result folders are ``<folder>/cells/<version>/<repetition>/<run>``."""
    cells = {(version.name, n): version.cell(n) for n in range(asked.seeds) for version in found}
    runs = Versions(folder, progress, provenance.of_machine_and_code()).run(list(cells.values()))
    return [Group(v.name, [read_run(runs[cells[v.name, n]]) for n in range(asked.seeds)]) for v in found]
