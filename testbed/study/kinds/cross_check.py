"""Cross-checks: scenarios and tables on several engines, or from result folders that there are. A table on an engine is
a part, with a study's folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from testbed import confine, engines
from testbed.documents import read_json, write_json
from testbed.engines import Engine, Options
from testbed.errors import BadInput, CannotRun
from testbed.judge.checks.run_status import status_of_cell, status_of_run
from testbed.judge.status import Status, verdict_of, worst
from testbed.judge.verify import read_verdict
from testbed.message import Message
from testbed.plan.engines import ENGINES
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import traffic_of
from testbed.results.report.folder import ResultFolder, read_folder
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study.cell import CELLS, ScenarioCell, folder_of, ready
from testbed.study.checks.agrees import Agreement, Deviation, compare_figures, compare_runs, compare_tables, with_first
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file
from testbed.study.kinds.table_file import Table, requested_places
from testbed.study.kinds.table_result import read_table, results_of
from testbed.study.report import cross_check as page
from testbed.study.report.compare_plots import share_plot
from testbed.study.result import CellResult
from testbed.study.run import StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest

WORDS: Mapping[str, str] = {name: facts.shows for name, facts in ENGINES.items()}
"""The engines, as the page calls them."""
OF_THE_MACHINE = "limits."
"""Settings that say when a run is trusted, and change nothing of it."""


@dataclass(frozen=True)
class Request:
    """What the command line asks for; ``results`` are result folders in place of runs, by engine."""

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


def run(
    names: Sequence[str],
    request: Request,
    base: Path,
    tell: Callable[[Agreement], object],
    *,
    strict: bool,
    resume: str = "",
) -> tuple[Path, list[Agreement], dict[str, str]]:
    """Each scenario and table on all engines, in a result folder in ``base``: the folder, what came out, which ``tell``
    gets as soon as it is there, and why scenarios are not carried by an engine, by name. ``strict``: that is refused,
    with CannotRun."""
    progress = Progress()
    tables = [table_file.load(name, request.settings, quick=request.quick) for name in names if is_table(name)]
    loaded = {name: load(name, request.settings, quick=request.quick) for name in names if not is_table(name)}
    cells, refused = _cells(loaded, request, progress, strict=strict)
    if not cells and not tables:
        raise CannotRun(
            "compare.no-engine-carries", "these engines carry none of the scenarios, so there is nothing to compare"
        )
    every = [cell for of in cells.values() for cell in of]
    results = {engine: str(folder) for engine, folder in request.results.items()}
    spec = StudySpec("cross-check", "cross-check", every, {"names": list(names), **asdict(request), "results": results})
    folder = spec.begin(base, resume)
    found: dict[str, Agreement] = {}
    runs: dict[str, Path] = {}

    def judged(entry: Agreement) -> None:
        found[entry.scenario] = entry
        tell(entry)
        page.write(folder, list(found.values()), {})  # whatever becomes of those that follow

    def judge_if_complete(name: str) -> None:
        if all(cell.id in runs for cell in cells[name]):
            made = {cell.engine.name: runs[cell.id] for cell in cells[name]}
            judged(_of_scenario(loaded[name], {**request.results, **made}, request))

    def ended(result: CellResult) -> None:
        runs[result.cell] = folder / result.record.folder
        judge_if_complete(next(name for name, of in cells.items() if result.cell in [cell.id for cell in of]))

    for name in [name for name, of in cells.items() if not of]:
        judge_if_complete(name)
    if every:
        resume_by = f"add --resume {folder.name} to the same command"
        run_study(spec, folder, progress, resume_by=resume_by, describe=lambda result: result.status, each=ended)
    for table in tables:
        judged(_of_table(table, request, folder / "parts", resume=bool(resume)))
    page.write(folder, list(found.values()), refused)
    return folder, list(found.values()), refused


def _cells(
    loaded: Mapping[str, LoadedScenario], request: Request, progress: Progress, *, strict: bool
) -> tuple[dict[str, list[ScenarioCell]], dict[str, str]]:
    """The runs of each scenario, and why others are not carried by an engine."""
    cells: dict[str, list[ScenarioCell]] = {name: [] for name in loaded}
    refused: dict[str, str] = {}
    for engine in [engines.named(name) for name in request.engines if name not in request.results]:
        if not cells:
            break
        options = request.options(engine)
        programs, choices = ready(engine, options, progress, "cross-check"), engine.choices(options)
        for name in list(cells):
            at = {"scenario": loaded[name].scenario.name, "engine": engine.name}
            cells[name].append(ScenarioCell(at, loaded[name], choices, programs))
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
    return cells, refused


def _of_scenario(loaded: LoadedScenario, folders: Mapping[str, Path], request: Request) -> Agreement:
    for folder in request.results.values():
        plan = read_plan(folder / "plan.json")
        _refuse_another(folder, plan, plan["scenario"], loaded.scenario.name, loaded.overrides, request)
    runs = {WORDS[name]: folders[name] for name in request.engines}
    return of_runs(loaded.scenario.name, loaded.scenario.title, runs)


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
    """Of sessions with several windows; other traffic has none."""
    plan = next(iter(found.values())).plan
    evidence = {word: folder.evidence for word, folder in found.items() if folder.evidence}
    several = [s for s in plan["sessions"] if len(s.get("connections", ())) > 1]
    return [share_plot(session, evidence) for session in several] if traffic_of(plan).windows else []


def _of_table(loaded: table_file.LoadedTable, request: Request, parts: Path, *, resume: bool) -> Agreement:
    folders: dict[str, Path] = {}
    for engine in request.engines:
        folder = request.results.get(engine) or _run_table(loaded, engine, request, parts / engine, resume=resume)
        document = read_table(folder)
        _refuse_another(folder, document, document["name"], loaded.table.name, loaded.overrides, request)
        folders[WORDS[engine]] = folder
    return of_tables(loaded.table, folders)


def _run_table(loaded: table_file.LoadedTable, engine: str, request: Request, results: Path, *, resume: bool) -> Path:
    base = results / loaded.table.name
    earlier = "latest" if resume and (base / "latest").exists() else ""
    asked = table_run.TableRequest(
        request.repeat,
        request.rows,
        request.columns,
        request.runtime,
        engine=engine,
        quick=request.quick,
        resume=earlier,
    )
    return base / table_run.run(loaded, asked, base=results).run


def of_tables(table: Table, folders: Mapping[str, Path]) -> Agreement:
    """One table's result folders, by engine, as the page calls it."""
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
    """The worst of the cells that a table was asked for; one that its engine can't carry is none."""
    found = {cell.cell: cell for cell in results_of(document)}
    parts: list[Status] = []
    for place in requested_places(folder):
        cell = found.get(place.cell)
        if cell is None:
            parts.append(Status.MISSING)
        elif cell.status != Status.UNSUPPORTED:
            parts.append(status_of_cell(cell.record.checks, cell.standing))
    return worst(parts)


def _refuse_another(
    folder: Path, document: Mapping[str, Any], name: str, wanted: str, overrides: Iterable[str], request: Request
) -> None:
    """Raise BadInput where a result folder is of another scenario, or of other settings."""
    settings = [{s for s in of if not s.startswith(OF_THE_MACHINE)} for of in (document["overrides"], overrides)]
    if name != wanted or document["quick"] != request.quick or settings[0] != settings[1]:
        told = f"{name}{' --quick' if document['quick'] else ''} {' '.join(sorted(settings[0]))}".strip()
        raise BadInput(
            "compare.results-of-another",
            "--results: {folder} is of {told}: give the same scenario and options",
            folder=folder,
            told=told,
        )


DOCUMENTS: Documents = {"cross-check.json": read_json}


def write_again(request: VerifyRequest) -> Verification:
    """By the runs and tables in the folder; what was found of others is as recorded. Raises BadInput where a file is
    missing or broken."""
    folder = request.folder.resolve()  # the page names runs by their places, never by `latest`
    document = read_json(folder / "cross-check.json")
    found: list[Agreement] = []
    entries: list[Mapping[str, Any]] = []
    unchecked: list[Message] = []
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
    page.write(request.into, found, document["refused"])
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
