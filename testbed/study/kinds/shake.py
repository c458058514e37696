"""Shakes claims: each is judged by its own check at points of the neighbourhood of its set-up.

The claims of a run share its points. Values that a source gives move by :data:`GIVEN`, those that are chosen here by a
factor of :data:`CHOSEN` either way; a bound that follows from the set-up, such as the links' ratio, moves with it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from testbed import engines, paths
from testbed.documents import write_json
from testbed.engines import provenance
from testbed.engines.engine import Engine, Programs
from testbed.errors import BadInput
from testbed.judge import status
from testbed.judge.checks import planned
from testbed.judge.status import Status
from testbed.plan.duration import expected_transfer_s
from testbed.plan.model import Plan
from testbed.runtime.progress import Progress, QuietProgress
from testbed.scenario.load import parse, validated
from testbed.scenario.model import Scenario
from testbed.scenario.overrides import apply_override
from testbed.study.cell import RecordCell, ScenarioCell, ready
from testbed.study.checks.claims import failed_fact
from testbed.study.checks.shake import DECIDED, DUMMY, At, Edge, judge, nearest_failure
from testbed.study.checks.table import is_about, judge_one
from testbed.study.kinds import table, table_file
from testbed.study.kinds.claims import SHAKE
from testbed.study.kinds.claims_file import Claim, Claims, RunSpec
from testbed.study.kinds.table_result import Place, in_table
from testbed.study.record import CellResult
from testbed.study.report import page
from testbed.study.run import StudySpec, run_cells, run_study
from topologies.link import rate_pps

NAME = "shake"
POINTS = {False: 256, True: 32}
"""Points without a kernel, and with one: the first of the same."""
SEED = 24
GIVEN, CHOSEN = 0.1, 2.0
KEYS = {
    **dict.fromkeys(("rate", "ratio"), "links.*.rate"),
    **{name: f"links.*.{name}" for name in ("delay", "queue", "loss")},
    "size": "sessions.*.transfer",
    "payload": "sessions.*.mtu",
}
"""Factors that a set-up may have, and the beginnings of their keys there."""
FACTORS = (*KEYS, "start", "seed", DUMMY)
OFFSET_MS = 100.0
"""Latest start of each further session after its own time."""
STEPS = 5
"""Halvings of the distance to the nearest failure along one factor."""
MIN_ROUND_TRIPS = 1.5
"""Least time constant for the convergence law: with less, windows hardly fill the links."""
RowColumn = tuple[str, str]
"""Row and column of a table; of a scenario they are always the same."""
Found = tuple[Status, str, float | None]


@dataclass(frozen=True)
class Point:
    """A point of the design around one run's set-up: its cells by row and column, or the reason why there is none."""

    name: str
    place: Mapping[str, float]
    changes: Mapping[str, float]
    cells: Mapping[RowColumn, RecordCell]
    refused: str = ""


@dataclass(frozen=True)
class ShakenRun:
    """A run of claims on an engine, and what its set-up has of the factors."""

    name: str
    spec: RunSpec
    loaded: table_file.LoadedTable
    claims: Mapping[str, Claim]
    base: Mapping[RowColumn, ScenarioCell]
    reach: Mapping[str, float]
    """Reach of each factor: :data:`GIVEN` or :data:`CHOSEN`."""

    @property
    def engine(self) -> Engine:
        """The engine of all its cells."""
        return next(iter(self.base.values())).engine

    def points(self) -> list[Point]:
        """All points, the source's own first: it is the set-up as it is."""
        return [self.point(str(n), place) for n, place in enumerate([{}, *design(POINTS[self.engine.facts.kernel])])]

    def point(self, name: str, place: Mapping[str, float]) -> Point:
        """The point at some coordinates."""
        try:
            cells = {at: self._cell(name, at, place) for at in self.base}
            ours, theirs = (list(map(_features, of.values())) for of in (cells, self.base))
        except BadInput as error:
            return Point(name, place, {}, {}, f"there is no such set-up ({error.code})")
        changes = {factor: sum(of[factor] for of in ours) / sum(of[factor] for of in theirs) for factor in self.reach}
        first = next(iter(cells.values()))
        if starts := [session["start_s"] for session in first.plan["sessions"]][1:]:
            changes["start"] = 1000 * sum(starts)
        return Point(name, place, changes | {"seed": first.seed, DUMMY: place.get(DUMMY, 0.0)}, cells)

    def _cell(self, name: str, at: RowColumn, place: Mapping[str, float]) -> RecordCell:
        base, change = self.base[at], self.change_at(place)
        loaded, choices = base.loaded, base.choices
        if place:
            document = parse(loaded.path, loaded.text, "a scenario is a mapping")
            for key, value in _settings(base, change, place):
                apply_override(document, key, value, origin=NAME)
            for check, entry in zip(loaded.scenario.checks, document["checks"], strict=True):
                entry.update(_moved(check, loaded.scenario, *_of_law(base.plan, change)))
            loaded = replace(loaded, scenario=validated(Scenario, loaded.path, document))
            choices = replace(choices, seed=1 + round((1 + place.get("seed", -1)) * 2**30))
        points = {"engine": self.engine.name, "run": self.name, "point": name}
        points |= dict(zip(("row", "column"), at, strict=True)) if self.spec.kind == "table" else {}
        return RecordCell(points, loaded, choices, base.programs, base.carrier, base.congestion_control, {})

    def change_at(self, place: Mapping[str, float]) -> dict[str, float]:
        """The change of each factor at some coordinates; 0 is the source's."""
        each = ((factor, reach, place.get(factor, 0.0)) for factor, reach in self.reach.items())
        return {factor: 1 + reach * at if reach == GIVEN else reach**at for factor, reach, at in each}

    def check_of(self, claim: Claim) -> Any:
        """The check that decides a claim."""
        of_run = self.loaded.table if self.spec.kind == "table" else next(iter(self.base.values())).loaded.scenario
        return claim.table_check("it") or next(check for check in of_run.checks if check.name == claim.check)

    def judge(self, claim: Claim, point: Point, results: Mapping[str, CellResult]) -> At:
        """A claim at a point whose cells were made."""
        check, refused = self.check_of(claim), point.refused
        if point.cells and self.spec.kind == "scenario":
            refused = _refused(check, next(iter(point.cells.values())))
        records = [results[cell.id].record for cell in point.cells.values() if cell.id in results]
        untrusted = [f"its run can't be trusted ({of.code})" for of in records if of.status == Status.UNTRUSTED]
        if point.place and (why := refused or next(iter(untrusted), "")):
            return At(point.name, point.place, point.changes, Status.SKIPPED, why)
        return At(point.name, point.place, point.changes, *self._judge(check, point, results))

    def _judge(self, check: Any, point: Point, results: Mapping[str, CellResult]) -> Found:
        if self.spec.kind == "table":
            return self._judge_table(check, point, results)
        at, cell = next(iter(point.cells.items()))
        record = results[cell.id].record
        own, others = record.checks.get(check.name), {k: of for k, of in record.checks.items() if k != check.name}
        failed = failed_fact((name, of.get("judge", ""), of["status"]) for name, of in others.items())
        if record.status not in DECIDED or own is None or failed:
            return Status.ERROR, record.reason, None
        ratio, time_constant = _of_law(self.base[at].plan, self.change_at(point.place))
        scale = {"ratio": ratio, "settles": time_constant, "time_constant": time_constant}.get(check.judge, 1.0)
        return own["status"], record.reason, own["measured"] / scale if isinstance(own["measured"], float) else None

    def _judge_table(self, check: Any, point: Point, results: Mapping[str, CellResult]) -> Found:
        cells = [in_table(Place(*at, 1).result(results[cell.id].record)) for at, cell in point.cells.items()]
        rows, columns = (list(dict.fromkeys(names)) for names in zip(*point.cells, strict=True))
        bounds = table.bounds_of(self.loaded.table.figures, {row: cell.plan for (row, _), cell in point.cells.items()})
        result = judge_one(check, table.summarise(self.loaded.table, rows, columns, bounds, cells), cells)
        values = [value for key, value in result.figures.items() if key.partition(" ")[0] in rows or key in columns]
        return result.status, result.reason, (min if getattr(check, "min", None) else max)(values, default=None)

    def edge(self, claim: Claim, found: Sequence[At], factor: str, folder: Path) -> Edge | None:
        """The end of a claim along one factor alone, by halving the distance; None where it has none."""
        failure = nearest_failure(found)
        if not failure or not factor or found[0].status != Status.PASS:
            return None

        def fails(at: float) -> bool:
            point = self.point(f"{factor}{at:+.5f}", {**dict.fromkeys(FACTORS, 0.0), "start": -1.0, factor: at})
            results = run_cells(list(point.cells.values()), folder, QuietProgress()) if point.cells else {}
            return self.judge(claim, point, results).status == Status.FAIL

        side = 1.0 if failure.place[factor] > 0 else -1.0
        end = next((end for end in (side, -side) if fails(end)), None)
        if end is None:
            return None
        holds = 0.0
        for _ in range(STEPS):
            middle = (holds + end) / 2
            holds, end = (holds, middle) if fails(middle) else (middle, end)
        return Edge(factor, *(round(self.change_at({factor: at})[factor], 4) for at in (holds, end)))


def _settings(base: ScenarioCell, change: Mapping[str, float], place: Mapping[str, float]) -> Iterator[tuple[str, Any]]:
    """Overrides of the scenario with which the plan's values have the changes."""
    scenario, links = base.loaded.scenario, {link["name"]: link for link in base.plan["links"]}
    for number, link in enumerate(scenario.links):
        of, key = links[link.name], f"links.{link.name}"
        tilt = change.get("ratio", 1.0) ** (-0.5 if number else 0.5)
        yield f"{key}.rate", f"{rate_pps(of) * change['rate'] * tilt:.9g}pps"
        yield f"{key}.delay", f"{of['delay_ms'] * change.get('delay', 1):.9g}ms"
        yield f"{key}.loss", f"{100 * link.loss * change.get('loss', 1):.9g}%"
        packets = round(of["queue"]["packets"] * change.get("queue", 1))
        yield f"{key}.queue", {"limit": f"{packets} packets", "mode": link.queue.mode}
    if scenario.ncp:
        yield "ncp.transfer", f"{scenario.ncp.transfer_bytes * change['size']:.0f}B"
        mtu_bytes = round(scenario.ncp.mtu_bytes * change["payload"])
        yield "ncp.mtu", mtu_bytes  # with as many packets in the window as before
        yield "ncp.send_window", f"{scenario.ncp.send_window_bytes * mtu_bytes // scenario.ncp.mtu_bytes}B"
    for session in scenario.sessions[1:]:
        yield f"sessions.{session.name}.start", f"{session.start_s + (1 + place['start']) / 2000 * OFFSET_MS:.4f}s"


def _of_law(plan: Plan, change: Mapping[str, float]) -> tuple[float, float]:
    """The changes of the ratio of the links' rates, and of the time constant W/Σrate."""
    ratio, before = change.get("ratio", 1.0), [rate_pps(link) for link in plan["links"]]
    after = [pps * change["rate"] * ratio ** (-0.5 if number else 0.5) for number, pps in enumerate(before)]
    return ratio, sum(before) / sum(after)


def _moved(check: Any, scenario: Scenario, ratio: float, time_constant: float) -> dict[str, Any]:
    """The bounds of a check that follow the set-up: a ratio is the links', the time to settle the law's."""
    if check.judge == "ratio":
        return {"min": check.min * ratio, "max": check.max * ratio}
    by_law = check.judge == "settles" and scenario.ncp and scenario.ncp.policy == "nkp24"
    return {"within": f"{check.within_s * time_constant:.6g}s"} if by_law else {}


def _features(cell: ScenarioCell) -> dict[str, float]:
    """The factors' values in a plan; 0 where it has none."""
    plan, names = cell.plan, {link.name for link in cell.loaded.scenario.links}
    links = [link for link in plan["links"] if link["name"] in names]
    rates, session = [rate_pps(link) for link in links], plan["sessions"][0]
    return {
        "rate": geometric_mean(rates),
        "ratio": rates[0] / sum(rates[1:]) if rates[1:] else 0.0,
        **{name: sum(link[key] for link in links) for name, key in (("delay", "delay_ms"), ("loss", "loss"))},  # type: ignore[literal-required]
        "queue": sum(link["queue"]["packets"] for link in links),
        "size": session.get("transfer_bytes", 0),
        "payload": session.get("mtu_bytes", 0),
    }


def _refused(check: Any, cell: ScenarioCell) -> str:
    """The rule by which a point says nothing of a check; "" where none applies."""
    plan, session = cell.plan, cell.plan["sessions"][0]
    if expected_transfer_s(plan) < max(getattr(check, name, None) or 0.0 for name in ("at_s", "to_s")):
        return "the transfer ends before the check's last moment"
    if check.judge in OF_THE_LAW and session["policy"] == "nkp24":
        time_constant_s = planned.session_window_packets(session) / sum(planned.rates_pps(plan, session).values())
        rtt_ms = max(planned.base_rtt_ms(plan, session, c) for c in planned.connections(session))
        if 1000 * time_constant_s < MIN_ROUND_TRIPS * rtt_ms:
            return f"the law's time constant is below {MIN_ROUND_TRIPS} round trips"
    return ""


OF_THE_LAW = ("follows_law", "time_constant", "settles")
"""Checks that presuppose links which the windows fill."""
OF_ANY_SETUP = ("law", "limit", "promise")
"""Origins of bounds that say something of other set-ups, too; else a figure is that of the source's alone."""


def runs_of(claims: Claims, engine: Engine, programs: Programs) -> tuple[list[ShakenRun], dict[str, str]]:
    """The runs that are shaken on an engine, and the reason of each claim that is not."""
    runs: list[ShakenRun] = []
    reasons: dict[str, str] = {}
    for name, spec in claims.runs.items():
        of_run = {claim_id: claim for claim_id, claim in claims.claims.items() if claim.run == name}
        if spec.kind == "sweep":
            reasons |= dict.fromkeys(of_run, "its run is a sweep, which moves the set-up itself")
            continue
        if of_table := spec.kind == "table":
            loaded = table_file.load(spec.run, spec.set)
        else:
            loaded = table_file.repeated(spec.run, spec.set, quick=False, repeat=2, seed=None)
        request = table.TableRequest(1, ",".join(spec.rows), ",".join(spec.columns), engine=engine.name)
        cells = table.select(loaded, request, programs.policies).cells(programs)
        every = ShakenRun(name, spec, loaded, of_run, {(c.at["row"], c.at["column"]): c for c in cells}, {})
        needed: dict[str, set[RowColumn]] = {}
        for claim_id, claim in of_run.items():
            check = every.check_of(claim)
            mine = [cell for cell in cells if not of_table or is_about(check, cell.at)]
            if claim.bound not in OF_ANY_SETUP:
                reasons[claim_id] = "its figure is one of the source's set-up, and of no other"
            elif why := next(filter(None, (cell.unsupported for cell in mine)), ""):
                reasons[claim_id] = why
            else:
                needed[claim_id] = {(cell.at["row"], cell.at["column"]) for cell in mine}
        if needed:
            base = {at: cell for at, cell in every.base.items() if at in set().union(*needed.values())}
            setup = claims.setups[of_run[next(iter(needed))].setup]
            given = {re.sub(r"\.\d+\.", ".*.", key) for key in setup.says_of() - setup.chosen.keys()}
            of_given = {factor: any(one.startswith(key) for one in given) for factor, key in KEYS.items()}
            features = list(map(_features, base.values()))
            reach = {k: GIVEN if of_given[k] else CHOSEN for k in KEYS if any(of[k] for of in features)}
            runs.append(replace(every, claims={k: of_run[k] for k in needed}, base=base, reach=reach))
    return runs, reasons


def design(points: int) -> list[dict[str, float]]:
    """The coordinates of the points: a scrambled Sobol sequence, of which fewer points are the first ones."""
    from scipy.stats import qmc

    sobol = qmc.Sobol(len(FACTORS), scramble=True, rng=SEED).random_base2(points.bit_length() - 1)
    return [dict(zip(FACTORS, (2 * row - 1).tolist(), strict=True)) for row in sobol]


def _minutes(run: ShakenRun) -> float:
    """Expected minutes of all points; a guest takes longer to boot than a transfer to be simulated."""
    each_s = 15.0 if run.engine.facts.kernel else 0.7
    return POINTS[run.engine.facts.kernel] * len(run.base) * each_s / 60 / run.engine.width()


def list_runs(claims: Claims, names: Sequence[str]) -> None:
    """Print the runs with their points, minutes and claims, and what is left out."""
    total = 0.0
    for engine in map(engines.named, names):
        runs, reasons = runs_of(claims, engine, engine.prepare_plans(QuietProgress()))
        for run in runs:
            points, total = POINTS[engine.facts.kernel], total + _minutes(run)
            said = f"{points} points of {len(run.base)} runs in {engine.facts.shows}, of {', '.join(run.reach)}"
            print(f"{_minutes(run):5.1f} min  {run.name}: {said}; {', '.join(run.claims)}")
        for claim_id, why in reasons.items():
            print(f"left out   {claim_id}: {why}")
    print(f"about {total:.0f} min on two idle cores, with --engine {','.join(names)}")


def run(claims: Claims, names: Sequence[str], resume: str, progress: Progress) -> tuple[dict[str, Any], Path]:
    """Make all points on these engines; returns the document and the result folder."""
    runs: list[ShakenRun] = []
    reasons: dict[str, str] = {}
    for engine in map(engines.named, names):
        programs = ready(engine, engine.options("docker", quick=False), progress, NAME)
        found, why = runs_of(claims, engine, programs)
        runs, reasons = [*runs, *found], reasons | why
    with progress.step("design") as step:
        points = [run.points() for run in runs]
        cells = [cell for of in points for point in of for cell in point.cells.values()]
        cells.sort(key=lambda cell: int(cell.at["point"]))
        step.note = f"{len(cells)} runs"
    if not cells:
        raise BadInput("shake.nothing", f"--shake: there is nothing to shake: {'; '.join(set(reasons.values()))}")
    identity = {"engines": list(names), "claims": list(claims.claims)}
    how, expected_s = f"for {sum(len(run.claims) for run in runs)} claims", 60 * sum(map(_minutes, runs))
    spec = StudySpec(NAME, NAME, cells, identity, how, expected_s, ",".join(names))
    folder = spec.begin(paths.results() / NAME, resume)
    provenance.write(folder, provenance.of_machine_and_code())
    results = run_study(spec, folder, progress)
    with progress.step("judge"):
        entries = [
            _entry(run, claim_id, [run.judge(claim, point, results) for point in of], folder)
            for run, of in zip(runs, points, strict=True)
            for claim_id, claim in run.claims.items()
        ]
        verdict = status.verdict_of(entry["status"] for entry in entries)
        document = {"schema": 1, "run": folder.name, "engines": names, "verdict": verdict, "left_out": reasons}
        write_json(folder / SHAKE, document | {"claims": entries})
        page.write_shake(folder)
    return document | {"claims": entries}, folder


def _entry(run: ShakenRun, claim_id: str, found: Sequence[At], folder: Path) -> dict[str, Any]:
    """A claim as ``shake.json`` has it."""
    claim = run.claims[claim_id]
    shaken = judge(found)
    shaken = replace(shaken, edge=run.edge(claim, found, shaken.most, folder))
    return {
        "id": claim_id,
        "engine": run.engine.name,
        **claim.model_dump(include={"text", "run", "expected", "tolerance", "why", "unit", "check", "judge"}),
        "reach": {k: f"±{at:.0%}, given" if at == GIVEN else f"×½ to ×{at:g}, chosen" for k, at in run.reach.items()},
        "xfail": claim.xfail is not None,
        "said": shaken.in_words(),
        **asdict(shaken),
        "points_made": [asdict(one) for one in found],
    }
