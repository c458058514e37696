"""Repeats a run in virtual time from its plan with this checkout's programs: every byte of its data must be the same,
whoever made it."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed import engines
from testbed.archive import provenance_check
from testbed.documents import read_json
from testbed.engines import Engine, Programs, Run
from testbed.errors import TestbedError
from testbed.judge.verify import read_verdict, recorded_database_points
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.runtime.progress import Progress, QuietProgress
from testbed.study.kinds.same_bytes import Repetition, digests, judge
from testbed.study.verify import Verification

PLAN = "plan.json"


def prepare(runs: Sequence[Path], progress: Progress) -> None:
    """Build what the runs need, once; raises :class:`CannotRun` where this machine can't make them."""
    for facts in dict.fromkeys(engine_of(read_plan(run / PLAN)) for run in runs):
        if facts.virtual_time:
            engines.named(facts.name).prepare(progress)


def rerun(folder: Path, verified: Verification) -> None:
    """Repeat the run and compare; ``verified`` gets the differences."""
    plan, recorded = read_plan(folder / PLAN), provenance_check.provenance_of(folder)
    if why := _why_not(plan, recorded):
        verified.unchecked.append(why.at("rerun"))
        return
    made = provenance_check.plan_again(folder, plan, Verification("", ""))  # the differences are reported already
    if made is None:
        verified.unchecked.add_message("rerun.no-plan", "rerun: there is no plan to run")
        return
    again, loaded = made
    engine, quiet = engines.of(again), QuietProgress()
    programs = engine.build(quiet)
    with tempfile.TemporaryDirectory(prefix="ncp-rerun-") as place:
        run = engine.run(again, loaded, programs, quiet, Path(place))
        try:
            run.without_database(recorded_database_points(read_verdict(folder)))
        except TestbedError as error:
            verified.differences.add_message("rerun.broke-down", f"rerun: the run broke down: {error.message}")
            return
        found = [digests(place) for place in (folder, run.folder)]
        other_schema = read_json(folder / PLAN)["schema"] != again["schema"]
        if other_schema or provenance_check.paths_of(plan) != provenance_check.paths_of(again):
            for digested in found:  # its fields have been compared
                del digested[PLAN]
        both = judge(folder.name, found, [], {})
    _tell(both, run, engine, recorded, verified)
    if not both.differing:
        _tell_commit(run.plan, engine, programs, recorded, verified)


def _why_not(plan: Plan, recorded: dict[str, Any]) -> Message | None:
    """The reason not to repeat a run, or None."""
    if not engine_of(plan).virtual_time:
        return Message(
            "rerun.real-packets", "on real packets no run is the same to the byte; there are signatures (bundle --sign)"
        )
    if recorded.get("of_commit"):
        return Message(
            "rerun.agent-of-another-commit", f"its agent is of another commit, {provenance_check.told_of(recorded)}"
        )
    if not recorded.get("engine", {}).get("repeatable", not engine_of(plan).kernel):
        return Message("rerun.not-repeatable", "not repeatable: its guest ran in real time, or a program in it span")
    if not engines.of(plan).deterministic():
        return Message("rerun.no-kernel", "the guest kernel is not built here (./run.sh doctor --build)")
    return None


def _tell(both: Repetition, run: Run, engine: Engine, recorded: dict[str, Any], verified: Verification) -> None:
    here = provenance_check.told_of(provenance_check.here())
    before, after = both.runs
    for name in both.differing:
        if name not in before:
            verified.differences.add_message("rerun.not-there", f"rerun: {name}: is not there")
        elif name not in after:
            verified.differences.add_message("rerun.not-made", f"rerun: {name}: is not made")
        else:
            verified.differences.add_message("rerun.other-bytes", f"rerun: {name}: is not the same bytes")
    verified.notes.extend(unlike.at("rerun") for unlike in engine.unlike(recorded))
    if not run.repeatable:
        verified.differences.add_message("rerun.program-span", "rerun: a program span: this run is not repeatable")
    if both.differing and not provenance_check.made_here(recorded):
        verified.differences.add_message(
            "rerun.other-checkout",
            f"rerun: refused as a proof: the result was made by {provenance_check.told_of(recorded)}, this checkout "
            f"is {here}; make it again in a checkout of that commit",
        )
    if not both.differing:
        verified.notes.add_message(
            "rerun.same-bytes",
            f"repeated by {here}: all {len(both.runs[0])} files are the same bytes ({both.digest:.16})",
        )


def _tell_commit(
    plan: Plan, engine: Engine, programs: Programs, recorded: dict[str, Any], verified: Verification
) -> None:
    """A run's name changes with plan, sources and kernel: one that is ours was made by our sources."""
    verified.unchecked[:] = [one for one in verified.unchecked if one.area != "commit"]
    name = provenance_check.name_by(programs, plan)
    by_name = not engine.facts.kernel  # a simulation's commit has been judged by the name that it gives
    if name == plan["run"] and not by_name and not provenance_check.may_be_ours(recorded, engine.sources):
        verified.differences.add_message(
            "commit.other-sources",
            f"commit: {provenance_check.told_of(recorded)} is recorded, and the run was made by this checkout's "
            "sources",
        )
    elif name != plan["run"]:
        verified.notes.add_message(
            "rerun.other-name",
            f"rerun: with this checkout and machine the run's name would be {name}: sources, Python or the guest "
            "kernel's build are not the same",
        )
