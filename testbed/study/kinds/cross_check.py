"""Cross-checks of engines by scenarios and tables, which are run or read from result folders. A table on an engine is a
part with a study folder of its own; the cells of all parts are in one queue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from testbed import confine, engines
from testbed.documents import read_json, write_json
from testbed.engines.engine import Programs
from testbed.errors import BadInput, CannotRun
from testbed.judge.checks.evidence import Evidence
from testbed.judge.judge import status_of_cell, status_of_run
from testbed.judge.status import Status, each_of, verdict_of, worst
from testbed.judge.verify import read_verdict
from testbed.machine.need import Need
from testbed.message import Message, Messages
from testbed.plan.engines import ENGINES, engine_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import traffic_of
from testbed.results.report.folder import ResultFolder
from testbed.results.report.plot import Plot
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table, scenarios
from testbed.scenario.load import LoadedScenario, load
from testbed.study import ledger
from testbed.study.cell import CELLS, Cell, ScenarioCell, folder_of, ready, refuse_unsupported
from testbed.study.checks.agrees import Agreement, compare_figures, compare_runs, compare_tables, with_first
from testbed.study.kinds import table, table_file
from testbed.study.kinds.table import TableRequest, places_requested
from testbed.study.kinds.table_file import LoadedTable, Table
from testbed.study.kinds.table_result import read_table, results_of
from testbed.study.report import page, plots
from testbed.study.run import Begun, StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest, elsewhere

WORDS: Mapping[str, str] = {name: facts.shows for name, facts in ENGINES.items()}
"""Names of engines on the page."""
Loaded = LoadedScenario | LoadedTable


class Compared(NamedTuple):
    """Engines, settings of all scenarios, and result folders in place of runs, by engine."""

    engines: tuple[str, ...]
    settings: tuple[str, ...]
    results: Mapping[str, Path]


def run(
    names: Sequence[str], compared: Compared, request: TableRequest, base: Path
) -> tuple[Path, list[Agreement], dict[str, str]]:
    """Run scenarios and tables on all engines, in a new result folder in ``base``. Without names it is every scenario
    that ships, but for those that an engine doesn't support.

    Returns the folder, the agreements, and by scenario the reasons of engines that don't support it. Raises CannotRun
    where a named one isn't supported, or none at all.
    """
    progress = Progress()
    loaded = {name: _load(name, compared, quick=request.quick) for name in names or map(str, scenarios())}
    tables = {name: one for name, one in loaded.items() if isinstance(one, LoadedTable)}
    cells, programs, refused = _scenario_cells(loaded, compared, request, progress, strict=bool(names))
    if not cells:
        raise CannotRun(
            "compare.no-engine-carries", "these engines carry none of the scenarios, so there is nothing to compare"
        )
    chosen = {key: getattr(request, key) for key in ("quick", "runtime", "rows", "columns", "repeat")}
    results_of = {engine: str(folder) for engine, folder in compared.results.items()}
    identity = {"names": list(loaded), **compared._asdict(), **chosen, "results": results_of}
    folder = ledger.begin(base, "cross-check", identity, request.resume)
    parts: dict[str, dict[str, Begun]] = {name: {} for name in cells}
    for name, engine in [(name, engine) for name in tables for engine in programs]:
        home = folder / "parts" / engine
        earlier = "latest" if request.resume and (home / tables[name].table.name / "latest").exists() else ""
        begun = table.begin(tables[name], replace(request, engine=engine, resume=earlier), programs[engine], home)
        parts[name][engine] = begun
        part, place = f"{begun.spec.name}/{engine}", begun.folder.relative_to(folder)
        cells[name] += [cell.in_part(part, place, ends_study=True) for cell in begun.spec.cells]
    every = [cell for of in cells.values() for cell in of]
    spec = StudySpec("cross-check", "cross-check", every, identity)
    results = run_study(spec, folder, progress, describe=lambda result: result.status) if every else {}
    found = []
    for name, of in cells.items():
        folders = {**compared.results, **{c.engine.name: folder / results[c.id].record.folder for c in of}}
        for engine, begun in parts[name].items():
            own = [replace(results[f"{begun.spec.name}/{engine}/{cell.id}"], cell=cell.id) for cell in begun.spec.cells]
            begun.finish({result.cell: result for result in own})
            folders[engine] = begun.folder
        runs = {WORDS[engine]: folders[engine] for engine in compared.engines}
        found.append(of_tables(tables[name].table, runs) if name in tables else of_runs(runs))
    page.write_cross_check(folder, found, refused)
    return folder, found, refused


def _load(name: str, compared: Compared, *, quick: bool) -> Loaded:
    """Load a scenario or table; raises BadInput, also for a result folder of another one or of other settings."""
    loaded = (table_file.load if is_table(name) else load)(name, compared.settings, quick=quick)
    key, of = ("name", loaded.table) if isinstance(loaded, LoadedTable) else ("scenario", loaded.scenario)
    requested = _described(of.name, quick, loaded.overrides)
    for folder in compared.results.values():
        document: Mapping[str, Any] = read_table(folder) if key == "name" else read_plan(folder / "plan.json")
        if (described := _described(document[key], document["quick"], document["overrides"])) != requested:
            raise BadInput(
                "compare.results-of-another",
                f"--results: {folder} is of {described}: give the same scenario and options",
            )
    return loaded


def _described(name: str, quick: bool, overrides: Sequence[str]) -> str:
    """Names a scenario and its options, without settings that decide on trust alone."""
    settings = sorted({setting for setting in overrides if not setting.startswith("limits.")})
    return " ".join([name, *(["--quick"] if quick else []), *settings])


def _scenario_cells(
    loaded: Mapping[str, Loaded], compared: Compared, request: TableRequest, progress: Progress, *, strict: bool
) -> tuple[dict[str, list[Cell]], dict[str, Programs], dict[str, str]]:
    """Returns the cells of each scenario (tables have none yet), the programs by engine, and the reasons of engines
    that don't support a scenario."""
    cells: dict[str, list[Cell]] = {name: [] for name in loaded}
    programs: dict[str, Programs] = {}
    refused: dict[str, str] = {}
    for engine in [engines.named(name) for name in compared.engines if name not in compared.results]:
        if not cells:
            break
        options = engine.options(request.runtime, quick=request.quick)
        tables = [one for one in loaded.values() if isinstance(one, LoadedTable)]
        further = frozenset[Need]().union(*(table.further_needs(one, engine) for one in tables))
        programs[engine.name] = ready(engine, options, progress, "cross-check", further)
        for name, one in loaded.items():
            if isinstance(one, LoadedTable):  # a row or column that there is none of is refused before any run
                table.select(one, request, programs[engine.name].policies)
            elif name in cells:
                at = {"scenario": one.scenario.name, "engine": engine.name}
                cell = ScenarioCell(at, one, engine.choices(options), programs[engine.name])
                if strict:
                    refuse_unsupported([cell])
                cells[name].append(cell)
                if cell.unsupported:
                    refused[Path(name).stem] = cell.unsupported
                    del cells[name]
    return cells, programs, refused


def of_runs(runs: Mapping[str, Path]) -> Agreement:
    """Compares a scenario's runs, by name of the engine."""
    found = {word: ResultFolder(folder) for word, folder in runs.items()}
    plan = next(iter(found.values())).plan
    about: dict[str, Any] = {"scenario": plan["scenario"], "title": plan["title"], "runs": runs}
    evidence = {word: of.evidence for word, of in found.items() if of.evidence and not of.verdict.broken}
    if broken := [word for word in found if word not in evidence]:
        about["broken"] = f"with {broken[0]}: the run broke down: {found[broken[0]].verdict.summary}"
        return Agreement(**about)
    if traffic_of(plan).windows:
        about |= {"differences": with_first(evidence, compare_runs), "plots": _plots(plan, evidence)}
    else:
        figures = {word: folder.verdict.figures for word, folder in found.items()}
        about["differences"] = with_first(figures, partial(compare_figures, plan["scenario"]))
    return Agreement(
        **about,
        untrusted=[reason for folder in found.values() for reason in folder.verdict.trust.reasons],
        runs_own={word: status_of_run(folder.verdict) for word, folder in found.items()},
    )


def _plots(plan: Plan, evidence: Mapping[str, Evidence]) -> list[Plot]:
    """Plots of sessions with several windows."""
    return [plots.shares(session, evidence) for session in plan["sessions"] if len(session["connections"]) > 1]


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
    found = {
        cell.cell: Status.SKIPPED
        if cell.status == Status.UNSUPPORTED
        else status_of_cell(cell.record.checks, cell.standing)
        for cell in results_of(document)
    }
    return worst(each_of((place.cell for place in places_requested(folder)), found))


DOCUMENTS: Documents = {"cross-check.json": read_json}


def write_again(request: VerifyRequest) -> Verification:
    """Compare runs and tables in the folder again; differences of others are as recorded. Raises BadInput for a missing
    or broken file."""
    folder = request.folder.resolve()  # the page names runs by their ids, never by `latest`
    document = read_json(folder / "cross-check.json")
    names = {word: name for name, word in WORDS.items()}
    found: list[Agreement] = []
    recorded: dict[int, Mapping[str, Any]] = {}
    unchecked, differing = Messages(), Messages()
    tables: list[tuple[str, Path]] = []
    for place, entry in enumerate(document["scenarios"]):
        scenario, runs = entry["scenario"], entry["runs"].items()
        cells = {word: confine.inside(folder, folder_of(scenario, names[word]), run) for word, run in runs}
        parts = {word: confine.inside(folder, "parts", names[word], scenario, run) for word, run in runs}
        if all((run / "plan.json").is_file() for run in cells.values()):
            found.append(of_runs(cells))
            differing += _other_runs(scenario, {names[word]: run for word, run in cells.items()})
        elif all((part / table_file.KEPT_AS).is_file() for part in parts.values()):
            found.append(of_tables(table_file.load(str(next(iter(parts.values())) / table_file.KEPT_AS)).table, parts))
            tables += [(f"{scenario} {names[word]}", part) for word, part in parts.items()]
            differing += _other_runs(scenario, {names[word]: part for word, part in parts.items()})
        else:
            unchecked.append(elsewhere(scenario))
            recorded[place] = entry
    page.write_cross_check(request.into, found, document["refused"])
    again = read_json(request.into / "cross-check.json")
    for place, entry in recorded.items():
        again["scenarios"].insert(place, entry)
    write_json(request.into / "cross-check.json", again)
    plans = (plan for plan in sorted((folder / CELLS).rglob("plan.json")) if not plan.parent.is_symlink())
    single_runs = [(str(plan.parent.relative_to(folder)), plan.parent) for plan in plans]
    return Verification(
        f"cross-check {folder.name}",
        verdict_of(Status(entry["verdict"]) for entry in again["scenarios"]),
        differing,
        unchecked=unchecked,
        parts=[*tables, *single_runs] if tables else None,
        has_page=not unchecked,
    )


def _other_runs(scenario: str, runs: Mapping[str, Path]) -> Iterator[Message]:
    """A message for each run or table, by engine, that is of another engine, or of another scenario than the first."""
    requests = []
    for engine, folder in runs.items():
        is_run = (folder / "plan.json").is_file()
        document: Mapping[str, Any] = read_plan(folder / "plan.json") if is_run else read_table(folder)
        text = (folder / ("scenario.yaml" if is_run else table_file.KEPT_AS)).read_bytes()
        requests.append((_described(scenario, document["quick"], document["overrides"]), document.get("seed"), text))
        if engine_of(document).name != engine or requests[-1] != requests[0]:
            yield Message("cross-check.other-run", f"{scenario}: {folder.name} is not of what is compared on {engine}")
