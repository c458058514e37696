"""A run in virtual time, made again from its plan with this checkout's programs: every byte of its data must be the
same, whoever made it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed import engines
from testbed.bundle import origin
from testbed.bundle.verified import Verified
from testbed.checks.verify import read_verdict, recorded_database_points
from testbed.compare.same_bytes import Repetition, digests
from testbed.engines import Engine, Programs, Run
from testbed.errors import TestbedError
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.runner.progress import Progress, QuietProgress

PLAN = "plan.json"


def prepare(runs: Sequence[Path], progress: Progress) -> None:
    """Build what the runs need, once; raises :class:`CannotRun` where this machine can't make them."""
    for facts in dict.fromkeys(engine_of(read_plan(run / PLAN)) for run in runs):
        if facts.virtual_time:
            engines.named(facts.name).prepare(progress)


def rerun(folder: Path, verified: Verified) -> None:
    """Make the run again and compare; what differs, and what may, is told in ``verified``."""
    plan, recorded = read_plan(folder / PLAN), origin.provenance_of(folder)
    if why := _why_not(plan, recorded):
        verified.unchecked.append(f"rerun: {why}")
        return
    made = origin.plan_again(folder, plan, Verified("", ""))  # what differs is told of already
    if made is None:
        verified.unchecked.append("rerun: there is no plan to run")
        return
    again, loaded = made
    engine, quiet = engines.of(again), QuietProgress()
    programs = engine.build(quiet)
    with tempfile.TemporaryDirectory(prefix="ncp-rerun-") as place:
        run = engine.run(again, loaded, programs, quiet, Path(place))
        try:
            run.without_database(recorded_database_points(read_verdict(folder)))
        except TestbedError as error:
            verified.differences.append(f"rerun: the run broke down: {error.message}")
            return
        both = Repetition(folder.name, [_without_paths(digests(place), plan, again) for place in (folder, run.folder)])
    _tell(both, run, engine, recorded, verified)
    if not both.differing:
        _tell_commit(run.plan, engine, programs, recorded, verified)


def _why_not(plan: Plan, recorded: dict[str, Any]) -> str | None:
    """Why a run is not made again."""
    if not engine_of(plan).virtual_time:
        return "on real packets no run is the same to the byte; a signature is what there is (bundle --sign)"
    if recorded.get("of_commit"):
        return f"its agent was built from another commit, {origin.told_of(recorded)}"
    if not recorded.get("engine", {}).get("repeatable", not engine_of(plan).kernel):
        return "its guest ran in real time, or a program in it span: it is not repeatable"
    if not engines.of(plan).exact():
        return "the guest kernel with virtual time is not built here (./run.sh doctor --build)"
    return None


def _without_paths(found: dict[str, str], plan: Plan, again: Plan) -> dict[str, str]:
    """Without the plan where it names files of the machine: its fields have been compared."""
    return {
        name: digest
        for name, digest in found.items()
        if name != PLAN or origin.paths_of(plan) == origin.paths_of(again)
    }


def _tell(both: Repetition, run: Run, engine: Engine, recorded: dict[str, Any], verified: Verified) -> None:
    here = origin.here()
    for name in both.differing:
        before, after = (digested.get(name) for digested in both.runs)
        what = "is not there" if before is None else "is not made" if after is None else "is not the same bytes"
        verified.differences.append(f"rerun: {name}: {what}")
    verified.notes.extend(f"rerun: {text}" for text in engine.unlike(recorded))
    if not run.repeatable:
        verified.differences.append("rerun: a program span: this run does not count as repeatable")
    if both.differing and origin.told_of(recorded) != here:
        verified.differences.append(
            f"rerun: refused as a proof: the result was made by {origin.told_of(recorded)}, this checkout is {here}; "
            "make it again in a checkout of that commit"
        )
    if not both.differing:
        verified.notes.append(
            f"made again by {here}: all {len(both.runs[0])} files of data are the same bytes ({both.digest()[:16]})"
        )


def _tell_commit(plan: Plan, engine: Engine, programs: Programs, recorded: dict[str, Any], verified: Verified) -> None:
    """A run's name changes with plan, sources and kernel: one that is ours was made by our sources."""
    verified.unchecked[:] = [text for text in verified.unchecked if not text.startswith("commit: ")]
    name = origin.name_by(programs, plan)
    by_name = not engine.facts.kernel  # a simulation's commit has been judged by the name that it gives
    if name == plan["run"] and not by_name and not origin.may_be_ours(recorded, engine.sources):
        verified.differences.append(
            f"commit: {origin.told_of(recorded)} is recorded, and the run was made by this checkout's sources"
        )
    elif name != plan["run"]:
        verified.notes.append(
            f"rerun: with this checkout and machine the run's name would be {name}: sources, Python or the guest "
            "kernel's build are not the same"
        )
