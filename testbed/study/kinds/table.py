"""A table from its file to its verdict: set up, run or resume its cells, judge, report; and rederived from its runs."""

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from typing_extensions import TypedDict

from testbed import engines, paths, traffic
from testbed.documents import entry_of, read_json, write_json
from testbed.engines.engine import Engine, Options, Programs
from testbed.errors import BadInput, TestbedError, refuse_unknown
from testbed.judge import expected_failures
from testbed.judge.checks import planned
from testbed.judge.checks.result import Verdict
from testbed.judge.figures import GOODPUT, unit_of
from testbed.judge.status import Status, current_table
from testbed.judge.verify import Difference, differences, read_verdict, unlisted
from testbed.machine.need import Need
from testbed.message import Messages
from testbed.plan.codes import NPM, OWN
from testbed.plan.duration import expected_transfer_s
from testbed.plan.engines import DEFAULT, SWEEP, engine_of
from testbed.plan.model import Plan, Variant
from testbed.plan.read import read_plan
from testbed.planning.resolve import Choices
from testbed.runtime.progress import Progress, QuietProgress
from testbed.scenario import load as scenarios
from testbed.scenario.files import read
from testbed.scenario.quick import variant_of
from testbed.study.cell import ScenarioCell, ready, refuse_if_none_can_be_made
from testbed.study.checks.table import OfTwo, RisesCheck, judge_table
from testbed.study.kinds import table_file, table_result
from testbed.study.kinds.table_file import KEPT_AS, Column, LoadedTable, Row, load, scenario_of
from testbed.study.kinds.table_result import COLUMN, Place, in_table, places_of, read_cell, read_table
from testbed.study.ledger import request_of
from testbed.study.record import CellResult, by_setting, observations
from testbed.study.report import page, points
from testbed.study.run import Begun, StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest

Part = TypeVar("Part")
GOODPUTS_BPS = {GOODPUT: 8 * 2**20, "goodput_mbps": 1e6, "goodput_bps": 1, "throughput_mbps": 1e6}
"""Figures that links bound, and the bits per second in one of their unit."""


class Document(TypedDict):
    """``table.json``."""

    schema: Literal[3]
    name: str
    run: str
    title: str
    source: str
    description: str
    figures: list[str]
    engine: str
    quick: bool
    repeat: int
    overrides: list[str]
    columns: list[str]
    rows: list[Annotated[dict[str, Any], entry_of(table_result.RowSummary)]]
    ratios: list[tuple[str, str]]
    """Pairs of columns that are compared."""
    plots: list[Annotated[dict[str, Any], entry_of(table_file.GainPlot)]]
    findings: list[str]
    outcomes: list[Annotated[dict[str, Any], entry_of(table_result.Outcome)]]


@dataclass(frozen=True)
class TableRequest:
    """Options of the command line for the runs of a table, or of what is compared."""

    repeat: int | None = None
    rows: str = ""
    columns: str = ""
    runtime: Literal["docker", "process"] = "docker"
    link: Literal["auto", "netem", "relay"] = "auto"
    engine: str = DEFAULT
    quick: bool = False
    resume: str = ""

    @property
    def options(self) -> Options:
        """Options of its runs."""
        return engines.named(self.engine).options(self.runtime, self.link, quick=self.quick)

    @property
    def choices(self) -> Choices:
        """Choices for each of its runs, but for the seed."""
        return engines.named(self.engine).choices(self.options)


@dataclass(frozen=True)
class Selection:
    """The rows, columns and repetitions of a table that are run."""

    loaded: LoadedTable
    request: TableRequest
    rows: Mapping[str, Row]
    columns: Mapping[str, Column]
    repeat: int
    whole: bool
    further: Sequence[str] = ()
    """Ids of cells with more repetitions, of a table that was extended."""

    def places(self) -> list[Place]:
        """Places in the order of their runs: whole tables one after the other, so that changes of the machine in the
        meantime meet all rows and columns alike."""
        every = places_of({row.name: row.repeat for row in self.rows.values()}, self.columns, self.repeat)
        return sorted([*every, *map(Place.of_cell, self.further)], key=lambda place: place.repetition)

    def cells(self, programs: Programs, places: Sequence[Place] = ()) -> list[ScenarioCell]:
        """The cell of each place, by default all; repetitions have the next seeds."""
        rows, columns, choices = self.rows, self.columns, self.request.choices
        places = places or self.places()
        scenarios = {
            (row, column): scenario_of(self.loaded, rows[row], columns[column])
            for row, column in dict.fromkeys((place.row, place.column) for place in places)
        }
        return [
            ScenarioCell(
                place.at,
                scenarios[place.row, place.column],
                replace(choices, seed=self.loaded.table.seed + place.repetition - 1),
                programs,
                columns[place.column].carrier,
                columns[place.column].congestion_control,
                name=str(place),
            )
            for place in places
        ]

    @property
    def identity(self) -> dict[str, Any]:
        """Options and values that determine its runs."""
        return {
            "rows": list(self.rows),
            "columns": list(self.columns),
            "repeat": self.repeat,
            **{key: getattr(self.request, key) for key in ("runtime", "link", "engine", "quick")},
            "cells": scenarios.plain(self.loaded.document["cells"]),
            "settings": {name: scenarios.plain(dict(row.set)) for name, row in self.rows.items()},
            "overrides": list(self.loaded.overrides),
            **({"codes": found} if (found := sorted({*OWN.findall(str(self.loaded.document))})) else {}),
        }


def select(loaded: LoadedTable, request: TableRequest, policies: Iterable[str]) -> Selection:
    """Raises :class:`BadInput` for a row or column that there is none of."""
    rows = {row.name: row for row in loaded.table.rows}
    columns = table_file.columns_of(loaded.table, policies)
    chosen_rows = chosen("row", request.rows or ",".join(loaded.table.only or ()), rows)
    chosen_columns = chosen("column", request.columns, columns)
    return Selection(
        loaded,
        request,
        chosen_rows,
        chosen_columns,
        request.repeat or loaded.table.repeat,
        whole=(chosen_rows, chosen_columns) == (rows, columns),
    )


def chosen(kind: str, requested: str, known: Mapping[str, Part]) -> dict[str, Part]:
    """``1,3`` of what there is, in the table's order; all without anything. BadInput names what there is not."""
    names = [part.strip() for part in requested.split(",") if part.strip()]
    for name in names:
        refuse_unknown("table.no-such-part", kind, name, known, f"--{kind}s")
    return {name: part for name, part in known.items() if not names or name in names}


def _describe(result: CellResult, figure: str) -> str:
    """The cell's value of a figure, and its verdict."""
    record = in_table(result).record
    value = f"{record.figures[figure]:.4g} {unit_of(figure)}, " if figure in record.figures else ""
    again = f", {result.attempts} attempts" if result.attempts > 1 else ""
    why = f": {record.reason[:160]}" if record.reason else ""
    return f"{value}{record.status}{again}{why}"


def plans_of(loaded: LoadedTable, request: TableRequest, programs: Programs | None = None) -> list[tuple[Place, Plan]]:
    """Every cell that would be run with its plan; all is validated on the way. ``programs``: where they are there
    already."""
    programs = programs or engines.named(request.engine).prepare_plans(Progress())
    selection = select(loaded, request, programs.policies)
    return [(place, cell.plan) for place, cell in zip(selection.places(), selection.cells(programs), strict=True)]


def tell(loaded: LoadedTable, request: TableRequest) -> None:
    """Print the cells, with the time that the transfer of each takes."""
    planned = [(cell, expected_transfer_s(plan)) for cell, plan in plans_of(loaded, request)]
    for cell, seconds in planned:
        print(f"{cell!s:<28} {seconds:5.1f} s of transfer")
    print(f"{len(planned)} runs, {sum(seconds for _, seconds in planned) / 60:.1f} min of transfer at best")


def run(loaded: LoadedTable, request: TableRequest, progress: Progress | None = None) -> tuple[Verdict, Path]:
    """Everything; returns the verdict and the result folder."""
    progress = progress or Progress()
    engine = engines.named(request.engine)
    programs = ready(engine, request.options, progress, loaded.table.name, further_needs(loaded, engine))
    begun = begin(loaded, request, programs, paths.results())
    results: dict[str, CellResult] = {}

    def each(result: CellResult) -> None:
        results[result.cell] = result

    try:
        run_study(begun.spec, begun.folder, progress, describe=begun.describe, each=each)
    finally:
        if results:
            verdict = begun.finish(results)
    if untrusted := sum(result.status == Status.UNTRUSTED for result in results.values()):
        many, again = f"{untrusted} of {len(results)} runs", f"add --resume {begun.folder.name} to the same command"
        progress.say(f"{many} can't be trusted. To repeat them, {again}")
    return verdict, begun.folder


def begin(loaded: LoadedTable, request: TableRequest, programs: Programs, results: Path) -> Begun:
    """Begin in a result folder in ``results``, or in the one to resume.

    Raises:
        BadInput: something is wrong with a cell, or with what is to be resumed.
        Unsupported: none of its cells can be run here.
    """
    engine, table = engines.named(request.engine), loaded.table
    selection = select(loaded, request, programs.policies)
    cells = selection.cells(programs)
    refuse_if_none_can_be_made(cells)  # a mistake in any of them is reported before anything is run
    bounds = bounds_of(table.figures, {cell.at["row"]: cell.plan for cell in reversed(cells)})
    how = engine.describe(cells[0].plan, request.options)[0]
    spec = StudySpec("table", table.name, cells, selection.identity, how, sum(cell.transfer_s for cell in cells))
    folder = spec.begin(results / table.name, request.resume, whole=selection.whole, as_selection=True)
    if further := request_of(folder).get("further"):
        selection = replace(selection, further=further)
        cells = selection.cells(programs)
        spec = replace(spec, cells=cells)
    table_file.keep(loaded, folder)  # its checks, by which it is judged from here on
    form = variant_of(changed=loaded.changed, quick=request.quick)
    expected = expected_failures.read().of_run(table.name, engine.name, form)

    def finish(results: Mapping[str, CellResult]) -> Verdict:
        found = [in_table(result) for result in results.values()]
        as_selection = "as_selection" in request_of(folder)  # a resumed table may be of an earlier version
        verdict = write(selection, bounds, folder, folder.name, found, expected, as_selection=as_selection)
        if len(results) == len(cells):
            if endpoint := engine.database():
                points.store(endpoint, read_json(folder / "table.json"), form, time.time_ns())
            page.write_table(folder)
        return verdict

    return Begun(spec, folder, finish, lambda result: _describe(result, table.figures[0]))


def further_needs(loaded: LoadedTable, engine: Engine) -> frozenset[Need]:
    """Needs of columns of a machine whose own kernel carries the runs, and of the packages that the table names."""
    carriers = [] if engine.facts.virtual_time else [one.carrier for one in loaded.table.columns if one.carrier]
    by_npm = engine.facts.kernel and any(code in str(loaded.document) for code in NPM)
    return frozenset(
        {need for one in carriers for need in traffic.named(one).needs} | ({Need.PEERS} if by_npm else set())
    )


def write(
    selection: Selection,
    bounds: Mapping[str, Mapping[str, float]],
    folder: Path,
    run_id: str,
    results: Sequence[CellResult],
    expected: Mapping[str, expected_failures.ExpectedFailure],
    *,
    as_selection: bool = True,
) -> Verdict:
    """``table.json``, ``table.csv`` and, when all cells are there, ``verdict.json``: a table that is not complete has
    figures, but no verdict. ``expected`` are expected failures, by check. ``as_selection``: whether one of its rows and
    columns is judged as such, which earlier versions did not do."""
    table, request, columns = selection.loaded.table, selection.request, list(selection.columns)
    made = {found.cell: found for found in results}
    cells = [made.get(place.cell) or table_result.missing(place) for place in selection.places()]
    summaries = summarise(table, list(selection.rows), columns, bounds, cells)
    document: Document = {
        "schema": table_result.SCHEMA,
        "name": table.name,
        "run": run_id,
        "title": table.title,
        "source": table.source,
        "description": table.description.strip(),
        "figures": list(table.figures),
        "engine": request.engine,
        "quick": request.quick,
        "repeat": selection.repeat,
        "overrides": list(selection.loaded.overrides),
        "columns": columns,
        "rows": [asdict(summary) for summary in summaries],
        "ratios": _ratios(selection),
        "plots": [plot.model_dump() for plot in table.plots],
        "findings": table.findings,
        "outcomes": table_result.outcomes_of(cells),
    }
    write_json(folder / "table.json", document)
    table_result.write_csv(summaries, columns, folder / "table.csv")
    partial = request.quick or not selection.whole
    judged = table.name, table.checks, run_id, summaries, cells
    every_row = [row.name for row in table.rows] if as_selection and not selection.whole else None
    verdict = judge_table(*judged, partial=partial, engine=request.engine, expected=expected, every_row=every_row)
    if len(made) == len(cells):
        write_json(folder / "verdict.json", verdict.to_json())
    return verdict


def summarise(
    table: table_file.Table,
    rows: Sequence[str],
    columns: Sequence[str],
    bounds: Mapping[str, Mapping[str, float]],
    results: Sequence[CellResult],
) -> list[table_result.RowSummary]:
    """Every chosen row; ``bounds`` are by row and figure."""
    known = [(source, table_file.read_known(source)) for source in table.known]
    runs = by_setting(results)
    return [
        table_result.RowSummary(
            row.name,
            row.label or row.name,
            row.title,
            bounds.get(row.name, {}),
            {name: {c: _spread(runs[row.name, c], name) for c in columns} for name in table.figures},
            {c: _state(runs[row.name, c]) for c in columns},
            [value for source, values in known for value in table_file.known_of(source, values, row, table.figures[0])],
        )
        for row in table.rows
        if row.name in rows
    ]


def _spread(results: Sequence[CellResult], figure: str) -> table_result.Spread:
    counted = table_result.counting(results, figure)
    return table_result.Spread.of([found.record.figures[figure] for found in observations(counted)], len(counted))


def _state(results: Sequence[CellResult]) -> Status:
    states = {found.status for found in results}
    worst_first = (Status.FAIL, Status.ERROR, Status.UNTRUSTED, Status.UNSUPPORTED, Status.PASS)
    return next((status for status in worst_first if status in states), Status.MISSING)


def _ratios(selection: Selection) -> list[tuple[str, str]]:
    """Pairs of columns to be compared: those of the checks, and each of NCP's with each of its peers."""
    table, columns = selection.loaded.table, selection.columns
    pairs = [(c.column, c.over) for c in table.checks if isinstance(c, OfTwo) and not isinstance(c, RisesCheck)]
    peers = [str(c.name) for c in table.columns if c.carrier]
    pairs += [(column, peer) for peer in peers for column in columns if column not in peers]
    return [(a, b) for a, b in dict.fromkeys(pairs) if a in columns and b in columns]


def bounds_of(figures: Sequence[str], first: Mapping[str, Plan]) -> dict[str, dict[str, float]]:
    """Bounds of each row's payload by its links, from the plan of its first cell, for figures that are a goodput."""
    bounds_bps = {
        row: planned.bound_bps(plan, plan["sessions"][0], to_s=expected_transfer_s(plan)) for row, plan in first.items()
    }
    return {
        row: {name: round(bps / GOODPUTS_BPS[name], 6) for name in figures if name in GOODPUTS_BPS}
        for row, bps in bounds_bps.items()
    }


def places_requested(folder: Path) -> list[Place]:
    """The places that a table's result folder was to have, row by row; BadInput where a file is missing or broken."""
    names, file = request_of(folder), folder / KEPT_AS
    most = {row.name: row.repeat for row in load(str(file)).table.rows} if file.is_file() else {}
    first = places_of({row: most.get(row) for row in names["rows"]}, names["columns"], int(names["repeat"]))
    return [*first, *map(Place.of_cell, names.get("further", ()))]


def requested(folder: Path) -> Selection:
    """The table as its result folder keeps it, and what was requested of it; BadInput where a file is missing or
    broken."""
    names, file = request_of(folder), folder / KEPT_AS
    document = read_table(folder) if (folder / "table.json").is_file() else names
    if not file.is_file():
        raise BadInput(
            "table.no-request",
            f"{folder}: has no {KEPT_AS}, which has the request",
            f"Verify its runs: {folder}/cells/*/*/*/*-*",
        )
    loaded = replace(load(str(file)), overrides=tuple(document["overrides"]))
    own = {column.name for column in loaded.table.columns}
    rows, columns = (",".join(names[key]) for key in ("rows", "columns"))
    request = TableRequest(int(names["repeat"]), rows, columns, engine=document["engine"], quick=document["quick"])
    selection = select(loaded, request, [name for name in names["columns"] if name not in own])
    whole = selection.whole and bool(names.get("whole", True))
    return replace(selection, whole=whole, further=names.get("further", ()))


def unfinished(folder: Path) -> tuple[dict[str, Any], Verdict] | None:
    """``table.json`` by the runs that are there, and how its checks stand, of a table that was stopped; None where it
    has its verdict. BadInput where a file is missing or broken."""
    if (folder / "verdict.json").is_file():
        return None
    selection = requested(folder)
    found = [cell for place in selection.places() if (cell := read_cell(place, folder / place.folder))]
    plans = {cell.at["row"]: folder / Place.of(cell).folder / cell.record.run / "plan.json" for cell in reversed(found)}
    first = {row: read_plan(plan) for row, plan in plans.items() if plan.is_file()}
    with tempfile.TemporaryDirectory(prefix="ncp-report-") as place:
        bounds = bounds_of(selection.loaded.table.figures, first)
        verdict = write(selection, bounds, Path(place), folder.name, found, {})
        return read_table(Path(place)), verdict


DOCUMENTS: Documents = {
    "table.json": lambda path: read_table(path.parent),
    "table.csv": lambda path: current_table(read(path)),
    "verdict.json": lambda path: read_verdict(path.parent).to_json(),
}


def write_again(request: VerifyRequest) -> Verification:
    """Write the documents by the table's runs; cells that this machine could not run are taken from the record. Raises
    BadInput where a file is missing or broken."""
    folder = request.folder
    recorded, document, selection = read_verdict(folder), read_table(folder), requested(folder)
    kept = {cell.cell: cell for cell in table_result.results_of(document) if cell.status == Status.UNSUPPORTED}
    made = (read_cell(place, folder / place.folder) or kept.get(place.cell) for place in selection.places())
    results = [cell for cell in made if cell]
    bounds = {row["name"]: row["bounds"] for row in document["rows"]}
    judged = selection, bounds, request.into, document["run"], results, recorded.expected
    again = today = write(*judged)
    if not (selection.whole or request.same_code or "as_selection" in request_of(folder)):
        again = write(*judged, as_selection=False)
    write_json(request.into / "verdict.json", again.to_json())  # of one that is not complete, too
    form = variant(document, document["name"]) if recorded.expected else ""
    scope = [] if selection.whole else [f"{today.counts}"]
    found = Verification.of(again, differences=Messages(_cells(folder, selection)), scope=scope)
    if again is not today:
        found.unchecked.add_message(
            "verify.selection",
            f"earlier code did not judge it as a selection; today it is {today.verdict}: {today.summary}",
        )
    unsupported = [cell for cell in results if cell.status == Status.UNSUPPORTED and not cell.record.run]
    on_no_machine = _on_no_machine(selection, [Place.of(cell) for cell in unsupported])
    for cell in unsupported:
        if Place.of(cell) not in on_no_machine:
            found.unchecked.add_message(
                "run.unsupported-here", f"{Place.of(cell)}: no run is in the folder: {cell.record.reason}"
            )
    as_listed = unlisted(document["name"], document["engine"], form, recorded)
    (found.differences if request.same_code else found.unchecked).extend(as_listed)
    return found


def _on_no_machine(selection: Selection, places: Sequence[Place]) -> set[Place]:
    """The cells among those that this machine did not run that no machine can: the engine, in virtual time, does not
    support them."""
    if not places or not engines.named(selection.request.engine).facts.virtual_time:
        return set()
    try:
        programs = engines.named(SWEEP).prepare_plans(QuietProgress())
        cells = selection.cells(programs, places)
    except (TestbedError, OSError):
        return set()
    return {place for place, cell in zip(places, cells, strict=True) if cell.unsupported}


def _cells(folder: Path, selection: Selection) -> Iterator[Difference]:
    """Differences between a cell's run and the scenario and seed of the table."""
    loaded = selection.loaded
    for place in selection.places():
        scenario = scenario_of(loaded, selection.rows[place.row], selection.columns[place.column])
        should = scenarios.plain(scenarios.parse(loaded.path, scenario.text, "a scenario is a mapping"))
        column, request = selection.columns[place.column], selection.request
        should_be = {
            "seed": loaded.table.seed + place.repetition - 1,
            "overrides": list(scenario.overrides),
            "engine": request.engine,
            "quick": request.quick,
            "carrier": column.carrier,
            "congestion_control": column.congestion_control if column.carrier else None,
        }
        for plan_file in sorted((folder / place.folder).glob("*/plan.json")):
            run = plan_file.parent
            if run.is_symlink():
                continue
            where, plan, kept = str(run.relative_to(folder)), read_plan(plan_file), run / "scenario.yaml"
            session = plan["sessions"][0]
            found = {key: plan.get(key) for key in ("seed", "overrides", "quick")} | {"engine": engine_of(plan).name}
            found |= {
                key: session.get(key) if "carrier" in session else None for key in ("carrier", "congestion_control")
            }
            there = scenarios.plain(scenarios.parse(kept, read(kept), "a scenario is a mapping"))
            yield from differences(f"{where}: scenario.yaml", there, should)
            yield from differences(f"{where}: plan.json", found, should_be)


def variant(document: Mapping[str, Any], file: str) -> Variant:
    """``full``, ``quick`` or ``changed``, of the ``table.json`` of a table or a repeated scenario: its name, or its
    file."""
    return variant_of(changed=_assignments(document, file), quick=document["quick"])


def _assignments(document: Mapping[str, Any], file: str) -> list[str]:
    """The recorded overrides that are not of the file's own ``quick`` section, which come first: those of ``--set``."""
    load_own = scenarios.load if document["columns"] == [COLUMN] else load
    own = load_own(file, quick=bool(document["quick"])).overrides
    return [str(text) for text in document["overrides"][len(own) :]]


def differences_from(file: str, folder: Path) -> list[Difference]:
    """Differences between the table in the folder and that of ``file``, a table's or a repeated scenario's, with the
    recorded overrides."""
    document, kept = read_table(folder), folder / KEPT_AS
    assignments, quick = _assignments(document, file), bool(document["quick"])
    if document["columns"] == [COLUMN]:
        repeat, seed = int(request_of(folder)["repeat"]), load(str(kept)).table.seed
        again = table_file.repeated(file, assignments, quick=quick, repeat=repeat, seed=seed)
    else:
        again = load(file, assignments, quick=quick)
    there = scenarios.parse(kept, read(kept), "a table is a mapping")
    return list(differences(KEPT_AS, scenarios.plain(there), scenarios.plain(again.document)))
