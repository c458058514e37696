"""Cross-checks of engines by scenarios and tables, which are run or read from result folders. A table on an engine is a
part with a study folder of its own; the cells of all parts are in one queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from testbed import confine, engines
from testbed.documents import read_json, write_json
from testbed.engines import Programs
from testbed.errors import BadInput, CannotRun
from testbed.judge.checks.run_status import status_of_cell, status_of_run
from testbed.judge.status import Status, verdict_of, worst
from testbed.judge.verify import read_verdict
from testbed.machine import Need
from testbed.message import Message, Messages
from testbed.plan.engines import ENGINES
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import traffic_of
from testbed.results.report.folder import ResultFolder, read_folder
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study import ledger
from testbed.study.cell import CELLS, Cell, ScenarioCell, folder_of, ready
from testbed.study.checks.agrees import Agreement, Deviation, compare_figures, compare_runs, compare_tables, with_first
from testbed.study.kinds import table, table_file
from testbed.study.kinds.table_file import LoadedTable, Table, requested_places
from testbed.study.kinds.table_result import read_table, results_of
from testbed.study.report import page, plots
from testbed.study.result import CellResult
from testbed.study.run import Begun, StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest

WORDS: Mapping[str, str] = {name: facts.shows for name, facts in ENGINES.items()}
"""Names of engines on the page."""
OF_THE_MACHINE = "limits."
"""Prefix of settings that decide on trust, and don't change a run."""
Loaded = LoadedScenario | LoadedTable


@dataclass(frozen=True)
class Request:
    """Options of the command line; ``results`` are result folders in place of runs, by engine."""

    engines: tuple[str, ...]
    settings: tuple[str, ...]
    quick: bool
    runtime: Literal["docker", "process"]
    rows: str
    columns: str
    repeat: int | None
    results: Mapping[str, Path]

    def of_table(self, engine: str, resume: str = "") -> table.TableRequest:
        """Options for a table."""
        chosen = (self.repeat, self.rows, self.columns, self.runtime)
        return table.TableRequest(*chosen, engine=engine, quick=self.quick, resume=resume)


def run(
    names: Sequence[str],
    request: Request,
    base: Path,
    report: Callable[[Agreement], object],
    *,
    strict: bool,
    resume: str = "",
) -> tuple[Path, list[Agreement], dict[str, str]]:
    """Run each scenario and table on all engines, in a new result folder in ``base``.

    Returns the folder, the agreements, which ``report`` gets at once, and by scenario the reasons of engines that don't
    support it; if ``strict``, these raise CannotRun.
    """
    progress = Progress()
    loaded = {name: _load(name, request) for name in names}
    cells, programs, refused = _scenario_cells(loaded, request, progress, strict=strict)
    if not cells:
        raise CannotRun(
            "compare.no-engine-carries", "these engines carry none of the scenarios, so there is nothing to compare"
        )
    results_of = {engine: str(folder) for engine, folder in request.results.items()}
    identity = {"names": list(names), **asdict(request), "results": results_of}
    folder = ledger.begin(base, "cross-check", identity, resume)
    tables: dict[tuple[str, str], Begun] = {}
    for name, engine in [(name, engine) for name in cells for engine in programs]:
        one = loaded[name]
        if isinstance(one, LoadedTable):
            base = folder / "parts" / engine
            earlier = "latest" if resume and (base / one.table.name / "latest").exists() else ""
            asked = request.of_table(engine, earlier)
            begun = tables[name, engine] = table.begin(one, asked, programs[engine], base)
            place = begun.folder.relative_to(folder)
            part = _part(begun, engine)
            cells[name].extend(cell.in_part(part, place, ends_study=True) for cell in begun.spec.cells)
    results: dict[str, CellResult] = {}
    found: dict[str, Agreement] = {}

    def judge_if_complete(name: str) -> None:
        if any(cell.id not in results for cell in cells[name]):
            return
        folders = dict(request.results)
        folders |= {cell.engine.name: folder / results[cell.id].record.folder for cell in cells[name]}
        for (of, engine), begun in tables.items():
            if of == name:
                own = {cell.id: results[f"{_part(begun, engine)}/{cell.id}"] for cell in begun.spec.cells}
                begun.finish({cell: replace(result, cell=cell) for cell, result in own.items()})
                folders[engine] = begun.folder
        found[name] = agreement_of(loaded[name], {WORDS[engine]: folders[engine] for engine in request.engines})
        report(found[name])
        page.write_cross_check(folder, list(found.values()), {})  # in case a later scenario fails

    def ended(result: CellResult) -> None:
        results[result.cell] = result
        judge_if_complete(next(name for name, of in cells.items() if result.cell in [cell.id for cell in of]))

    for name in [name for name, of in cells.items() if not of]:
        judge_if_complete(name)
    if every := [cell for of in cells.values() for cell in of]:
        spec = StudySpec("cross-check", "cross-check", every, identity)
        run_study(spec, folder, progress, describe=lambda result: result.status, each=ended)
    page.write_cross_check(folder, list(found.values()), refused)
    return folder, list(found.values()), refused


def _part(table: Begun, engine: str) -> str:
    """Names the part of a table on an engine."""
    return f"{table.spec.name}/{engine}"


def _load(name: str, request: Request) -> Loaded:
    """Load a scenario or table; raises BadInput, also for a result folder of another one or of other settings."""
    loaded = (table_file.load if is_table(name) else load)(name, request.settings, quick=request.quick)
    key, of = ("name", loaded.table) if isinstance(loaded, LoadedTable) else ("scenario", loaded.scenario)
    for folder in request.results.values():
        document: Mapping[str, Any] = read_table(folder) if key == "name" else read_plan(folder / "plan.json")
        both = (document["overrides"], loaded.overrides)
        settings, requested = ({s for s in each if not s.startswith(OF_THE_MACHINE)} for each in both)
        if (document[key], document["quick"], settings) != (of.name, request.quick, requested):
            described = f"{document[key]}{' --quick' if document['quick'] else ''} {' '.join(sorted(settings))}".strip()
            raise BadInput(
                "compare.results-of-another",
                "--results: {folder} is of {described}: give the same scenario and options",
                folder=folder,
                described=described,
            )
    return loaded


def _scenario_cells(
    loaded: Mapping[str, Loaded], request: Request, progress: Progress, *, strict: bool
) -> tuple[dict[str, list[Cell]], dict[str, Programs], dict[str, str]]:
    """Returns the cells of each scenario (tables have none yet), the programs by engine, and the reasons of engines
    that don't support a scenario."""
    cells: dict[str, list[Cell]] = {name: [] for name in loaded}
    programs: dict[str, Programs] = {}
    refused: dict[str, str] = {}
    for engine in [engines.named(name) for name in request.engines if name not in request.results]:
        if not cells:
            break
        options = engine.options(request.runtime, quick=request.quick)
        tables = [one for one in loaded.values() if isinstance(one, LoadedTable)]
        further = frozenset[Need]().union(*(table.further_needs(one, engine) for one in tables))
        programs[engine.name] = ready(engine, options, progress, "cross-check", further)
        for name, one in loaded.items():
            if isinstance(one, LoadedTable):
                table.select(one, request.of_table(engine.name), programs[engine.name].policies)
            if name not in cells or isinstance(one, LoadedTable):
                continue
            at = {"scenario": one.scenario.name, "engine": engine.name}
            cells[name].append(ScenarioCell(at, one, engine.choices(options), programs[engine.name]))
            if not (why := cells[name][-1].unsupported):
                continue
            if strict:
                raise CannotRun(
                    "compare.engine-does-not-carry",
                    "{name}: {why}",
                    "Leave out {engine}.",
                    name=name,
                    why=why,
                    engine=engine.name,
                )
            refused[Path(name).stem] = why
            del cells[name]
    return cells, programs, refused


def agreement_of(loaded: Loaded, runs: Mapping[str, Path]) -> Agreement:
    """Compares a scenario's runs or a table's result folders, by name of the engine."""
    if isinstance(loaded, LoadedTable):
        return of_tables(loaded.table, runs)
    return of_runs(loaded.scenario.name, loaded.scenario.title, runs)


def of_runs(scenario: str, title: str, runs: Mapping[str, Path]) -> Agreement:
    """Compares a scenario's runs, by name of the engine."""
    found = {word: read_folder(folder) for word, folder in runs.items()}
    for word, folder in found.items():
        if folder.verdict.broken or folder.evidence is None:
            why = f"with {word}: the run broke down: {folder.verdict.summary}"
            return Agreement(scenario, title, runs, broken=why)
    return Agreement(
        scenario,
        title,
        runs,
        with_first(found, _of_two),
        _plots(found),
        [reason for folder in found.values() for reason in folder.verdict.trust.reasons],
        runs_own={word: status_of_run(folder.verdict) for word, folder in found.items()},
    )


def _of_two(first: ResultFolder, second: ResultFolder) -> list[Deviation]:
    assert first.evidence is not None
    assert second.evidence is not None
    if not traffic_of(first.plan).windows:
        return compare_figures(first.plan["scenario"], first.verdict.figures, second.verdict.figures)
    return compare_runs(first.evidence, second.evidence)


def _plots(found: Mapping[str, ResultFolder]) -> list[Any]:
    """Plots of sessions with several windows."""
    plan = next(iter(found.values())).plan
    evidence = {word: folder.evidence for word, folder in found.items() if folder.evidence}
    several = [s for s in plan["sessions"] if len(s.get("connections", ())) > 1]
    return [plots.shares(session, evidence) for session in several] if traffic_of(plan).windows else []


def of_tables(table: Table, folders: Mapping[str, Path]) -> Agreement:
    """Compares a table's result folders, by name of the engine."""
    documents = {word: read_table(folder) for word, folder in folders.items()}
    complete = [folder for folder in folders.values() if (folder / "verdict.json").exists()]
    return Agreement(
        table.name,
        table.title,
        folders,
        with_first(documents, lambda first, second: compare_tables(table, first, second)),
        untrusted=[reason for folder in complete for reason in read_verdict(folder).trust.reasons],
        runs_own={word: _of_cells(folder, documents[word]) for word, folder in folders.items()},
    )


def _of_cells(folder: Path, document: Mapping[str, Any]) -> Status:
    """Worst status of a table's requested cells, without those that its engine does not support."""
    found = {cell.cell: cell for cell in results_of(document)}
    parts: list[Status] = []
    for place in requested_places(folder):
        cell = found.get(place.cell)
        if cell is None:
            parts.append(Status.MISSING)
        elif cell.status != Status.UNSUPPORTED:
            parts.append(status_of_cell(cell.record.checks, cell.standing))
    return worst(parts)


DOCUMENTS: Documents = {"cross-check.json": read_json}


def write_again(request: VerifyRequest) -> Verification:
    """Compare runs and tables in the folder again; differences of others are as recorded. Raises BadInput for a missing
    or broken file."""
    folder = request.folder.resolve()  # the page names runs by their ids, never by `latest`
    document = read_json(folder / "cross-check.json")
    found: list[Agreement] = []
    entries: list[Mapping[str, Any]] = []
    unchecked = Messages()
    tables: list[tuple[str, Path]] = []
    names = {word: name for name, word in WORDS.items()}
    for entry in document["scenarios"]:
        scenario, runs = entry["scenario"], entry["runs"].items()
        cells = {word: confine.inside(folder, folder_of(scenario, names[word]), run) for word, run in runs}
        parts = {word: confine.inside(folder, "parts", names[word], scenario, run) for word, run in runs}
        if all((run / "plan.json").is_file() for run in cells.values()):
            title = read_plan(next(iter(cells.values())) / "plan.json")["title"]
            again = of_runs(scenario, title, cells)
        elif all((part / table_file.KEPT_AS).is_file() for part in parts.values()):
            again = of_tables(table_file.load(str(next(iter(parts.values())) / table_file.KEPT_AS)).table, parts)
            tables += [(f"{scenario} {names[word]}", part) for word, part in parts.items()]
        else:
            unchecked.append(
                Message(
                    "cross-check.runs-elsewhere",
                    "{scenario}: its runs are not in the folder, and what they differ in is as recorded",
                    scenario=scenario,
                )
            )
            entries.append(entry)
            continue
        found.append(again)
        entries.append(again.as_json())
    page.write_cross_check(request.into, found, document["refused"])
    write_json(request.into / "cross-check.json", {**document, "scenarios": entries})
    return Verification(
        f"cross-check {folder.name}",
        verdict_of(Status(entry["verdict"]) for entry in entries),
        unchecked=unchecked,
        parts=[*tables, *_single_runs(folder)] if tables else None,
        has_page=not unchecked,
    )


def _single_runs(folder: Path) -> list[tuple[str, Path]]:
    runs = (plan.parent for plan in sorted((folder / CELLS).rglob("plan.json")) if not plan.parent.is_symlink())
    return [(str(run.relative_to(folder)), run) for run in runs]
