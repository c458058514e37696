"""All claims as one study. Each of their runs is a part, begun and finished by its own kind; the cells of all parts are
in one queue."""

import shlex
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from typing_extensions import NotRequired, TypedDict

from testbed import confine, engines, paths
from testbed.documents import entry_of, read_json, write_json
from testbed.engines import provenance
from testbed.engines.engine import Options, Programs
from testbed.errors import BadInput, TestbedError
from testbed.exit_codes import OF_VERDICT, Exit
from testbed.judge.checks.result import Verdict
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.machine.need import Need
from testbed.plan.engines import DEFAULT, SWEEP
from testbed.planning.traffic import runtime_of
from testbed.runtime.interrupts import Interrupted
from testbed.runtime.progress import Progress, QuietProgress
from testbed.scenario import load as scenarios
from testbed.scenario.files import read
from testbed.study.cell import Cell, ScenarioCell, ready, said_by
from testbed.study.checks import claims as checks
from testbed.study.checks.claims import REFERENCES, Judged, Made, read_claims, verdict_of
from testbed.study.kinds import claims_file, sweep, sweep_file, table, table_file
from testbed.study.kinds.claims_file import Claims, RunSpec, Source
from testbed.study.ledger import LEDGER, Ledger, extend, is_plain_name
from testbed.study.record import CellResult
from testbed.study.report import page
from testbed.study.run import Begun, StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest

NAME = "all"
MOST, MOST_RESUMED = 12, 20
"""Most repetitions of a cell while a claim is undecided, and if a finished result is resumed."""
NOT_CARRIED = ("engine.refuses", "run.none-supported")
"""Errors of an engine that does not support a run: in virtual time on any machine, else with this machine's kernel."""
LACKING = (
    *("build.no-go", "engine.not-built", "kernel.no-netem", "kernel.refuses", "program.no-docker"),
    *("program.not-installed", "run.needs-root", "run.unsupported", "setup.machine-lacks", "setup.still-missing"),
    *("topology.needs-mininet", "vkernel.none", "vkernel.not-built"),
)
"""Errors of a machine that lacks a requirement of a run. With any other error, such as a full disk or a simulator that
was killed, the run broke down: another day it has a result."""


class SetupEntry(TypedDict):
    """A claim's set-up in ``claims.json``."""

    setup: str
    text: str
    differs: str
    beside: str


class BesideEntry(TypedDict):
    """A result of another engine beside the claims."""

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
    together: NotRequired[str]
    """Number of claims that are decided together, in a sentence."""
    false_alarms: NotRequired[dict[str, Any]]
    """Entry of earlier results."""
    minutes: float
    sources: dict[str, Annotated[dict[str, Any], entry_of(Source)]]
    setups: dict[str, SetupEntry]
    """Set-ups by claim."""
    runs: dict[str, Annotated[dict[str, Any], entry_of(Made)]]
    claims: list[Annotated[dict[str, Any], entry_of(Judged, asked=bool, as_known=bool | None)]]
    beside: NotRequired[list[BesideEntry]]


@dataclass(frozen=True)
class Request:
    """Options of the command line."""

    engine: str = DEFAULT
    quick: bool = False
    only: tuple[str, ...] = ()
    resume: str = ""
    link: Literal["auto", "netem", "relay"] = "auto"
    repeat: int | None = None
    """Runs of each cell, if quick, in place of one."""

    def options(self, spec: RunSpec) -> claims_file.Options:
        """Options of a run."""
        return spec.options(self.engine, quick=self.quick, repeat=self.repeat)

    def expected_minutes(self, spec: RunSpec) -> float:
        """Expected minutes of a run."""
        return spec.expected_minutes(self.engine, quick=self.quick, repeat=self.repeat)

    def command(self, spec: RunSpec) -> str:
        """The command for a single run."""
        options = self.options(spec)
        given = [spec.run, *chain.from_iterable(("--set", assignment) for assignment in options.set)]
        for option in ("rows", "columns"):
            if names := getattr(options, option):
                given += [f"--{option}", ",".join(names)]
        if options.repeat and (spec.kind == "table" or options.repeat > 1):
            given += ["--repeat", str(options.repeat)]
        if spec.shorter(quick=self.quick):
            given.append("--quick")
        for option, usual in (("engine", DEFAULT), ("link", "auto")):
            if getattr(self, option) != usual and spec.kind != "sweep":
                given += [f"--{option}", getattr(self, option)]
        return "./run.sh " + shlex.join(given)

    def left_out(self, spec: RunSpec) -> str:
        """Reason for no quick run, if one is requested."""
        return spec.quick.leave_out if self.quick else ""

    def minutes(self, claims: Claims) -> float:
        """Expected minutes of all runs."""
        specs = [spec for spec in claims.runs.values() if not self.left_out(spec)]
        return sum(map(self.expected_minutes, specs))


def list_runs(claims: Claims, request: Request) -> None:
    """Print the runs with their commands, minutes and claims."""
    for name, spec in claims.runs.items():
        print(f"{request.expected_minutes(spec):5.1f} min {spec.disk_mb:4.0f} MB  {request.command(spec)}")
        if why := request.left_out(spec):
            print(f"      left out: {why}")
        for claim_id, claim in claims.claims.items():
            if claim.run == name:
                print(f"      {claim_id}: {claim.text}")
    minutes = request.minutes(claims)
    print(f"{len(claims.claims)} claims, {len(claims.runs)} runs, about {minutes:.0f} min on two idle cores")


@dataclass
class Parts:
    """The runs of all claims in progress; ``folder`` is the result folder."""

    claims: Claims
    request: Request
    folder: Path
    progress: Progress
    made: dict[str, Made] = field(default_factory=dict)
    """Finished runs by name."""
    begun: dict[str, Begun] = field(default_factory=dict)
    """Runs that can be made: tables, sweeps, and the one run of a scenario."""
    results: dict[str, dict[str, CellResult]] = field(default_factory=dict)
    """Results of each run by its own cells."""
    ready: dict[tuple[Any, ...], Programs] = field(default_factory=dict)
    """Programs, built once for all parts with the same requirements."""
    most: int = MOST
    """Most repetitions of a cell."""

    def prepare(self) -> list[Cell]:
        """Returns the cells of all runs that can be made; reports the reason for each other."""
        cells: list[Cell] = []
        for name, spec in self.claims.runs.items():
            if why := self.request.left_out(spec):
                self._end(name, Status.SKIPPED, why)
                continue
            try:
                begun = self.begun[name] = self._begin(spec, self.folder / "runs" / name)
                cells += [cell.in_part(name, begun.folder.relative_to(self.folder)) for cell in begun.spec.cells]
            except Interrupted:
                raise
            except (TestbedError, OSError) as error:
                self._not_made(name, **said_by(error))
        return cells

    def further(self) -> list[Cell]:
        """Returns the next repetition, or those up to the fewest that decide anything, of the cells of full runs that
        undecided claims rest on; none beyond the most."""
        wanted: dict[str, set[str]] = {}
        open_claims = []
        for name, claim in self.claims.claims.items():
            if claim.run in self.begun and not self.request.quick and (made := self.made.get(claim.run)):
                expected = checks.expected_of(name, claim, made, self.request.engine)
                if more := checks.further_cells(name, claim, made, self.folder, expected, self.most):
                    wanted.setdefault(claim.run, set()).update(more)
                    open_claims.append(name)
        cells: list[Cell] = []
        for name, ids in wanted.items():
            extend(self.begun[name].folder, sorted(ids))
            begun = self.begun[name] = self._begin(self.claims.runs[name], self.folder / "runs" / name)
            cells += [
                cell.in_part(name, begun.folder.relative_to(self.folder)) for cell in begun.spec.cells if cell.id in ids
            ]
        if cells:
            self.progress.say(f"  {len(cells)} more runs, as chance leaves open: {', '.join(open_claims)}")
        return cells

    def describe(self, result: CellResult) -> str:
        """Describes the one run of a scenario always, a table's cell if it does not pass, and never the cells of a
        sweep."""
        name, _, own = result.cell.partition("/")
        return self.begun[name].describe(result) if result.status != Status.PASS or not own else ""

    def keep(self, result: CellResult) -> None:
        """Judge a part when all of its cells have results, and again for each further result."""
        name, _, own = result.cell.partition("/")
        found, cells = self.results.setdefault(name, {}), self.begun[name].spec.cells
        found[own] = replace(result, cell=own)
        if len(found) == len(cells):
            self._judge(name, {cell.id: found[cell.id] for cell in cells})
            write(self.claims, self.request, self.folder, self.made)

    def _judge(self, name: str, results: Mapping[str, CellResult]) -> None:
        begun, is_one_run = self.begun[name], "" in results
        for record in (result.record for result in results.values()):
            if record.status in (Status.ERROR, Status.MISSING) and not record.run:
                return self._not_made(name, record.code, record.reason)
            if is_one_run and record.status == Status.UNSUPPORTED:
                return self._not_made(name, record.code or "run.unsupported", record.reason)
        try:
            verdict = begun.finish(results)
            folder = begun.folder / (verdict.run if is_one_run else "")
            lines = (line for line in Ledger(self.folder / LEDGER).read() if line.cell.partition("/")[0] == name)
            files = (path for path in (self.folder / "runs" / name).rglob("*") if path.is_file())
            more: dict[str, Any] = {
                "folder": str(folder.relative_to(self.folder)),
                "exit_code": OF_VERDICT[verdict.verdict],
                "seconds": round(sum(line.took_s for line in lines), 1),
                "disk_mb": round(sum(path.stat().st_size for path in files) / 1e6, 1),
            }
        except OSError as error:
            return self._not_made(name, **said_by(error))
        return self._end(name, verdict.verdict, **more)

    def _not_made(self, name: str, code: str, reason: str) -> None:
        """End a run by its error: not supported, something missing, or broken down."""
        state, exit_code = Status.ERROR, Exit.FAIL
        if code in NOT_CARRIED + LACKING:
            on_no_machine = code in NOT_CARRIED and engines.named(self.request.engine).facts.virtual_time
            state, exit_code = Status.SKIPPED if on_no_machine else Status.UNSUPPORTED, Exit.CANNOT_RUN
        self._end(name, state, reason, exit_code=exit_code)

    def _end(self, name: str, state: Status, why: str = "", **more: Any) -> None:
        spec = self.claims.runs[name]
        command, shorter = self.request.command(spec), spec.shorter(quick=self.request.quick)
        made = self.made[name] = Made(name, command, state, why, shorter=shorter, **more)
        if "" not in self.results.get(name, {}):  # one run has reported itself
            self.progress.say(f"  {name}: {state}" + (f", {made.seconds:.0f} s" if made.folder else f": {why[:160]}"))

    def _begin(self, spec: RunSpec, home: Path) -> Begun:
        """Begin a run with a result folder in ``home``; raises :class:`TestbedError` if it can't be made."""
        engine = engines.named(self.request.engine)
        options, quick = self.request.options(spec), spec.shorter(quick=self.request.quick)
        if spec.kind == "sweep":
            return sweep.begin(sweep_file.load(spec.run, options.set, quick=quick), self._programs(SWEEP), home)
        if spec.kind == "scenario" and (options.repeat or 1) == 1:
            return self._begin_run(scenarios.load(spec.run, options.set, quick=quick), quick, home)
        if spec.kind == "table":
            loaded = table_file.load(spec.run, options.set, quick=quick)
        else:
            loaded = table_file.repeated(spec.run, options.set, quick=quick, repeat=options.repeat or 1, seed=None)
        request = table.TableRequest(
            options.repeat,
            ",".join(options.rows),
            ",".join(options.columns),
            link=self.request.link,
            engine=engine.name,
            quick=quick,
            resume="latest" if (home / loaded.table.name / "latest").exists() else "",
        )
        programs = self._programs(engine.name, request.runtime, table.further_needs(loaded, engine))
        return table.begin(loaded, request, programs, home)

    def _begin_run(self, loaded: scenarios.LoadedScenario, quick: bool, home: Path) -> Begun:
        engine = engines.named(self.request.engine)
        choices = engine.choices(Options(link=self.request.link, quick=quick))
        programs = self._programs(engine.name, runtime_of(loaded.scenario, choices.runtime))
        cell, name = ScenarioCell({}, loaded, choices, programs), loaded.scenario.name
        engine.refuse(cell.plan)

        def finish(results: Mapping[str, CellResult]) -> Verdict:
            return read_verdict(self.folder / results[""].record.folder)

        def describe(result: CellResult) -> str:
            why = f": {result.record.reason[:160]}" if result.status == Status.ERROR else ""
            return f"{result.status}{why}, {result.record.took_s:.0f} s"

        return Begun(StudySpec("run", name, [cell], {}), home / name, finish, describe)

    def is_left_out(self, name: str) -> bool:
        """Whether a quick run leaves a run out, or its engine in virtual time does not support it on any machine."""
        spec = self.claims.runs.get(name)
        if spec is None or self.request.left_out(spec):
            return spec is not None
        if engines.named(self.request.engine).facts.kernel:
            return False
        try:
            self._begin(spec, self.folder / "runs" / name)
        except (TestbedError, OSError) as error:
            return said_by(error)["code"] in NOT_CARRIED
        return False

    def _programs(self, name: str, runtime: Any = "docker", further: frozenset[Need] = frozenset()) -> Programs:
        engine = engines.named(name)
        options = engine.options(runtime, quick=self.request.quick)
        if (key := (name, options.runtime, further)) not in self.ready:
            self.ready[key] = ready(engine, options, QuietProgress(), NAME, further)
        return self.ready[key]


def run(claims: Claims, request: Request, progress: Progress) -> tuple[Status, list[Judged], Path]:
    """Make all runs; returns the verdict, the claims and the result folder."""
    engine = engines.named(request.engine)
    ready(engine, Options(link=request.link, quick=request.quick), progress, NAME)
    identity = {key: value for key, value in asdict(request).items() if key != "resume" and value is not None}
    identity["runs"] = {name: spec.model_dump() for name, spec in claims.runs.items()}
    how, expected_s = f"for {len(claims.claims)} claims", 60 * request.minutes(claims)
    spec = StudySpec("claims", NAME, [], identity, how, expected_s, engine.name)
    folder = spec.begin(paths.results() / NAME, request.resume)
    provenance.write(folder, provenance.of_machine_and_code())
    progress.say(f"  {engine.facts.title}: {engine.facts.model}")
    goes_on = bool(request.resume) and (folder / "claims.json").is_file() and read_claims(folder)["complete"]
    parts = Parts(claims, request, folder, progress, most=MOST_RESUMED if goes_on else MOST)
    spec = replace(spec, cells=parts.prepare())
    resume_by = f"give the same command with --engine {engine.name} --resume {folder.name}"
    run_study(
        spec, folder, progress, resume_by=resume_by, describe=parts.describe, each=parts.keep, further=parts.further
    )
    found = write(claims, request, folder, parts.made, complete=True)
    page.write_claims(folder)
    return verdict_of(found, quick=request.quick), found, folder


def write(
    claims: Claims, request: Request, folder: Path, made: Mapping[str, Made], *, complete: bool = False
) -> list[Judged]:
    """Write ``claims.json`` and ``claims.csv``, with all claims that the runs so far decide."""
    found = []
    for name, claim in claims.claims.items():
        if complete or claim.run in made:
            one = made.get(claim.run) or Made(claim.run, "", Status.ERROR, "It was never made.")
            expected = checks.expected_of(name, claim, one, request.engine)
            undecidable = claim.undecidable_on.get(request.engine, "")
            found.append(checks.judge(name, claim, one, folder, expected, undecidable))
    if reference := latest_reference(request.engine, quick=request.quick):
        found = checks.against_reference(found, reference.folder.name, reference.claims)
    document: Document = {
        "schema": checks.SCHEMA,
        "name": NAME,
        "run": folder.name,
        "engine": request.engine,
        "quick": request.quick,
        "only": list(request.only),
        "complete": complete,
        "verdict": verdict_of(found, quick=request.quick),
        "summary": checks.summary_of(found),
        "together": checks.together_of(found),
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
    checks.write_csv(found, folder / "claims.csv")
    return found


FROM_THE_RUNS = ("verdict", "n", "figures", "intervals")
"""Keys that follow from the runs; the rest is from the claims' file, or the same figures in words."""
DOCUMENTS: Documents = {"claims.json": lambda path: read_claims(path.parent), "claims.csv": read}


def write_again(request: VerifyRequest) -> Verification:
    """Judge the runs again by the claims of this checkout; further keys of other code are as recorded. Raises BadInput
    for a missing or broken file."""
    folder, document, every = request.folder, read_claims(request.folder), claims_file.load()
    only = document["only"]
    chosen = {name: claim for name, claim in every.claims.items() if not only or name in only}
    claims: list[Judged] = []
    entries: list[Mapping[str, Any]] = []
    found = Verification(f"claims {folder.resolve().name}", "")
    differing = found.differences if request.same_code else found.unchecked
    found.scope.extend([f"a selection: only {', '.join(only)}"] if only else [])
    for before in document["claims"]:
        name, judged, entry = before["id"], Judged(**before), before
        claim = every.claims.get(name)
        if claim is None:
            found.unchecked.add_message("claims.unknown", f"{name}: this checkout has no such claim")
        else:
            made = Made(**document["runs"][claim.run])
            # Another checkout's list of expected failures is not this one's, nor is what can't be decided.
            recorded = ExpectedFailure(**judged.xfail) if judged.xfail else None
            expected = checks.expected_of(name, claim, made, document["engine"]) if request.same_code else recorded
            listed = claim.undecidable_on.get(document["engine"], "")
            undecidable, as_reference = listed if request.same_code else judged.undecidable, judged.as_reference
            judged = checks.judge(name, claim, made, folder, expected, undecidable)
            # The references of another checkout are not these either.
            judged = judged if request.same_code else replace(judged, as_reference=as_reference)
            again = {**judged.as_json(), "beside": before["beside"]}
            entry = again if request.same_code else {**before, **{key: again[key] for key in FROM_THE_RUNS}}
            if entry != again:
                found.unchecked.add_message("claims.by-other-code", f"{name}: other code wrote it in another way")
        claims.append(judged)
        entries.append(entry)
    if request.same_code and (reference := latest_reference(document["engine"], quick=document["quick"])):
        claims = checks.against_reference(claims, reference.folder.name, reference.claims)
        entries = [{**claim.as_json(), "beside": entry["beside"]} for claim, entry in zip(claims, entries, strict=True)]
    if document["complete"] and [entry["id"] for entry in entries] != list(chosen):
        differing.add_message("claims.other-claims", "claims: are not those that were chosen of this checkout's")
    if document.get("beside"):
        found.unchecked.add_message(
            "claims.beside-other-results",
            "what stands beside the claims is of other results, which are not in the folder",
        )
    with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
        planned = Parts(every, Request(document["engine"], quick=document["quick"]), Path(place), QuietProgress())
        for name, run in document["runs"].items():
            if not run["folder"] and not planned.is_left_out(name):
                found.unchecked.add_message("claims.no-run", f"{name}: no run is in the folder: {run['why']}")
    verdict = verdict_of(claims, quick=bool(document["quick"]))
    document |= {"verdict": verdict, "claims": entries}
    if request.same_code:
        document |= {"summary": checks.summary_of(claims), "together": checks.together_of(claims)}
        checks.write_csv(checks.judged_in(document), request.into / "claims.csv")
    write_json(request.into / "claims.json", document)
    runs = document["runs"].items()
    parts = [(name, confine.inside(folder, run["folder"])) for name, run in runs if run["folder"]]
    return replace(found, verdict=verdict, parts=parts)


OF_ALL = ("claims.json", "claims.csv", "provenance.json")
SHAKE = "shake.json"
OF_A_RUN = ("verdict.json", "plan.json", "provenance.json", "links.csv", "windows.csv", "table.json", "table.csv")
"""Files of a run or table, without telemetry, captures and logs, which a bundle has."""


def reference_place(name: str) -> Path:
    """Folder of a reference; raises BadInput for a name that leads elsewhere."""
    if not is_plain_name(name):
        raise BadInput(
            "claims.bad-reference-name",
            f"{name!r} is not a valid folder name in {REFERENCES.relative_to(paths.CHECKOUT)}/: use letters, digits, "
            "., _ and -",
        )
    return REFERENCES / name


class Reference(NamedTuple):
    """A reference result of all claims."""

    folder: Path
    claims: list[Judged]


def latest_reference(engine: str, *, quick: bool) -> Reference | None:
    """The newest reference result of all claims on an engine in the same form, by the date in its name, if any."""
    documents = [(path.parent, read_claims(path.parent)) for path in REFERENCES.glob("*/claims.json")]
    same = [
        (folder.name[-10:], folder, document)
        for folder, document in documents
        if (document["engine"], document["quick"], document["only"]) == (engine, quick, [])
    ]
    if not same:
        return None
    _, folder, document = max(same, key=lambda found: found[:2])
    return Reference(folder, checks.judged_in(document))


def keep_reference(result: Path, place: Path, known_lost: Collection[str] = ()) -> list[Path]:
    """Copy the small files of ``result``, a result folder of all claims, a shake, a table or a run, to ``place``;
    returns the copies.

    Raises BadInput for a result that was stopped or can't be trusted, for another result in ``place``, and where a
    claim that passed in the latest reference does not in ``result`` and is not one of ``known_lost``.
    """
    confine.refuse_links(result)
    of_all = (result / "claims.json").is_file()
    main = "claims.json" if of_all else SHAKE if (result / SHAKE).is_file() else "verdict.json"
    document = read_json(result / main)
    if of_all and not document["complete"]:
        raise BadInput(
            "claims.result-stopped",
            f"{result}: it was stopped before it finished",
            f"Go on with it: ./run.sh all --resume {document['run']}",
        )
    if of_all and (before := latest_reference(document["engine"], quick=document["quick"])):
        _, lost = checks.changes_since(before.claims, checks.judged_in(document))
        if unexpected := sorted(set(lost) - set(known_lost)):
            raise BadInput(
                "claims.reference-loses",
                f"{result}: {', '.join(unexpected)} passed in {before.folder.name} and would be lost",
                f"If that is so, name them: {' '.join(f'--lost {name}' for name in unexpected)}",
            )
    if main == "verdict.json" and ((verdict := read_verdict(result)).verdict == Status.UNTRUSTED or verdict.broken):
        raise BadInput("claims.no-reference", f"{result}: {verdict.summary}, so it is no reference")
    there = place / main
    if there.is_file() and read_json(there)["run"] != document["run"]:
        raise BadInput(
            "claims.reference-taken", f"{place} holds the results of another run; give another name, or remove it"
        )
    runs = [result]
    if of_all:
        runs = [confine.inside(result, run["folder"]) for run in document["runs"].values() if run["folder"]]
        runs += [first for run in runs if (run / "table.json").is_file() and (first := table_file.first_run(run))]
    files = [result / name for name in (*OF_ALL, SHAKE) if main != "verdict.json"] + [
        run / name for run in runs for name in OF_A_RUN
    ]
    copies = []
    for path in filter(Path.is_file, files):
        copy = place / path.relative_to(result)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copies.append(Path(shutil.copyfile(path, copy)))
    return copies
