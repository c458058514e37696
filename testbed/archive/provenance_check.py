"""Checks a result's provenance: its plan against the scenario, and its commit, as far as possible."""

import ast
import io
import re
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from testbed import confine, engines, paths, traffic
from testbed.documents import read_json
from testbed.engines import provenance, virtual_run
from testbed.engines.engine import Engine, Programs
from testbed.errors import BadInput, TestbedError
from testbed.judge import changes
from testbed.judge.history import answer, commit_of, here, provenance_of
from testbed.judge.verify import differences
from testbed.message import Message
from testbed.plan.engines import SWEEP, engine_of
from testbed.plan.model import Plan
from testbed.plan.read import as_in
from testbed.planning.resolve import Choices, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.runtime.progress import QuietProgress
from testbed.scenario import extended
from testbed.scenario.kept import PROGRAM, TOPOLOGY
from testbed.scenario.load import LoadedScenario, document_of, load, parse, plain, validated
from testbed.scenario.model import Scenario
from testbed.study.ledger import kind_of as kind_of_study
from testbed.study.own_scenario import own_file, with_kept_topology
from testbed.study.programs import of_changes, programs
from testbed.study.verify import Verification
from topologies.link import FILES


def schema_of(recorded: Mapping[str, Any]) -> int:
    """The provenance of the result folder. One with fewer entries than its commit's sources wrote proves nothing."""
    said = recorded.get("schema")
    least = _schema_at(commit_of(recorded))
    return max(int(said) if isinstance(said, int) else 1, least)


def of_this_code(recorded: Mapping[str, Any]) -> bool:
    """Whether the code that wrote a result is this checkout's, so that it would write the same words."""
    if code := recorded.get("code"):
        return bool(code == provenance.code())
    commit = commit_of(recorded)
    return bool(commit) and answer("diff", "--quiet", commit, "--", "testbed") is not None


def compare_words(file: str, found: Sequence[Message], recorded: Mapping[str, Any], verified: Verification) -> None:
    """Take the differences of a file whose words change with the code that writes them: by other code it is not
    checked."""
    if found and not of_this_code(recorded):
        verified.unchecked.add_message(
            "file.by-other-code", f"{file}: it was written by other code, that of {told_of(recorded)}"
        )
    else:
        verified.differences.extend(found)


def scenario_again(folder: Path, plan: Plan) -> list[LoadedScenario]:
    """The scenario that the plan is of, as its file and overrides are to be read: those of a run, and of a table's
    cell, whose file has its overrides in it. BadInput where neither can be read."""
    file = folder / "scenario.yaml"
    if not file.is_file():
        raise BadInput("file.missing", f"{file.name}: there is no such file")
    text = file.read_text(encoding="utf-8")
    if extended.KEY in parse(file, text, "a scenario is a mapping"):
        raise BadInput(
            "verify.extends-another",
            f"{file.name}: extends another scenario; a result has the whole scenario, and no other file is read for it",
        )
    overrides = [str(text) for text in plan.get("overrides", [])]
    own = own_file(file, plan["scenario"], commit_of(provenance_of(folder)))

    def of_a_run() -> LoadedScenario:
        quick = load(str(own), quick=bool(plan.get("quick"))).overrides
        reported = load(str(own), overrides[len(quick) :], quick=bool(plan.get("quick")))
        # One that calls itself changed has no expected failures, so that nothing rests on it.
        changed = len(overrides) > len(quick) or plan.get("variant") == "changed"
        return replace(reported, changed=changed)

    def of_a_cell() -> LoadedScenario:
        scenario = validated(Scenario, file, parse(file, text, "a scenario is a mapping"))
        return LoadedScenario(scenario, own, text, tuple(overrides))

    found, wrong = [], []
    for reading in (of_a_run, of_a_cell):
        try:
            found.append(with_kept_topology(reading(), folder))
        except BadInput as error:
            wrong.append(error)
    if not found:
        raise wrong[0]
    return found


def plan_again(folder: Path, plan: Plan, verified: Verification) -> tuple[Plan, LoadedScenario] | None:
    """The plan by the scenario in the folder, its overrides and choices, compared with the recorded one field by field;
    None where it can't be rederived, which ``verified`` reports."""
    if (folder / PROGRAM).is_file():
        _check_program(folder, verified)
    try:
        seed, quick = int(plan["seed"]), bool(plan["quick"])
        chosen = plan["runtime"], plan["middle"], seed, quick, plan["occasion"], plan["engine"], plan.get("traces")
        choices = Choices(*chosen)
        policies = _policies(folder, plan, verified)
        requested = scenario_again(folder, plan)
        if requested[0].scenario.program is not None and plan.get("program"):
            verified.unchecked.add_message(
                "plan.own-program",
                "plan.json: what is sent is a program of the user's own, which is not with the results",
            )
            return None
        if requested[0].scenario.topology.file and plan["topology"].get("file") and not _may_make_topology(requested):
            verified.unchecked.add_message(
                "plan.own-topology",
                "plan.json: the topology is a program of the user's own, which only --trust-code executes",
            )
            return None
        made = [(_resolved(loaded, policies, choices, plan), loaded) for loaded in requested]
    except (BadInput, KeyError, TypeError, ValueError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        verified.differences.add_message(
            "plan.can-not-be-made-again", f"plan.json: does not follow from scenario.yaml: {what}"
        )
        return None
    recorded = read_json(folder / "plan.json")
    named = _named_files(recorded)
    reported = [[*differences("plan.json", named, _named_files(as_in(recorded, again)))] for again, _ in made]
    least = min(range(len(reported)), key=lambda place: len(reported[place]))
    verified.differences.extend(reported[least])
    if paths_of(plan) != paths_of(made[least][0]):
        verified.notes.add_message(
            "plan.only-names-of-files", "plan.json: of jitter, trace and topology files only the names are compared"
        )
    return made[least]


def _may_make_topology(requested: Sequence[LoadedScenario]) -> bool:
    """Whether the topology of any is a program that may be executed."""
    files = ((loaded.path, loaded.scenario.topology.file) for loaded in requested)
    return any(file is not None and confine.may_execute(path.parent / file) for path, file in files)


def _check_program(folder: Path, verified: Verification) -> None:
    """Whether a scenario in Python gives what the folder has of it as YAML, where it may be executed."""
    program, text = folder / PROGRAM, folder / "scenario.yaml"
    if not confine.may_execute(program):
        verified.unchecked.add_message(
            "scenario.of-a-program", f"scenario.yaml: {PROGRAM} gave it, which only --trust-code executes"
        )
        return
    try:
        recorded, again = (plain(document_of(str(path), [], quick=False)[1]) for path in (text, program))
        verified.differences.extend(differences(f"scenario.yaml by {PROGRAM}", recorded, again))
    except BadInput as error:
        verified.differences.add_message(
            "scenario.not-by-its-program", f"scenario.yaml: {PROGRAM} does not give it: {error.said}"
        )


def _resolved(loaded: LoadedScenario, policies: PolicyFacts, choices: Choices, plan: Plan) -> Plan:
    if loaded.scenario.topology.file is not None and not _may_make_topology([loaded]):  # whatever the plan says
        raise BadInput(
            "verify.topology-is-a-program", "its topology is a program, which the plan has not, and is not executed"
        )
    again = resolve(loaded, policies, choices, str(plan["run"]))
    own = plan["sessions"][0]
    if "carrier" in own:  # a table's column chooses it
        again = traffic.of(plan).in_place_of_ncp(again, own.get("congestion_control"))
    for key in ("place", "middles"):  # by an inventory, which is not in the folder
        if key in plan and not engine_of(plan).virtual_time:
            again[key] = plan[key]
    return again | {"run": plan["run"], "namespace": plan["namespace"]}


def _policies(folder: Path, plan: Plan, verified: Verification) -> PolicyFacts:
    """Facts of the policies: from the program of this checkout, or of the commit whose agent it is; where that is not
    possible from the plan itself, which ``verified`` reports."""
    named = {name for check in plan["checks"] for name in check.get("policy", ())}
    by_plan: PolicyFacts = {name: {"name": name} for name in named}
    by_plan |= {session["policy"]: session["policy_facts"] for session in plan["sessions"]}
    try:
        return programs_of(folder, engines.named(SWEEP), plan).policies
    except (TestbedError, OSError, subprocess.CalledProcessError) as error:
        said = Message("policies.no-program", f"plan.json: policy_facts: no program could be built to ask: {error}")
        can_not_build(error, said, verified)
    return by_plan


def paths_of(plan: Plan) -> list[str]:
    """The files of the machine that a plan names."""
    named = [str(value) for link in plan["links"] for key, value in link.items() if key in FILES]
    return [*named, *([plan["topology"]["file"]] if "file" in plan["topology"] else [])]


def _named_files(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with files of the machine by their names alone."""
    links = [
        {key: PurePosixPath(str(value)).name if key in FILES else value for key, value in link.items()}
        for link in plan["links"]
    ]
    topology: dict[str, Any] = dict(plan["topology"])
    if "file" in topology:
        topology["file"] = TOPOLOGY
    return {**plan, "links": links, "topology": topology}


def check_commit(folder: Path, plan: Plan, recorded: Mapping[str, Any], verified: Verification) -> None:
    """Whether the recorded commit may be the one that the result was made by: in the simulator its sources, or those of
    this checkout where it had changes or is not known, give the run its name. ``plan`` is as it is recorded."""
    commit, why = known_commit(recorded), _why_not_known(recorded)
    if engine_of(plan).kernel:
        if why and why.code != "commit.had-changes":
            verified.unchecked.append(why)
    elif recorded.get("of_commit") or (recorded.get(changes.KEY) and not _are_ours(plan)):
        try:
            name = name_by(programs_of(folder, engines.of(plan), plan), plan)
        except (TestbedError, OSError, subprocess.CalledProcessError) as error:
            can_not_build(error, Message("commit.no-agent", f"commit: its agent can't be built: {error}"), verified)
            return
        if name != plan["run"]:  # with a whole diff, the sources are known to the letter
            whole = not recorded.get("of_commit") and not recorded[changes.KEY].get("left_out")
            by_name = whole and _names_as_here(commit)
            (verified.differences if by_name else verified.unchecked).add_message(
                "commit.other-agent",
                f"commit: run {plan['run']} is recorded, {name} by plan and agent of {commit:.12} as it is built here; "
                "--rerun compares their data",
            )
    elif why is not None:
        if name_by(Programs({}, {}), plan) != plan["run"]:
            verified.unchecked.append(why)
    else:
        sources = _sources_at(commit, engines.of(plan).sources)
        if sources is None or not _names_as_here(commit):
            verified.unchecked.add_message(
                "commit.other-rule", f"commit: {commit:.12} names runs by another rule than this checkout"
            )
        elif (name := name_by(Programs({}, {}, sources), plan)) != plan["run"]:
            verified.differences.add_message(
                "commit.other-name",
                f"commit: run {plan['run']} is recorded, {name} by plan and sources of {commit:.12}",
            )


_PROGRAMS_HERE: Callable[[Engine], Programs] = cache(lambda engine: engine.build(QuietProgress()))


def programs_of(folder: Path, engine: Engine, plan: Plan | None = None) -> Programs:
    """The programs that a result's runs in virtual time are repeated with. Raises TestbedError where they can't be
    built.

    They are this checkout's, with the end points of another commit where a result says that they are of one, or those
    of a commit with the result's diff. A commit that no branch of this checkout has may be anybody's, and is not built.
    """
    recorded = provenance_of(folder)
    commit, of_commit = known_commit(recorded), bool(recorded.get("of_commit"))
    diff = "" if of_commit else changes.kept(folder, recorded)
    if not of_commit and (not diff or changes.is_ours(diff, recorded) or (plan and _are_ours(plan, diff))):
        return _PROGRAMS_HERE(engine)
    if diff:
        confine.diff(f"commit {commit_of(recorded):.12} with {changes.FILE} ({len(diff)} characters)")
    if not commit or not answer("branch", "--contains", commit):
        raise BadInput("commit.of-no-branch", f"{told_of(recorded)} is on no branch of this checkout")
    return of_changes(commit, diff, engine) if diff else programs(commit, engine, QuietProgress())


def _are_ours(plan: Plan, diff: str = "") -> bool:
    """Whether the programs that made a run may be this checkout's: its sources give a simulation its name, and to other
    runs the diff is of no program."""
    return ".go\n" not in diff if engine_of(plan).kernel else name_by(Programs({}, {}), plan) == plan["run"]


def can_not_build(error: Exception, otherwise: Message, verified: Verification) -> None:
    """Report that programs of a result can't be built; once where its diff is the reason, and as a difference where
    that is not what it should be."""
    said = error.said if isinstance(error, BadInput) and error.said.code.startswith("diff.") else otherwise
    found = verified.unchecked if said is otherwise or said.code == "diff.not-trusted" else verified.differences
    if said not in found:
        found.append(said)


def name_by(programs: Programs, plan: Plan) -> str:
    """The name of a plan's run by these programs."""
    named = plan.copy()
    engines.of(plan).name_run(named, programs)
    return named["run"]


RULE_OF_NAMES = (
    ("testbed/engines/virtual_run.py", "testbed/simulator/virtual_run.py"),
    ("testbed/engines/sim/run.py", "testbed/simulator/run.py"),
)
"""Files that hold it: where each is now, and where it was before."""
PARTS_OF_THE_RULE = {"NOT_OF_THE_QUESTION", "SOURCES", "run_id", "texts", "_files", "is_source"}
"""Names in these files that are parts of the rule."""


def _names_as_here(commit: str) -> bool:
    """Whether a commit names runs by this checkout's rule."""
    return all(
        _rule_in((paths.CHECKOUT / places[0]).read_bytes()) == _rule_in(text_at(commit, *places)[1] or b"")
        for places in RULE_OF_NAMES
    )


def _rule_in(source: bytes) -> dict[str, str]:
    """The source of each part of the rule, by its name, without comments and docstrings."""
    found: dict[str, str] = {}
    for part in ast.parse(source).body:
        if isinstance(part, ast.FunctionDef) and part.name in PARTS_OF_THE_RULE:
            steps = part.body[1:] if ast.get_docstring(part) else part.body
            found[part.name] = "\n".join(ast.unparse(step) for step in (part.args, *steps))
        elif isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) in PARTS_OF_THE_RULE:
            found[ast.unparse(part.targets[0])] = ast.unparse(part.value)
    return found


def known_commit(recorded: Mapping[str, Any]) -> str:
    """The commit that a result names, where this checkout has it; else ""."""
    commit = commit_of(recorded)
    return commit if commit and answer("cat-file", "-e", f"{commit}^{{commit}}") is not None else ""


def _why_not_known(recorded: Mapping[str, Any]) -> Message | None:
    """The reason why a result may be of other sources than those of the commit that it names, or None."""
    commit = recorded.get("commit")
    if not commit:
        return Message("commit.not-recorded", "commit: none is recorded")
    if not known_commit(recorded):
        return Message("commit.not-known", f"commit: {commit!s:.12} is not known to this checkout")
    if recorded.get("uncommitted_changes") is not False:
        return Message("commit.had-changes", f"commit: {commit:.12} had changes that were not committed")
    return None


def text_at(commit: str, *places: str) -> tuple[str, bytes | None]:
    """The first of these places that a commit has, and the text there; the first one and None if it has none."""
    found = ((place, text) for place in places if (text := answer("show", f"{commit}:{place}")) is not None)
    return next(found, (places[0], None))


def is_cell(folder: Path) -> bool:
    """Whether a run's folder is inside that of its table."""
    parents = folder.resolve().parents
    return len(parents) > 4 and kind_of_study(parents[4]) == "table" and parents[3].name == "cells"


def may_be_ours(recorded: Mapping[str, Any], sources: Sequence[str]) -> bool:
    """Whether the recorded commit may have the same ``sources`` as this checkout."""
    if not recorded.get("commit") or recorded.get("uncommitted_changes"):
        return True
    commit = commit_of(recorded)
    return bool(commit) and answer("diff", "--quiet", commit, "--", *sources, ":!*_test.go") is not None


def made_here(recorded: Mapping[str, Any]) -> bool:
    """Whether the recorded commit is this checkout's, and neither has changes that are not committed."""
    commit = commit_of(recorded)
    same = {"commit": commit, "uncommitted_changes": False}
    return bool(commit) and not recorded.get("uncommitted_changes") and here() == same


def told_of(recorded: Mapping[str, Any]) -> str:
    """The recorded commit, or that of this checkout, in words."""
    commit = commit_of(recorded)
    changed = " with changes that were not committed" if recorded.get("uncommitted_changes") else ""
    return f"commit {commit:.12}{changed}" if commit else "an unknown commit"


PLACES_OF_THE_SCHEMA = ("testbed/engines/provenance.py", "testbed/runner/provenance.py")
"""The file that holds it: where it is now, and where it was before."""


@cache
def _schema_at(commit: str) -> int:
    """The schema of result folders that a commit's sources write; 1 where that is not known."""
    text = text_at(commit, *PLACES_OF_THE_SCHEMA)[1] if commit else None
    found = re.search(rb"^SCHEMA = (\d+)$", text or b"", re.MULTILINE)
    return int(found[1]) if found else 1


@cache
def _sources_at(commit: str, sources: tuple[str, ...]) -> bytes | None:
    """Texts of a commit, as :func:`testbed.engines.virtual_run.texts` gives them of the checkout; None where the commit
    lacks some."""
    archive = answer("archive", "--format=tar", commit, "--", *sources)
    if archive is None:
        return None
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        found = {PurePosixPath(member.name): files.extractfile(member) for member in files if member.isfile()}
        return b"".join(
            str(path).encode() + b"\0" + (found[path].read() if found[path] else b"")  # type: ignore[union-attr]
            for path in sorted(found)
            if virtual_run.is_source(path, sources)
        )
