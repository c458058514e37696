"""Checks a result's provenance: its plan against the scenario, and its commit, as far as possible."""

import ast
import io
import re
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from testbed import confine, engines, paths, traffic
from testbed.documents import read_json
from testbed.engines import Programs, provenance, virtual_run
from testbed.errors import BadInput, TestbedError
from testbed.judge.history import answer, commit_of, here, provenance_of
from testbed.judge.verify import differences
from testbed.machine import build
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.read import as_in
from testbed.planning.resolve import Choices, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.scenario import extended
from testbed.scenario.files import LINKS
from testbed.scenario.kept import PROGRAM, TOPOLOGY
from testbed.scenario.load import LoadedScenario, document_of, load, parse, plain, validated
from testbed.scenario.model import Scenario
from testbed.study.kinds.table import differences_from
from testbed.study.kinds.table_file import COLUMN
from testbed.study.ledger import kind_of as kind_of_study
from testbed.study.own_scenario import own_file, with_kept_topology
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
    if plan.get("program"):
        verified.unchecked.add_message(
            "plan.own-program", "plan.json: what is sent is a program of the user's own, which is not with the results"
        )
        return None
    if (folder / PROGRAM).is_file():
        _check_program(folder, verified)
    try:
        seed, quick = int(plan["seed"]), bool(plan["quick"])
        chosen = plan["runtime"], plan["middle"], seed, quick, plan["occasion"], plan["engine"], plan.get("traces")
        choices = Choices(*chosen)
        policies = _policies(plan, provenance_of(folder), verified)
        requested = scenario_again(folder, plan)
        if plan["topology"].get("file") and not any(map(_may_make_topology, requested)):
            verified.unchecked.add_message(
                "plan.own-topology", "plan.json: the topology is a program of the user's own, which is not executed"
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


def _may_make_topology(loaded: LoadedScenario) -> bool:
    """Whether its topology is a program that may be executed."""
    file = loaded.scenario.topology.file
    return file is not None and confine.may_execute(loaded.path.parent / file)


def _check_program(folder: Path, verified: Verification) -> None:
    """Whether a scenario in Python gives what the folder has of it as YAML, where it may be executed."""
    program, text = folder / PROGRAM, folder / "scenario.yaml"
    if not confine.may_execute(program):
        verified.unchecked.add_message(
            "scenario.of-a-program", f"scenario.yaml: {PROGRAM} gave it, which is not carried out to check it"
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
    if loaded.scenario.topology.file is not None and not _may_make_topology(loaded):  # whatever the plan says
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


def _policies(plan: Plan, recorded: Mapping[str, Any], verified: Verification) -> PolicyFacts:
    """Facts of the policies: from this checkout's program, and where that is not possible from the plan itself, which
    ``verified`` reports."""
    named = {name for check in plan["checks"] for name in check.get("policy", ())}
    by_plan: PolicyFacts = {name: {"name": name} for name in named}
    by_plan |= {session["policy"]: session["policy_facts"] for session in plan["sessions"]}
    if recorded.get("of_commit"):
        why = Message("policies.of-another-commit", f"the agent was built from commit {recorded.get('commit')!s:.12}")
    else:
        try:
            return policies_here()
        except (TestbedError, OSError) as error:
            why = Message("policies.no-program", f"no program could be built to ask: {error}")
    verified.unchecked.append(why.at("plan.json: policy_facts"))
    return by_plan


@cache
def policies_here() -> PolicyFacts:
    """Facts from this checkout's programs; raises TestbedError where they can't be built."""
    return build.policy_facts(build.build_programs("ncp-sim")["ncp-sim"])


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
    """Whether the recorded commit may be the one that the result was made by: its sources give the run its name (in
    the simulator), and the scenario in the folder is the commit's. ``plan`` is as it is recorded."""
    commit = commit_of(recorded)
    if why := _why_not_checkable(commit, recorded):
        verified.unchecked.append(why)
        return
    _check_scenario(folder, plan, commit, verified)
    if not engine_of(plan).kernel and not recorded.get("of_commit"):
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
        _rule_in((paths.CHECKOUT / places[0]).read_bytes()) == _rule_in(_text_at(commit, *places)[1] or b"")
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


def _why_not_checkable(commit: str, recorded: Mapping[str, Any]) -> Message | None:
    if not commit and not recorded.get("commit"):
        return Message("commit.not-recorded", "commit: none is recorded")
    if recorded.get("uncommitted_changes"):
        return Message("commit.had-changes", f"commit: {commit:.12} had changes that were not committed")
    if not commit or answer("cat-file", "-e", f"{commit}^{{commit}}") is None:
        return Message("commit.not-known", f"commit: {recorded.get('commit')!s:.12} is not known to this checkout")
    return None


def _check_scenario(folder: Path, plan: Plan, commit: str, verified: Verification) -> None:
    """Compares the scenario with that of the commit; of a table's cell, the table is compared."""
    name, file = str(plan["scenario"]), folder / "scenario.yaml"
    if is_cell(folder) or not file.is_file():
        return
    place, there = _text_at(commit, *_places_of(name))
    if there is None:
        verified.unchecked.add_message(
            "commit.no-such-scenario", f"commit: {commit:.12} has no {place}: it is the user's own, or a table's"
        )
    elif there != file.read_bytes():
        title = str(parse(Path(place), there.decode(), "a scenario").get("title", ""))
        if b"\nextends:" in there:
            verified.unchecked.add_message(
                "commit.extends", f"commit: {place} extends another scenario; the folder has the whole of it"
            )
        elif str(plan["title"]).startswith(f"{title}: "):
            verified.unchecked.add_message("commit.of-a-cell", f"commit: the scenario is a cell's of a table of {name}")
        else:
            verified.differences.add_message(
                "scenario.not-the-commit-s", f"scenario.yaml: is not the {place} of the recorded commit {commit:.12}"
            )


def _places_of(scenario: str) -> tuple[str, ...]:
    return f"scenarios/{scenario}.yaml", f"scenarios/{LINKS}/{scenario}.yaml"


def _text_at(commit: str, *places: str) -> tuple[str, bytes | None]:
    """The first of these places that a commit has, and the text there; the first one and None if it has none."""
    found = ((place, text) for place in places if (text := answer("show", f"{commit}:{place}")) is not None)
    return next(found, (places[0], None))


def check_table(folder: Path, recorded: Mapping[str, Any], verified: Verification) -> None:
    """Whether a table is the one that the recorded commit has, with the overrides that are recorded."""
    commit = commit_of(recorded)
    if why := _why_not_checkable(commit, recorded):
        verified.unchecked.append(why)
        return
    document = read_json(folder / "table.json")
    name = str(document["name"])
    places = _places_of(name) if document["columns"] == [COLUMN] else (f"scenarios/tables/{name}.yaml",)
    place, there = _text_at(commit, *places)
    if there is None:
        verified.unchecked.add_message("commit.no-such-table", f"commit: {commit:.12} has no {place}: the user's")
        return
    with tempfile.TemporaryDirectory(prefix="ncp-verify-") as scratch:
        file = Path(scratch, f"{name}.yaml")
        file.write_bytes(there)
        found: list[Message]
        try:
            with confine.to(Path(scratch), folder):
                found = [*differences_from(str(file), folder)]
        except BadInput as error:
            found = [error.said]
    verified.differences.extend(one.at(f"commit {commit:.12}, {place}") for one in found)


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
    text = _text_at(commit, *PLACES_OF_THE_SCHEMA)[1] if commit else None
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
