"""Makes the runs of a cross-check, as a study: each scenario on each engine, or from a result folder that there is.
Tables are studies of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from testbed import engines, paths
from testbed.engines import Engine, Options
from testbed.errors import BadInput, CannotRun
from testbed.judge.checks.run_status import status_of_cell, status_of_run
from testbed.judge.status import Status, worst
from testbed.judge.verify import read_verdict
from testbed.plan.engines import ENGINES
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import traffic_of
from testbed.results.report.folder import ResultFolder, read_folder
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study.cell import ScenarioCell, ready
from testbed.study.compare import allowance
from testbed.study.compare.agreement import Agreement
from testbed.study.compare.allowance import Deviation
from testbed.study.compare.allowed_figures import compare_figures, compare_tables
from testbed.study.compare.plots import share_plot
from testbed.study.result import CellResult
from testbed.study.run import run_cells
from testbed.study.tables import load as table_file
from testbed.study.tables import table_run
from testbed.study.tables.cells_asked import cells_asked
from testbed.study.tables.outcome import Outcome, read_table

WORDS: Mapping[str, str] = {name: facts.shows for name, facts in ENGINES.items()}
"""The engines, as the page calls them."""

OF_THE_MACHINE = "limits."
"""Settings that say when a run is trusted, and change nothing of it."""

Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Asked:
    """What the command line asks; ``results`` are result folders in place of runs, by engine."""

    engines: tuple[str, ...]
    settings: tuple[str, ...]
    quick: bool
    runtime: Literal["docker", "process"]
    rows: str
    columns: str
    repeat: int | None
    results: Mapping[str, Path]

    def options(self, engine: Engine) -> Options:
        """How its runs are made."""
        return Options(None if engine.facts.virtual_time else self.runtime, quick=self.quick)


def compare_all(
    names: Sequence[str], asked: Asked, folder: Path, each: Callable[[Agreement], object], *, strict: bool
) -> dict[str, str]:
    """Each scenario and table on all engines: ``each`` gets what came out as soon as it is there.

    Returns why scenarios are not carried by an engine, by name. ``strict``: that is refused, with CannotRun.
    """
    progress = Progress()
    tables = [name for name in names if is_table(name)]
    loaded = {name: load(name, asked.settings, quick=asked.quick) for name in names if name not in tables}
    made = [engines.named(engine) for engine in asked.engines if engine not in asked.results]
    cells: dict[str, list[ScenarioCell]] = {name: [] for name in loaded}
    refused: dict[str, str] = {}
    for engine in made if loaded else ():
        options = asked.options(engine)
        programs, choices = ready(engine, options, progress, "cross-check"), engine.choices(options)
        for name in [name for name in loaded if name not in refused]:
            at = {"scenario": loaded[name].scenario.name, "engine": engine.name}
            cells[name].append(ScenarioCell(at, loaded[name], choices, programs))
            if why := cells[name][-1].unsupported:
                if strict:
                    raise CannotRun(
                        "compare.engine-does-not-carry",
                        "{name}: {why}",
                        "Leave out {engine}.",
                        name=name,
                        why=why,
                        engine=engine.name,
                    )
                refused[name] = why
        if len(refused) == len(loaded):
            break
    waiting = [name for name in loaded if name not in refused]
    found: dict[str, Path] = {}

    def judge() -> None:
        for name in [name for name in waiting if all(cell.id in found for cell in cells[name])]:
            waiting.remove(name)
            folders = {**asked.results, **{cell.engine.name: found[cell.id] for cell in cells[name]}}
            each(_of_scenario(loaded[name], {engine: folders[engine] for engine in asked.engines}, asked))

    def ended(result: CellResult) -> None:
        found[result.cell] = folder / result.record.folder
        judge()

    judge()  # of those that were all run before
    every = [cell for name in waiting for cell in cells[name]]
    if every:
        run_cells(every, folder, progress, describe=lambda result: result.status, each=ended)
    for name in tables:
        each(_of_table(name, asked))
    return {Path(name).stem: why for name, why in refused.items()}


def _of_scenario(loaded: LoadedScenario, folders: Mapping[str, Path], asked: Asked) -> Agreement:
    for folder in asked.results.values():
        plan = read_plan(folder / "plan.json")
        _same_question(folder, plan, plan["scenario"], loaded.scenario.name, loaded.overrides, asked)
    return of_runs(loaded.scenario.name, loaded.scenario.title, {WORDS[name]: run for name, run in folders.items()})


def of_runs(scenario: str, title: str, runs: Mapping[str, Path]) -> Agreement:
    """One scenario's runs, by engine, as the page calls it."""
    found = {word: read_folder(folder) for word, folder in runs.items()}
    for word, folder in found.items():
        if folder.verdict.broken or folder.evidence is None:
            why = f"with {word}: the run broke down: {folder.verdict.summary}"
            return Agreement(scenario, title, runs, broken=why)
    return Agreement(
        scenario,
        title,
        runs,
        _pairs(found, _of_two),
        _plots(found),
        [reason for folder in found.values() for reason in folder.verdict.trust.reasons],
        runs_own={word: status_of_run(folder.verdict) for word, folder in found.items()},
    )


def _of_two(first: ResultFolder, second: ResultFolder) -> list[Deviation]:
    assert first.evidence is not None
    assert second.evidence is not None
    if not traffic_of(first.plan).windows:
        name = first.plan["scenario"]
        return list(compare_figures(name, first.verdict.figures, second.verdict.figures))
    return allowance.of_runs(first.evidence, second.evidence)


def _plots(found: Mapping[str, ResultFolder]) -> list[Any]:
    """Of sessions with several windows; other traffic has none."""
    plan = next(iter(found.values())).plan
    evidence = {word: folder.evidence for word, folder in found.items() if folder.evidence}
    several = [s for s in plan["sessions"] if len(s.get("connections", ())) > 1]
    return [share_plot(session, evidence) for session in several] if traffic_of(plan).windows else []


def _of_table(name: str, asked: Asked) -> Agreement:
    loaded = table_file.load(name, asked.settings, quick=asked.quick)
    runs: dict[str, Path] = {}
    reasons: list[str] = []
    documents: dict[str, Mapping[str, Any]] = {}
    for engine in asked.engines:
        word = WORDS[engine]
        folder = asked.results.get(engine) or _run_table(loaded, engine, asked)
        document = read_table(folder)
        _same_question(folder, document, document["name"], loaded.table.name, loaded.overrides, asked)
        runs[word], documents[word] = folder, document
        if (folder / "verdict.json").exists():  # a table that is not complete has none
            reasons += read_verdict(folder).trust.reasons

    def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Deviation]:
        return compare_tables(loaded.table, first, second)

    return Agreement(
        loaded.table.name,
        loaded.table.title,
        runs,
        _pairs(documents, differences),
        [],
        reasons,
        runs_own={word: _of_cells(runs[word], document) for word, document in documents.items()},
    )


def _of_cells(folder: Path, document: Mapping[str, Any]) -> Status:
    """The worst of the cells that a table was asked for; one that its engine can't carry is none."""
    found = {(o["row"], o["column"], o["repetition"]): Outcome.from_json(o) for o in document["outcomes"]}
    parts: list[Status] = []
    for cell in cells_asked(folder):
        outcome = found.get(cell.place)
        if outcome is None:
            parts.append(Status.MISSING)
        elif outcome.verdict != Status.UNSUPPORTED:
            parts.append(status_of_cell(outcome.checks, outcome.standing))
    return worst(parts)


def _run_table(loaded: table_file.LoadedTable, engine: str, asked: Asked) -> Path:
    repeat, rows, columns, runtime = asked.repeat, asked.rows, asked.columns, asked.runtime
    verdict = table_run.run(loaded, table_run.Asked(repeat, rows, columns, runtime, engine=engine, quick=asked.quick))
    # Not the latest: another may have begun meanwhile.
    return paths.results() / loaded.table.name / verdict.run


def _pairs(
    found: Mapping[str, Measured], compared: Callable[[Measured, Measured], Sequence[Deviation]]
) -> list[Deviation]:
    """Each of the others beside the first; of more than two, each difference says which ones it is of."""
    (first, baseline), *others = found.items()
    differences = []
    for word, other in others:
        against = f" ({first} and {word})" if len(others) > 1 else ""
        differences += [dataclasses.replace(d, text=d.text + against) for d in compared(baseline, other)]
    return differences


def _same_question(
    folder: Path, document: Mapping[str, Any], name: str, wanted: str, overrides: Iterable[str], asked: Asked
) -> None:
    """Raise :class:`BadInput` where a result folder is of another scenario, or of other settings."""
    settings = [{s for s in of if not s.startswith(OF_THE_MACHINE)} for of in (document["overrides"], overrides)]
    if name != wanted or document["quick"] != asked.quick or settings[0] != settings[1]:
        told = f"{name}{' --quick' if document['quick'] else ''} {' '.join(sorted(settings[0]))}".strip()
        raise BadInput(
            "compare.results-of-another",
            "--results: {folder} is of {told}: give the same scenario and options",
            folder=folder,
            told=told,
        )
