"""Groups of runs: result folders, tables and what the command line says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from testbed import confine
from testbed.errors import BadInput
from testbed.judge.checks.run_status import status_of_run
from testbed.judge.status import Status, worst
from testbed.judge.verify import read_verdict
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.study.cell import CELLS
from testbed.study.compare.figures import Measured, measured
from testbed.study.ledger import kind_of
from testbed.study.record import finished
from testbed.study.result import run_that_counts
from testbed.study.tables.cells_asked import cells_asked
from testbed.study.tables.outcome import read_table


@dataclass(frozen=True)
class RunOf:
    """One run of a group. ``case`` is its setting (the scenario, or a table's row and column)."""

    folder: Path
    case: str
    seed: int
    trusted: bool
    measured: Measured
    as_recorded: Status | None = None
    """Its standing where its folder is elsewhere, and is not read."""

    @cached_property
    def plan(self) -> Plan:
        """Its plan."""
        return read_plan(self.folder / "plan.json")

    @cached_property
    def standing(self) -> Status:
        """What the run is worth to a comparison: whether a check about a number holds is no matter, but whether it
        came to its end, can be trusted, and holds its facts (such as its payload) is."""
        return self.as_recorded or status_of_run(read_verdict(self.folder))

    @cached_property
    def checks(self) -> dict[str, str]:
        """The status of each check by name."""
        return {} if self.as_recorded else {check.name: check.status for check in read_verdict(self.folder).checks}


@dataclass
class Group:
    """Runs that belong together, of one version of what is compared."""

    name: str
    runs: list[RunOf] = field(default_factory=list)
    missing: int = 0
    """How many runs a table has been asked for and has not."""
    facts: Mapping[str, str] | None = None
    """As recorded, where a run's folder is elsewhere."""

    @property
    def standing(self) -> Status:
        """The worst of its runs' that were asked for."""
        gap: list[Status] = [Status.MISSING] if self.missing else []
        return worst([*(run.standing for run in self.runs), *gap])

    @property
    def trusted(self) -> list[RunOf]:
        """The runs whose links and machine were good enough."""
        return [run for run in self.runs if run.trusted]

    @property
    def cases(self) -> list[str]:
        """The settings of the trusted runs, in their order."""
        return list(dict.fromkeys(run.case for run in self.trusted))


def read_run(folder: Path, case: str = "") -> RunOf:
    """A run from its result folder; BadInput where a file is missing or broken."""
    plan, verdict = read_plan(folder / "plan.json"), read_verdict(folder)
    return RunOf(folder, case or str(plan["scenario"]), int(plan["seed"]), verdict.trust.trusted, measured(folder))


def recorded(name: str, places: Sequence[str]) -> Group:
    """The group of all runs in the given folders: runs, tables, or folders of runs."""
    group = Group(name)
    for place in places:
        folders = [Path(place)] if Path(place).is_dir() else sorted(Path().glob(place)) if "*" in place else []
        folders = [folder for folder in folders if folder.is_dir()]
        with confine.to_results(*folders):
            found = [run for folder in folders for run in _runs_in(folder)]
            if not found:
                raise BadInput(
                    "compare.no-result", "{folder}: there is no result folder of a run or table there", folder=place
                )
            group.runs += found
            tables = [folder for folder in folders if kind_of(folder) == "table"]
            group.missing += sum(_missing(folder.resolve()) for folder in tables)
    return group


def _runs_in(folder: Path) -> Iterator[RunOf]:
    if (folder / "plan.json").is_file():
        yield read_run(folder.resolve())
    elif kind_of(folder) == "table":
        yield from _of_table(folder.resolve())
    else:
        seen = set()
        for path in sorted(folder.rglob("verdict.json")):
            run = path.parent.resolve()
            if CELLS in run.parts[-5:-2]:  # of several attempts at a study's cell, the one that settles it
                run = run_that_counts(run.parent) or run
            if (run / "plan.json").is_file() and run not in seen:
                seen.add(run)
                yield read_run(run)


def _of_table(folder: Path) -> Iterator[RunOf]:
    """The runs that a table counts: of each repetition the one that settles it."""
    for cell in cells_asked(folder):
        run = run_that_counts(folder / cell.folder)
        if run is not None:
            yield read_run(run, f"row {cell.row} {cell.column}")


def _missing(folder: Path) -> int:
    """How many of a table's cells have no run, though they were asked for and this machine could have made them."""
    table = read_table(folder) if (folder / "table.json").is_file() else {"outcomes": []}
    not_here = {
        (o["row"], o["column"], o["repetition"]) for o in table["outcomes"] if o["verdict"] == Status.UNSUPPORTED
    }
    return sum(not finished(folder / cell.folder) and cell.place not in not_here for cell in cells_asked(folder))


@dataclass(frozen=True)
class Variant:
    """A version that is to be run: the scenario, what is changed in it, and the commit whose agent is used (None:
    the checkout as it is)."""

    name: str
    scenario: str
    assignments: tuple[str, ...]
    commit: str | None


def variant(text: str, scenario: str) -> Variant:
    """``NAME:KEY=VALUE,KEY=VALUE`` with a scenario, ``SCENARIO:KEY=VALUE,…`` without; either may stand alone.

    ``commit=REV`` among the keys chooses whose agent it is. Raises BadInput.
    """
    name, _, rest = text.partition(":")
    if not name or "=" in name:
        raise BadInput(
            "compare.not-a-group",
            "{text!r}: neither a result folder nor NAME:KEY=VALUE",
            "E.g. ./run.sh compare --scenario startup base: new:policy=delivery-rate",
            text=text,
        )
    # A comma that no key follows belongs to the value before it.
    parts = [part for part in re.split(r",(?=[A-Za-z_][\w.-]*=)", rest) if part]
    for part in parts:
        if "=" not in part:
            raise BadInput(
                "compare.not-a-setting",
                "{text!r}: {part!r} should be KEY=VALUE, e.g. policy=delivery-rate",
                text=text,
                part=part,
            )
    commits = [part.partition("=")[2] for part in parts if part.startswith("commit=")]
    if len(commits) > 1:
        raise BadInput("compare.several-commits", "{text!r}: one commit at most", text=text)
    assignments = tuple(part for part in parts if not part.startswith("commit="))
    return Variant(name if scenario else text, scenario or name, assignments, commits[0] if commits else None)


def named_places(text: str) -> tuple[str, list[str]]:
    """``NAME=PLACE,PLACE`` of ``--group``; BadInput where it is none."""
    name, equals, places = text.partition("=")
    if not equals or not name or not places:
        raise BadInput(
            "compare.bad-group",
            "--group {text}: should be NAME=FOLDER,FOLDER, e.g. old=results/startup/latest",
            text=text,
        )
    return name, [place for place in places.split(",") if place]


def is_recorded(text: str) -> bool:
    """Whether an argument names result folders that there are."""
    return all(Path(place).is_dir() or ("*" in place and "/" in place) for place in text.split(","))
