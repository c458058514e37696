"""All claims as one study: each run that they need is a part of it, which the functions of its verb prepare and judge.
The cells of all parts are in one queue."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import NotRequired, TypedDict

from testbed import engines, paths
from testbed.documents import entry_of, write_json
from testbed.engines import Engine, Options, Programs, provenance
from testbed.errors import TestbedError
from testbed.exit_codes import OF_VERDICT, Exit
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.machine import Need
from testbed.plan.default_engine import DEFAULT, SWEEP
from testbed.planning.traffic import runtime_of
from testbed.runtime import lock
from testbed.runtime.interrupts import Interrupted
from testbed.runtime.progress import Progress, QuietProgress
from testbed.scenario import load as scenarios
from testbed.study.cell import Cell, ScenarioCell, Target, ready
from testbed.study.checks import judged as table
from testbed.study.checks.beside import MODELS, TITLES
from testbed.study.checks.claims import Made, expected_of, judge
from testbed.study.checks.false_alarms import FalseAlarms
from testbed.study.checks.judged import SCHEMA, Judged
from testbed.study.kinds import sweep as sweep_run
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables
from testbed.study.kinds.claims_file import Claims, RunSpec, Source, kind_of
from testbed.study.kinds.table_file import repeated
from testbed.study.ledger import LEDGER, Ledger, begin, kept_when_stopped
from testbed.study.record import RunRecord
from testbed.study.report import page
from testbed.study.result import CellResult
from testbed.study.run import Begun, run_cells

NAME = "all"
NOT_CARRIED = ("engine.refuses", "run.none-supported")
"""Errors by which an engine carries no such run: in virtual time on any machine, else with this machine's kernel."""
LACKING = (
    "build.no-go",
    "engine.not-built",
    "kernel.no-netem",
    "kernel.refuses",
    "program.no-docker",
    "program.not-installed",
    "run.needs-root",
    "run.unsupported",
    "setup.machine-lacks",
    "setup.still-missing",
    "topology.needs-mininet",
    "vkernel.none",
    "vkernel.not-built",
)
"""Errors by which this machine lacks what a run needs. Any other by which it can't be made, such as a full disk or a
simulator that was killed, is a run that broke down: another day it has a result."""


class SetupEntry(TypedDict):
    """A claim's set-up in ``claims.json``."""

    setup: str
    text: str
    differs: str
    beside: str


class BesideEntry(TypedDict):
    """A result of another engine that the claims were put beside."""

    engine: str
    run: str
    quick: bool


class Document(TypedDict):
    """``claims.json``."""

    schema: Literal[2]
    name: str
    run: str
    engine: str
    quick: bool
    only: list[str]
    complete: bool
    verdict: Status
    summary: str
    false_alarms: Annotated[dict[str, Any], entry_of(FalseAlarms, text=str)]
    minutes: float
    sources: dict[str, Annotated[dict[str, Any], entry_of(Source)]]
    setups: dict[str, SetupEntry]
    """By claim."""
    runs: dict[str, Annotated[dict[str, Any], entry_of(Made)]]
    claims: list[Annotated[dict[str, Any], entry_of(Judged, asked=bool, as_known=bool | None)]]
    beside: NotRequired[list[BesideEntry]]


@dataclass(frozen=True)
class Request:
    """What the command line says."""

    engine: str = DEFAULT
    quick: bool = False
    only: tuple[str, ...] = ()
    resume: str = ""
    link: Literal["auto", "netem", "relay"] = "auto"

    @property
    def options(self) -> Options:
        """How the runs are made."""
        return Options(link=self.link, quick=self.quick)

    def command(self, spec: RunSpec) -> str:
        """The command that makes a run alone."""
        kind, options = kind_of(spec), spec.options(self.engine, quick=self.quick)
        given = [spec.run]
        for assignment in options.set:
            given += ["--set", assignment]
        if options.rows:
            given += ["--rows", ",".join(options.rows)]
        if options.columns:
            given += ["--columns", ",".join(options.columns)]
        if options.repeat and (kind == "table" or options.repeat > 1):
            given += ["--repeat", str(options.repeat)]
        if spec.shorter(quick=self.quick):
            given.append("--quick")
        if self.engine != DEFAULT and kind != "sweep":
            given += ["--engine", self.engine]
        if self.link != "auto" and kind != "sweep":
            given += ["--link", self.link]
        return "./run.sh " + shlex.join(given)

    def minutes(self, claims: Claims) -> float:
        """What all runs take."""
        return sum(
            spec.expected_minutes(self.engine, quick=self.quick)
            for spec in claims.runs.values()
            if not self.left_out(spec)
        )

    def left_out(self, spec: RunSpec) -> str:
        """Why a run has no quick form, where that is requested."""
        return spec.quick.leave_out if self.quick else ""

    def identity(self, claims: Claims) -> dict[str, Any]:
        """What must be the same to resume."""
        runs = {name: spec.model_dump() for name, spec in claims.runs.items()}
        return {"engine": self.engine, "link": self.link, "quick": self.quick, "only": list(self.only), "runs": runs}


def list_runs(claims: Claims, request: Request) -> None:
    """Print the runs with their commands, minutes and claims."""
    for name, spec in claims.runs.items():
        expected = spec.expected_minutes(request.engine, quick=request.quick)
        print(f"{expected:5.1f} min {spec.disk_mb:4.0f} MB  {request.command(spec)}")
        if why := request.left_out(spec):
            print(f"      left out: {why}")
        for claim_id, claim in claims.claims.items():
            if claim.run == name:
                print(f"      {claim_id}: {claim.text}")
    print(f"{len(claims.claims)} claims, {len(claims.runs)} runs, about {request.minutes(claims):.0f} min")


@dataclass(frozen=True, eq=False)
class PartCell(Cell):
    """A cell of a part, whose folder is in ``place`` of the result folder of all. What would end the part alone becomes
    a record: the cells of others go on."""

    part: str
    place: Path
    cell: Cell

    @property
    def at(self) -> Mapping[str, str]:  # type: ignore[override]
        """In its part."""
        return {"part": self.part, **self.cell.at}

    @property
    def label(self) -> str:
        """The part's name before its own."""
        return f"{self.part} {self.cell.label}".strip()

    @property
    def engine(self) -> Engine:
        """Its own."""
        return self.cell.engine

    @property
    def target(self) -> Target:
        """Its own."""
        return self.cell.target

    @property
    def folder(self) -> Path:
        """In the result folder of all."""
        return self.place / self.cell.folder

    @property
    def expected_s(self) -> float:  # type: ignore[override]
        """Its own."""
        return self.cell.expected_s

    @property
    def unsupported(self) -> str:  # type: ignore[override]
        """Its own."""
        return self.cell.unsupported

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """One attempt, also one that breaks down without a result folder."""
        try:
            record = self.cell.run(study / self.place, progress)
        except Exception as error:
            if isinstance(error, Interrupted) or (isinstance(error, TestbedError) and error.code in lock.BUSY_CODES):
                raise
            return RunRecord(cell=self.id, status=Status.ERROR, code=code_of(error), reason=message_of(error))
        return self._placed(record)

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """The cell's own; attempts without a result folder may have one today."""
        own = [self.alone(line) for line in lines if line.run]
        return [self._placed(record) for record in self.cell.earlier(study / self.place, own)]

    def alone(self, record: RunRecord) -> RunRecord:
        """A record as the part has it, inside its own folder."""
        folder = str(Path(record.folder).relative_to(self.place)) if record.folder else ""
        return record.model_copy(update={"cell": self.cell.id, "folder": folder})

    def _placed(self, record: RunRecord) -> RunRecord:
        folder = str(self.place / record.folder) if record.folder else ""
        return record.model_copy(update={"cell": self.id, "folder": folder})


def code_of(error: Exception) -> str:
    """What programs know an error by; "" of errors of Python."""
    return error.code if isinstance(error, TestbedError) else ""


def message_of(error: Exception) -> str:
    """The text of an error."""
    return error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True, eq=False)
class _OneRun(ScenarioCell):
    """The one run of a scenario, whose folder is where the scenario's results have it."""

    @property
    def folder(self) -> Path:
        """By the scenario's name."""
        return Path(self.loaded.scenario.name)


@dataclass(frozen=True)
class Part:
    """A run that claims need, ready to be made."""

    name: str
    cells: Mapping[str, PartCell]
    """By their ids."""
    begun: Begun | None
    """The table or sweep; None of one run of a scenario."""

    def alone(self, result: CellResult) -> CellResult:
        """A result as the table or sweep has it."""
        cell = self.cells[result.cell]
        return CellResult(cell.cell.id, cell.cell.at, result.attempts, cell.alone(result.record))


@dataclass
class Parts:
    """The runs of all claims, while they are made; ``folder`` is the result folder."""

    claims: Claims
    request: Request
    folder: Path
    progress: Progress
    made: dict[str, Made] = field(default_factory=dict)
    """What became of each run, by name."""
    parts: dict[str, Part] = field(default_factory=dict)
    results: dict[str, dict[str, CellResult]] = field(default_factory=dict)
    """By part and cell."""
    outdated: set[str] = field(default_factory=set)
    """Parts that were judged before a cell of theirs was run again."""
    ready: dict[tuple[Any, ...], Programs] = field(default_factory=dict)
    """Once for all parts with the same needs."""

    def prepare(self) -> list[PartCell]:
        """The cells of all runs that can be made; of each other it is told what kept it."""
        for name, spec in self.claims.runs.items():
            if why := self.request.left_out(spec):
                self._end(Made(name, self.request.command(spec), Status.SKIPPED, why))
                continue
            try:
                self.parts[name] = self._part(name, spec)
            except Interrupted:
                raise
            except (TestbedError, OSError) as error:
                self._end(self._not_made(name, code_of(error), message_of(error)))
        return [cell for part in self.parts.values() for cell in part.cells.values()]

    def describe(self, result: CellResult) -> str:
        """Of the one run of a scenario always, of a table's cells what is no pass; those of sweeps are too many."""
        part = self.parts[result.at["part"]]
        if part.begun is None:
            why = f": {result.record.reason[:160]}" if result.status == Status.ERROR else ""
            return f"{result.status}{why}, {result.record.took_s:.0f} s"
        return "" if result.status == Status.PASS else part.begun.describe(part.alone(result))

    def keep(self, result: CellResult) -> None:
        """A part is judged when all of its cells have results."""
        name = result.at["part"]
        part, found = self.parts[name], self.results.setdefault(name, {})
        found[result.cell] = result
        if name in self.made:
            self.outdated.add(name)
        elif len(found) == len(part.cells):
            self._judge(part)
            write(self.claims, self.request, self.folder, self.made)

    def judge_outdated(self) -> None:
        """With the results of today."""
        for name in sorted(self.outdated):
            self._judge(self.parts[name])

    def _judge(self, part: Part) -> None:
        results = [self.results[part.name][cell] for cell in part.cells]
        broken = next(
            (r.record for r in results if r.status in (Status.ERROR, Status.MISSING) and not r.record.run), None
        )
        if broken is None and part.begun is None and results[0].status == Status.UNSUPPORTED:
            broken = results[0].record
        if broken is None:
            try:
                made = self._judged(part, results)
            except OSError as error:
                made = self._not_made(part.name, code_of(error), message_of(error))
        else:
            lacking = "run.unsupported" if broken.status == Status.UNSUPPORTED else ""
            made = self._not_made(part.name, broken.code or lacking, broken.reason)
        self._end(made, quietly=part.begun is None)

    def _judged(self, part: Part, results: Sequence[CellResult]) -> Made:
        if part.begun is None:
            folder = self.folder / results[0].record.folder
        else:
            folder = part.begun.folder
            part.begun.finish({one.cell: one for one in map(part.alone, results)})
        home, status = self._home(part.name), read_verdict(folder).verdict
        lines = (line for line in Ledger(self.folder / LEDGER).read() if line.cell.partition("/")[0] == part.name)
        return Made(
            part.name,
            self.request.command(self.claims.runs[part.name]),
            status,
            folder=str(folder.relative_to(self.folder)),
            exit_code=OF_VERDICT[status],
            seconds=round(sum(line.took_s for line in lines), 1),
            disk_mb=round(sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 1e6, 1),
            shorter=self.claims.runs[part.name].shorter(quick=self.request.quick),
        )

    def _not_made(self, name: str, code: str, why: str) -> Made:
        """What kept a run from being made, by the error: that it is not carried or something is lacking, else that it
        broke down."""
        state, exit_code = Status.ERROR, Exit.FAIL
        if code in NOT_CARRIED + LACKING:
            carried = code in LACKING or not engines.named(self.request.engine).facts.virtual_time
            state, exit_code = Status.UNSUPPORTED if carried else Status.SKIPPED, Exit.CANNOT_RUN
        spec = self.claims.runs[name]
        shorter = spec.shorter(quick=self.request.quick)
        return Made(name, self.request.command(spec), state, why, exit_code=exit_code, shorter=shorter)

    def _end(self, made: Made, *, quietly: bool = False) -> None:
        self.made[made.name] = made
        if not quietly:
            more = f", {made.seconds:.0f} s" if made.judged else f": {made.why[:160]}"
            self.progress.say(f"  {made.name}: {made.state}{more}")

    def _home(self, name: str) -> Path:
        return self.folder / "runs" / name

    def _part(self, name: str, spec: RunSpec) -> Part:
        """Raises :class:`TestbedError` where it can't be made."""
        place = self._home(name)
        engine, options = self.request.engine, spec.options(self.request.engine, quick=self.request.quick)
        quick, kind, begun = spec.shorter(quick=self.request.quick), kind_of(spec), None
        cells: Sequence[Cell]
        if kind == "sweep":
            loaded_sweep = sweeps.load(spec.run, options.set, quick=quick)
            begun = sweep_run.begin(loaded_sweep, self._programs(SWEEP), place)
        elif kind == "table" or (options.repeat or 1) > 1:
            if kind == "table":
                loaded, repeat = tables.load(spec.run, options.set, quick=quick), options.repeat
            else:
                repeat = None
                loaded = repeated(spec.run, options.set, quick=quick, repeat=options.repeat or 1, seed=None)
            resume = "latest" if (place / loaded.table.name / "latest").exists() else ""
            request = table_run.TableRequest(
                repeat,
                ",".join(options.rows),
                ",".join(options.columns),
                link=self.request.link,
                engine=engine,
                quick=quick,
                resume=resume,
            )
            programs = self._programs(
                engine, request.options.runtime, table_run.further_needs(loaded, engines.named(engine))
            )
            begun = table_run.begin(loaded, request, programs, place)
        else:
            cells = [self._one_run(spec, options.set, quick)]
        cells = begun.spec.cells if begun else cells
        inside = (begun.folder if begun else place).relative_to(self.folder)
        placed = (PartCell(name, inside, cell) for cell in cells)
        return Part(name, {cell.id: cell for cell in placed}, begun)

    def _programs(self, engine: str, runtime: Any = None, further: frozenset[Need] = frozenset()) -> Programs:
        if (key := (engine, runtime, further)) not in self.ready:
            self.ready[key] = ready(engines.named(engine), Options(runtime), QuietProgress(), NAME, further)
        return self.ready[key]

    def _one_run(self, spec: RunSpec, assignments: Sequence[str], quick: bool) -> ScenarioCell:
        engine, options = engines.named(self.request.engine), Options(link=self.request.link, quick=quick)
        loaded = scenarios.load(spec.run, assignments, quick=quick)
        choices = engine.choices(options)
        runtime = None if engine.facts.virtual_time else runtime_of(loaded.scenario, choices.runtime)
        programs = self._programs(engine.name, runtime)
        cell = _OneRun({}, loaded, choices, programs)
        engine.refuse(cell.plan)
        return cell


def run(claims: Claims, request: Request, progress: Progress) -> tuple[Status, list[Judged], Path]:
    """The verdict, the claims and the result folder."""
    engine = engines.named(request.engine)
    ready(engine, request.options, progress, NAME)
    folder = begin(paths.results() / NAME, "claims", request.identity(claims), request.resume)
    write_json(folder / "provenance.json", provenance.of_machine_and_code())
    parts = Parts(claims, request, folder, progress)
    cells, minutes = parts.prepare(), request.minutes(claims)
    progress.begun(NAME, folder.name, engine.name, folder, len(cells), 60 * minutes)
    progress.say(
        f"{NAME} {folder.name}: {len(claims.claims)} claims by {len(claims.runs)} runs, about {minutes:.0f} min, "
        f"results in {folder}"
    )
    progress.say(f"  {TITLES[engine.name]}: {MODELS[engine.name]}")
    start_s = time.monotonic()
    how_to_resume = f"To resume: the same command with --engine {engine.name} --resume {folder.name}"
    with kept_when_stopped(progress, how_to_resume):
        run_cells(cells, folder, progress, describe=parts.describe, each=parts.keep)
    parts.judge_outdated()
    found = write(claims, request, folder, parts.made, complete=True)
    page.write_claims(folder)
    progress.say(f"  {(time.monotonic() - start_s) / 60:.1f} min")
    return table.verdict_of(found, quick=request.quick), found, folder


def write(
    claims: Claims, request: Request, folder: Path, made: Mapping[str, Made], *, complete: bool = False
) -> list[Judged]:
    """``claims.json`` and ``claims.csv``: all that can be judged by the runs made so far."""
    found = []
    for name, claim in claims.claims.items():
        if complete or claim.run in made:
            one = made.get(claim.run) or Made.never(claim.run)
            found.append(judge(name, claim, one, folder, expected_of(name, claim, one, request.engine)))
    document: Document = {
        "schema": SCHEMA,
        "name": NAME,
        "run": folder.name,
        "engine": request.engine,
        "quick": request.quick,
        "only": list(request.only),
        "complete": complete,
        "verdict": table.verdict_of(found, quick=request.quick),
        "summary": table.summary_of(found),
        "false_alarms": FalseAlarms.of(found).as_json(),
        "minutes": round(sum(one.seconds for one in made.values()) / 60, 1),
        "sources": {name: source.model_dump() for name, source in claims.sources.items()},
        "setups": {
            name: {
                "setup": claim.setup,
                "text": claims.setups[claim.setup].in_words(),
                "differs": claim.holds_with(),
                "beside": claim.beside or "",
            }
            for name, claim in claims.claims.items()
        },
        "runs": {name: asdict(made[name]) for name in claims.runs if name in made},
        "claims": [claim.as_json() for claim in found],
    }
    write_json(folder / "claims.json", document)
    table.write_csv(found, folder / "claims.csv")
    return found
