"""Comparisons of groups of runs: existing result folders, and versions that are run with several seeds."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from testbed import confine, engines, paths
from testbed.documents import read_json
from testbed.engines import provenance
from testbed.engines.engine import Programs
from testbed.errors import BadInput
from testbed.judge import power
from testbed.judge.checks.evidence import CannotJudge
from testbed.judge.checks.result import Verdict
from testbed.judge.history import provenance_of
from testbed.judge.intervals import LEAST_N
from testbed.judge.judge import status_of_run
from testbed.judge.ncp_figures import JUDGED_PART, measure
from testbed.judge.status import Status, current_comparison
from testbed.judge.verify import read_verdict
from testbed.message import Message, Messages, unknown
from testbed.plan.engines import is_certain, is_exact
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import sent_by
from testbed.planning.resolve import new_run_id
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario, load
from testbed.study.cell import CELLS, ScenarioCell, ready
from testbed.study.checks.better import MAIN, SCHEMA, SHOWN, Comparison, Group, Run, judge, of_checks
from testbed.study.kinds.table import TableRequest, places_requested
from testbed.study.kinds.table_result import read_table, results_of
from testbed.study.ledger import kind_of
from testbed.study.programs import OfCommit, programs
from testbed.study.record import run_that_counts
from testbed.study.report import page
from testbed.study.report.text import words_of
from testbed.study.run import StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest, elsewhere

OCCASION = "compare"
"""Keeps trials of other versions apart from the history of scenarios."""
EXAMPLE = "E.g. ./run.sh compare --scenario startup base: new:policy=delivery-rate, or two result folders"
OF_NCP = ("goodput_mib_s", "settled_s", "rtt_ms", "resent_share")
"""Figures measured from the data of runs with windows, beside the figures of their verdicts."""
SOUGHT = 0.05
"""The difference for which a number of runs is recommended."""
MOST_EARLIER = 30
"""Most earlier runs whose spread says what further ones will show."""


class Variant(NamedTuple):
    """A version to run: a scenario, its overrides, and the commit that the agent is built from (None: the checkout)."""

    scenario: str
    assignments: tuple[str, ...]
    commit: str | None


def variant(text: str, scenario: str) -> tuple[str, Variant]:
    """Parses ``NAME:KEY=VALUE,KEY=VALUE`` with a scenario, ``SCENARIO:KEY=VALUE,…`` without; either may stand alone.
    ``commit=REV`` among the keys chooses the agent. Raises BadInput."""
    name, _, rest = text.partition(":")
    if not name or "=" in name:
        raise BadInput("compare.not-a-group", f"{text!r}: neither a result folder nor NAME:KEY=VALUE", EXAMPLE)
    # A comma that no key follows belongs to the value before it.
    parts = [part for part in re.split(r",(?=[A-Za-z_][\w.-]*=)", rest) if part]
    commits = [part for part in parts if part.startswith("commit=")]
    if wrong := [*(part for part in parts if "=" not in part), *commits[1:]]:
        raise BadInput(
            "compare.not-a-setting", f"{text!r}: {wrong[0]!r} should be KEY=VALUE, and one commit at most", EXAMPLE
        )
    assignments = tuple(part for part in parts if part not in commits)
    commit = commits[0].removeprefix("commit=") if commits else None
    return (name if scenario else text), Variant(scenario or name, assignments, commit)


def named_places(text: str) -> tuple[str, list[str]]:
    """Parses ``NAME=FOLDER,FOLDER`` of ``--group``; raises BadInput."""
    name, _, places = text.partition("=")
    if not name or not places:
        raise BadInput(
            "compare.bad-group", f"--group {text}: should be NAME=FOLDER,FOLDER, e.g. old=results/startup/latest"
        )
    return name, [place for place in places.split(",") if place]


def recorded(name: str, places: Sequence[str]) -> Group:
    """Reads all runs in the given folders (of runs, tables or several runs) as a group."""
    found: list[Run | None] = []
    for place in places:
        found_at = [place] if Path(place).is_dir() else sorted(glob(place))  # noqa: PTH207 - Path takes no absolute one
        folders = [Path(at).resolve() for at in found_at if Path(at).is_dir()]
        with confine.to_results(*folders):
            here = [read_run(run, case) if run else None for folder in folders for run, case in _runs_in(folder)]
        if not any(here):
            raise BadInput("compare.no-result", f"{place}: there is no result folder of a run or table there")
        found += here
    return Group.of(name, [run for run in found if run], found.count(None))


def _runs_in(folder: Path) -> Iterator[tuple[Path | None, str]]:
    """Yields runs with their setting in a table. Of several attempts at a cell it is the one that counts; a requested
    cell of a table that has no run, though this machine could have made it, is None."""
    if (folder / "plan.json").is_file():
        yield folder, ""
    elif kind_of(folder) == "table":
        document = read_table(folder) if (folder / "table.json").is_file() else {"outcomes": []}
        not_here = {cell.cell for cell in results_of(document) if cell.status == Status.UNSUPPORTED}
        for place in places_requested(folder):
            run = run_that_counts(folder / place.folder)
            if run or place.cell not in not_here:
                yield run, f"row {place.row} {place.column}"
    else:
        runs = (path.parent.resolve() for path in sorted(folder.rglob("verdict.json")))
        counted = (run_that_counts(run.parent) or run if CELLS in run.parts[-5:-2] else run for run in runs)
        yield from ((run, "") for run in dict.fromkeys(counted) if (run / "plan.json").is_file())


def given_twice(groups: Sequence[Group], home: Path) -> Message | None:
    """Message that names a run which is in the groups twice: one folder, or the same telemetry. In virtual time equal
    plans give equal telemetry, so two groups may have the same, but a group of copies is one observation."""
    seen: dict[tuple[str, str], str] = {}
    for group in groups:
        for run in group.runs:
            folder = (home / run.folder).resolve()
            this, keys = f"{group.name}: {folder}", [("", str(folder))]
            telemetry = folder / "telemetry.lp"
            if run.facts is not None and telemetry.is_file():  # else it is elsewhere, and not read
                of_group = group.name if is_exact(provenance_of(folder)) else ""
                keys.append((of_group, hashlib.sha256(telemetry.read_bytes()).hexdigest()))
            for key in keys:
                if other := seen.get(key):
                    return Message("compare.run-twice", f"{other} and {this} are the same run; name each run once")
                seen[key] = this
    return None


def read_run(folder: Path, case: str = "", home: Path | None = None) -> Run:
    """Reads a run from its result folder, maybe in that of the comparison; raises BadInput where a file is missing or
    broken."""
    plan, verdict = read_plan(folder / "plan.json"), read_verdict(folder)
    figures, never, why = _figures(folder, plan, verdict)
    return Run(
        folder=str(folder.relative_to(home) if home and folder.is_relative_to(home) else folder),
        case=case or str(plan["scenario"]),
        seed=int(plan["seed"]),
        trusted=verdict.trust.trusted,
        standing=status_of_run(verdict),
        figures=figures,
        never=sorted(never),
        without_figures=why,
        chance="none" if is_certain(plan) else "seed" if is_exact(provenance_of(folder)) else "real",
        checks={check.name: check.status for check in verdict.checks},
        facts=_facts(folder, plan),
    )


def _figures(folder: Path, plan: Plan, verdict: Verdict) -> tuple[dict[str, float], list[str], str]:
    """Returns a run's figures, the names of figures that it never reached, and the reason why it has none."""
    # The same goodput in two units would be shown twice.
    twice = {"goodput_bps"} if "goodput_mib_s" in verdict.figures else set()
    of_the_checks, never = of_checks(verdict)
    found = {name: value for name, value in verdict.figures.items() if name not in twice} | of_the_checks
    why = verdict.broken or ""
    if not why and sent_by(plan).windows:
        try:
            measured = measure(plan, folder)
        except CannotJudge as error:
            why = str(error)
        else:
            found |= {name: float(measured[name]) for name in OF_NCP if measured.get(name) is not None}
            if measured["settled_s"] is None and len(plan["sessions"][0]["connections"]) > 1:
                never.append("settled_s")
                found["settled_s"] = round(JUDGED_PART * float(measured["duration_s"]), 6)
    return found | {"completed": 0.0 if why else 1.0}, never, why


def _facts(folder: Path, plan: Plan) -> dict[str, str]:
    made = provenance_of(folder)
    commit, kernel = str(made.get("commit") or "")[:12], made.get("kernel") or {}
    changed = commit and made.get("uncommitted_changes") and not made.get("of_commit")
    return {
        "scenario": str(plan["scenario"]),
        "commit": f"{commit} and changes" if changed else commit,
        "policy": ", ".join(dict.fromkeys(str(session["policy"]) for session in plan["sessions"])),
        "changed": ", ".join(plan.get("overrides", [])),
        **{name: str(plan[name]) for name in ("engine", "middle", "runtime")},
        "quick": "yes" if plan.get("quick") else "",
        "kernel": str(kernel.get("release", "")) if isinstance(kernel, dict) else "",
        "host": str(made.get("host") or ""),
    }


def groups(
    what: Sequence[str],
    named: Sequence[str],
    scenario: str,
    commits: Sequence[str],
    assignments: Sequence[str],
    request: TableRequest,
    only: Sequence[str] = (),
    confidence: float = 0.95,
) -> tuple[Path, list[Group]]:
    """Read recorded groups and run versions, all with the same ``assignments``; returns the comparison's result folder,
    which may not exist yet, and the groups in order. Raises BadInput before anything is run."""
    if commits and not scenario:
        raise BadInput(
            "compare.commit-without-scenario", "--commit needs --scenario: what the commits' agents should run"
        )
    sources: list[tuple[str, list[str] | Variant]] = []
    for text in what:
        places = text.split(",")
        if all(Path(place).is_dir() or ("*" in place and "/" in place) for place in places):
            name = Path(places[0]).resolve().name
            sources.append((text if name in dict(sources) else name, places))
        else:
            sources.append(variant(text, scenario))
    sources += [named_places(text) for text in named]
    sources += [(commit, Variant(scenario, (), commit)) for commit in commits]
    names = [name for name, _ in sources]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput("compare.group-twice", f"two groups are named {twice[0]!r}; give each a name of its own")
    if len(names) < 2:
        raise BadInput("compare.no-group", "name at least two groups to compare", EXAMPLE)
    found = {name: recorded(name, source) for name, source in sources if not isinstance(source, Variant)}
    if twice_given := given_twice(list(found.values()), Path()):
        raise BadInput.of(twice_given, "A run that is counted twice makes a difference look surer than it is.")
    versions = {name: source for name, source in sources if isinstance(source, Variant)}
    folder = paths.results() / "compare" / new_run_id()
    if versions:
        progress, engine = Progress(), engines.named(request.engine)
        ready(engine, request.options, progress, "compare")
        loaded = {
            name: load(one.scenario, [*assignments, *one.assignments], quick=request.quick)
            for name, one in versions.items()
        }
        made = {name: (loaded[name], programs(one.commit, engine, progress)) for name, one in versions.items()}
        folder, groups_made = run(made, request, folder.parent, progress, only, confidence)
        found |= groups_made
    elif request.resume:
        raise BadInput("compare.nothing-to-resume", "--resume: none of these groups is run; leave it out")
    return folder, [found[name] for name in names]


def judge_known(groups: Sequence[Group], confidence: float, only: Sequence[str], name: str, command: str) -> Comparison:
    """Compare groups; raises BadInput where no run has a figure of ``only``, or groups have no figure in common."""
    known = sorted({name for group in groups for run in group.runs for name in run.figures})
    if wrong := [name for name in only if name not in known]:
        raise BadInput.of(unknown("compare.no-such-figure", "figure", wrong[0], known)).at("--figures")
    found = judge(groups, confidence, only, name=name, command=command)
    if not found.differences and all(group.trusted for group in groups):
        raise BadInput(
            "compare.nothing-in-common",
            "the groups have no setting and figure in common, so there is nothing to compare",
        )
    return found


Versions = Mapping[str, tuple[LoadedScenario, Programs]]


def run(
    versions: Versions, request: TableRequest, base: Path, progress: Progress, only: Sequence[str], confidence: float
) -> tuple[Path, dict[str, Group]]:
    """Run every version as often as requested, each time with the next seed; returns the study's result folder and the
    groups. What this many runs will show of ``only`` some figures is said before. The versions take turns, so that
    changes of the machine affect all of them alike. Raises before anything is run where one can't be made."""
    facts = provenance.of_machine_and_code()
    choices = replace(request.choices, occasion=OCCASION)
    cells: dict[str, list[ScenarioCell]] = {}
    identity = {}
    for name, (loaded, made) in versions.items():
        point = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "version"
        first = ScenarioCell({}, loaded, choices, made, machine_and_code=facts)
        cells[name] = [
            first.with_seed({"version": point, "repetition": str(n + 1)}, first.seed + n)
            for n in range(request.repeat or 1)
        ]
        try:
            cells[name][0].engine.refuse(cells[name][0].plan)
        except BadInput as error:
            raise error.at(name) from error
        commit = made.commit if isinstance(made, OfCommit) else None
        identity[name] = {"scenario": loaded.scenario.name, "overrides": list(loaded.overrides), "commit": commit}
    chosen = {key: getattr(request, key) for key in ("engine", "quick", "runtime", "link")}
    in_turn = [cell for of_seed in zip(*cells.values(), strict=True) for cell in of_seed]
    spec = StudySpec("comparison", "compare", in_turn, {"versions": identity, "seeds": request.repeat, **chosen})
    folder = spec.begin(base, request.resume)
    progress.say(_foreseen([of[0].plan for of in cells.values()], request.repeat or 1, only, confidence))
    results = run_study(spec, folder, progress, describe=lambda one: one.record.reason * (one.status == Status.ERROR))
    return folder, {
        name: Group.of(name, [read_run(folder / results[cell.id].record.folder, home=folder) for cell in of])
        for name, of in cells.items()
    }


def _foreseen(plans: Sequence[Plan], runs: int, only: Sequence[str], confidence: float) -> str:
    """Describes what this many runs of each version will show of the first requested figure, by the spread of earlier
    runs, and how many would show a difference of :data:`SOUGHT`."""
    if all(map(is_certain, plans)):
        return "one run of each version is enough: nothing is left to chance, so that all seeds give the same"
    groups = [earlier(plan) for plan in plans]
    name = next((name for name in only or MAIN if any(name in each for group in groups for each in group)), "")
    sigma = power.spread_of([each[name] for each in group if name in each] for group in groups)
    if sigma is None:
        return f"no earlier runs tell what {runs} runs of each version will show; the report will"
    level = 1 - (1 - confidence) / max(1, (len(plans) - 1) * max(1, len(only)))
    sees = math.expm1(power.reach([(sigma**2, runs)] * 2, level)[1])
    will = f"show a difference of {sees:.1%} with 80% power" if runs >= LEAST_N else "show nothing"
    needed = power.runs_for(math.log1p(SOUGHT), [sigma**2] * 2, level)
    text = f"{name}: {runs} runs of each version will {will}; {needed} would show {SOUGHT:.0%}"
    return f"{text} (σ {sigma:.2%}, of earlier runs)"


def earlier(plan: Plan) -> list[dict[str, float]]:
    """The figures of the last runs in the results of a plan's scenario on its engine, with its policies and changes."""
    own = paths.results()
    places = [*own.glob(f"{plan['scenario']}/*/verdict.json"), *own.glob("compare/*/cells/*/*/*/verdict.json")]
    found: list[dict[str, float]] = []
    for folder in sorted({place.resolve().parent for place in places}, key=lambda at: -at.stat().st_mtime):
        if len(found) == MOST_EARLIER:
            break
        with suppress(BadInput):  # a broken result has nothing to say here
            there = read_json(folder / "plan.json")
            same = all(there.get(key) == plan.get(key) for key in ("scenario", "engine", "quick", "overrides"))
            if same and (run := read_run(folder)).trusted:
                found.append(run.figures)
    return found


DOCUMENTS: Documents = {"compare.json": lambda file: current_comparison(read_json(file), SCHEMA)}


def write_again(request: VerifyRequest) -> Verification:
    """Compare the runs again; figures of runs elsewhere are as recorded. Raises BadInput for a missing or broken
    file."""
    folder = request.folder.resolve()  # the page names runs by their ids, never by `latest`
    document = current_comparison(read_json(folder / "compare.json"), SCHEMA)
    unchecked = Messages()
    groups = [_recorded_group(folder, entry, unchecked) for entry in document["groups"]]
    # Earlier versions judged all that they measured.
    only = document.get("figures", [entry["figure"] for entry in document["differences"]])
    found = judge(groups, float(document["confidence"]), only, name=document["name"], command=document["command"])
    page.write_comparison(request.into, found, folder)
    words = ", ".join(f"{group} {word}" for group, word in words_of(found.statuses, found.directions).items())
    twice = given_twice(groups, folder)
    differing = Messages([twice] if twice else [])
    return Verification(f"comparison {found.name}", words, differing, unchecked=unchecked, has_page=not unchecked)


def _recorded_group(folder: Path, entry: Mapping[str, Any], unchecked: Messages) -> Group:
    runs = []
    for one in entry["runs"]:
        place = folder / one["folder"]
        is_here = _may_be_read(place, folder) and (place / "plan.json").is_file()
        run = Run(**{"standing": Status.PASS, **one, "facts": None})
        if is_here:
            of_then = {} if run.chance else {"chance": ""}
            run = read_run(place, one["case"], folder).model_copy(update=of_then)
        runs.append(run)
    group = Group.of(str(entry["name"]), runs, int(entry.get("missing", 0)))
    if all(run.facts is not None for run in runs):
        return group
    unchecked.append(elsewhere(group.name))
    return group.model_copy(update={"facts": {name: str(entry["facts"].get(name, "")) for name in SHOWN}})


def _may_be_read(run: Path, folder: Path) -> bool:
    """Whether a run of a comparison is inside its folder, or both are results of this checkout."""
    own, run = paths.results().resolve(), run.resolve()
    if run.is_relative_to(folder):
        return True
    if are_own := folder.is_relative_to(own) and run.is_relative_to(own):
        confine.refuse_links(run)
    return are_own
