"""The workflows do nothing but .ci/run, and .ci/run does what it says."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import nox.registry
import pytest
from ruamel.yaml import YAML

import noxfile
from testbed import paths
from tests.sabotage.catalogue import ENTRIES

WORKFLOWS = sorted((paths.CHECKOUT / ".github" / "workflows").glob("*.yml"))
SCRIPT = paths.CHECKOUT / ".ci" / "run"


def commands(workflow: Path) -> list[list[str]]:
    """Every command of its steps, as words, with ``${{ … }}`` as one word."""
    document: dict[str, Any] = YAML(typ="safe").load(workflow)
    steps = [step for job in document["jobs"].values() for step in job["steps"]]
    lines = [line for step in steps for line in str(step.get("run", "")).splitlines() if line.strip()]
    return [shlex.split(re.sub(r"\$\{\{.*?\}\}", "EXPRESSION", line)) for line in lines]


def verbs() -> set[str]:
    """What .ci/run knows, by its own last lines."""
    cases = SCRIPT.read_text().rpartition("case ${1:-test} in")[2]
    return set(re.findall(r"^    ([a-z]+)\)", cases, re.MULTILINE))


def test_there_are_the_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "release.yml", "saboteurs.yml"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_their_commands_are_those_of_the_script(workflow: Path) -> None:
    found = commands(workflow)
    assert found
    for words in found:
        rest = words[2:] if re.fullmatch(r"sudo --preserve-env=CI[A-Z,]*", " ".join(words[:2])) else words
        assert rest[0] == ".ci/run", words
        assert not rest[1:] or rest[1] in verbs(), words


def test_what_is_marked_nightly_is_carried_out_at_night() -> None:
    """The session of all nightly tests leaves out what others have, and each of these is in a verb that is called."""
    called = {words[-1] for words in commands(paths.CHECKOUT / ".github" / "workflows" / "nightly.yml")}
    text = SCRIPT.read_text()
    for name in ("nightly", "properties", "properties-go", "saboteurs-packets", *noxfile.OF_OTHER_SESSIONS):
        assert name in nox.registry.get()
        of_a_verb = rf"^(\w+)\(\) {{(?:(?!^}}).)*^    \./run\.sh test (?:\S+ )*{name}(?: .*)?$"
        verb = re.search(of_a_verb, text, re.MULTILINE | re.DOTALL)
        assert verb, f"no verb of .ci/run has the session {name}"
        assert verb[1] in called, f"{verb[1]} is not called"
    assert all((paths.CHECKOUT / folder).is_dir() for folder in noxfile.OF_OTHER_SESSIONS.values())


@pytest.mark.parametrize(
    ("verb", "sessions"),
    [("breakage", "nightly"), ("saboteurs", "saboteurs-all saboteurs-packets"), ("guest", "guest-kernel guest")],
)
def test_verbs_that_are_sessions(checkout: Path, verb: str, sessions: str) -> None:
    code, said, out = run(checkout, verb)
    assert code == 0, out
    assert said == [f"run.sh test {sessions} ()"]
    assert run(checkout, verb, CODE="1")[0] == 1


def test_all_saboteurs_are_tried_when_what_they_test_changes() -> None:
    workflow = YAML(typ="safe").load(paths.CHECKOUT / ".github" / "workflows" / "saboteurs.yml")
    for event in ("push", "pull_request"):
        watched = workflow[True if True in workflow else "on"][event]["paths"]
        assert [glob for glob in watched if not list(paths.CHECKOUT.glob(glob))] == []
        changed = {swap.file for entry in ENTRIES for swap in entry.swaps}
        assert {file for file in changed if not any(fnmatch(file, glob) for glob in watched)} == set()


def test_the_nightly_covers_both_middles_and_virtual_time() -> None:
    nightly = paths.CHECKOUT / ".github" / "workflows" / "nightly.yml"
    how = YAML(typ="safe").load(nightly)["jobs"]["claims"]["strategy"]["matrix"]["how"]
    how += [words[-1] for words in commands(nightly) if words[:2] == [".ci/run", "nightly"]]
    text = SCRIPT.read_text()
    assert sorted(how) == ["netem", "relay", "sim", "vkernel"]
    assert all(re.search(rf"^ +{name}\) .*\./run\.sh all --quick ", text, re.MULTILINE) for name in how)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose run.sh and gh write down what they are asked."""
    shutil.copytree(paths.CHECKOUT / ".ci", tmp_path / ".ci")
    said = tmp_path / "said"
    for name, more in (
        (
            "run.sh",
            'if [ "$1" = test ]; then exit ${CODE:-0}; fi; '
            'if [ "$1" = all ]; then mkdir -p results/all/one; ln -sfn one results/all/latest; '
            "cp claims.json results/all/one/; echo page > results/all/one/report.html; exit ${CODE:-0}; fi",
        ),
        (".venv/bin/python", "exit ${CODE:-0}"),
        ("bin/gh", 'if [ "$2" = list ]; then echo "${OPEN:-}"; fi'),
        ("bin/modprobe", "exit 0"),
    ):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$(basename "$0") $* ($NCP_TESTBED_OCCASION)" >> {said}\n{more}\n')
        program.chmod(0o755)
    claim = {"id": "a-claim", "verdict": "pass", "as_known": True, "measured": "8.0", "n": 3}
    document = {"run": "one", "verdict": "pass", "claims": [claim], "runs": {"a-run": {"state": "pass"}}}
    (tmp_path / "claims.json").write_text(json.dumps(document))
    return tmp_path


def next_night(checkout: Path, how: str, word: str, **changed: Any) -> tuple[int, str]:
    """Another night; ``word`` is the verdict on all claims, ``changed`` is of the one claim, or its run's ``state``.
    Returns the exit code and what was printed."""
    document = json.loads((checkout / "claims.json").read_text())
    document["run"] += "+"
    document["verdict"] = word
    document["runs"]["a-run"]["state"] = changed.pop("state", "pass")
    document["claims"][0].update({"verdict": "untrusted", "as_known": None} if word == "untrusted" else {})
    document["claims"][0].update(changed)
    (checkout / "claims.json").write_text(json.dumps(document))
    code, _, out = run(checkout, "nightly", how, CODE={"pass": "0", "fail": "1", "untrusted": "3"}[word])
    return code, out


def run(checkout: Path, *arguments: str, **environment: str) -> tuple[int, list[str], str]:
    path = f"{checkout / 'bin'}:{os.environ['PATH']}"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("NCP_TESTBED_")}
    done = subprocess.run(
        [str(checkout / ".ci" / "run"), *arguments],
        env={**clean, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    said = checkout / "said"
    return done.returncode, said.read_text().splitlines() if said.exists() else [], done.stdout + done.stderr


@pytest.mark.parametrize(
    ("how", "asked"), [("netem", "--link netem"), ("relay", "--link relay"), ("sim", "--engine sim")]
)
def test_a_night(checkout: Path, how: str, asked: str) -> None:
    for _ in range(2):
        code, said, out = run(checkout, "nightly", how)
        assert code == 0, out
    said = [line for line in said if line.startswith("run.sh")]
    assert said[:3] == [
        f"run.sh all --quick {asked} (nightly)",
        f"run.sh bundle results/all/latest --output results/nightly/{how}.zip (nightly)",
        f"run.sh verify results/nightly/{how}.zip (nightly)",
    ]
    with (checkout / "results" / "nightly" / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["how"], row["claim"], row["verdict"]) for row in rows] == [
        (how, "a-claim", "pass"),
        (how, "all", "pass"),
    ]


@pytest.mark.parametrize(("code", "ended"), [("1", 1), ("2", 2), ("3", 0), ("4", 4)])
def test_a_bad_night_keeps_its_results_and_ends_as_it_did(checkout: Path, code: str, ended: int) -> None:
    found, _, out = run(checkout, "nightly", "relay", CODE=code)
    assert found == ended, out
    assert (checkout / "results" / "nightly" / "relay.html").is_file()
    assert ("::warning::" in out) is (code == "3")


def test_the_third_untrusted_night_in_a_row_alarms(checkout: Path) -> None:
    for _ in range(2):
        code, out = next_night(checkout, "relay", "untrusted")
        assert (code, "::warning::relay: untrusted" in out) == (0, True), out
    assert next_night(checkout, "sim", "untrusted")[0] == 0, "nights of another kind are not counted"
    for number in (3, 4):
        code, out = next_night(checkout, "relay", "untrusted")
        assert (code, f"::error::relay: the {number}. night in a row" in out) == (3, True), out
    with (checkout / "results" / "nightly" / "history.csv").open(newline="") as file:
        kept = [(row["how"], row["verdict"]) for row in csv.DictReader(file) if row["claim"] == "all"]
    assert kept == [(how, "untrusted") for how in ("relay", "relay", "sim", "relay", "relay")]


def test_a_trusted_night_ends_the_row(checkout: Path) -> None:
    two_late = ["untrusted", "untrusted"]
    nights = [*two_late, "pass", *two_late, "untrusted"]
    assert [next_night(checkout, "relay", verdict)[0] for verdict in nights] == [0, 0, 0, 0, 0, 3]


def test_a_night_that_is_run_again_by_hand_counts_once(checkout: Path) -> None:
    next_night(checkout, "relay", "untrusted")
    for _ in range(3):
        assert run(checkout, "nightly", "relay", CODE="3")[0] == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"verdict": "fail", "as_known": False}, "otherwise than known: a-claim"),
        ({"verdict": "pass", "as_known": False}, "otherwise than known: a-claim"),
        ({"verdict": "error"}, "otherwise than known: a-claim"),
        ({"verdict": "a new word"}, "otherwise than known: a-claim"),
        ({"state": "error"}, "broken down: a-run"),
    ],
)
def test_what_is_wrong_for_all_that_alarms_on_the_first_untrusted_night(
    checkout: Path, changed: dict[str, Any], said: str
) -> None:
    code, out = next_night(checkout, "netem", "untrusted", **changed)
    assert code == 3
    assert said in out


@pytest.mark.parametrize("verdict", ["inconclusive", "insufficient-data", "unsupported", "untrusted"])
def test_what_is_open_on_an_untrusted_night_is_no_alarm(checkout: Path, verdict: str) -> None:
    code, out = next_night(checkout, "netem", "untrusted", verdict=verdict)
    assert (code, "::warning::" in out) == (0, True), out


@pytest.mark.parametrize(("code", "ended"), [("0", 0), ("1", 1), ("4", 0)])
def test_dashboards_are_opened_at_what_the_night_left(checkout: Path, code: str, ended: int) -> None:
    (checkout / "results" / "nightly").mkdir(parents=True)
    found, said, out = run(checkout, "dashboards", CODE=code)
    assert found == ended, out
    assert said == ["run.sh up ()", "python -m dashboards.check results/nightly/dashboards ()"]
    assert ("::warning::" in out) is (code == "4")


def test_a_history_that_can_not_be_kept_is_no_success(checkout: Path) -> None:
    (checkout / "claims.json").write_text('{"run": "one"}')
    code, _, out = run(checkout, "nightly", "netem")
    assert (code, "::error::" in out) == (1, True), out


def test_a_night_s_job_that_fails_opens_the_alert_and_keeps_the_history() -> None:
    jobs = YAML(typ="safe").load(paths.CHECKOUT / ".github" / "workflows" / "nightly.yml")["jobs"]
    alert = jobs.pop("alert")
    assert alert["if"] == "failure()"
    assert sorted(alert["needs"]) == sorted(jobs)
    for name, job in jobs.items():
        if not name.startswith("claims"):
            continue
        steps = [step for step in job["steps"] if "history" in str(step.get("with", {}).get("key", ""))]
        fetched, kept = (step for step in steps)
        assert fetched["uses"].startswith("actions/cache/restore@")
        assert kept["uses"].startswith("actions/cache/save@")
        assert kept["if"].startswith("always()")


def test_an_alert_opens_one_issue_and_then_adds_to_it(checkout: Path) -> None:
    assert run(checkout, "alert", "all --quick")[0] == 0
    code, said, _ = run(checkout, "alert", "all --quick", OPEN="17")
    assert code == 0
    asked = [line for line in said if "issue c" in line]
    assert asked[0].startswith("gh issue create --label nightly --title Nightly: all --quick failed")
    assert asked[1].startswith("gh issue comment 17 ")


def test_the_site_is_made_before_it_is_looked_at(checkout: Path) -> None:
    code, said, out = run(checkout, "site")
    assert code == 0, out
    assert said == ["run.sh docs --output results/site ()", "run.sh test pages ()"]
    assert run(checkout, "site", CODE="1")[0] == 1


@pytest.fixture
def tagged(checkout: Path) -> Path:
    """A checkout of version 1.2.3, committed; its run.sh makes the files that it is asked for."""
    (checkout / "pyproject.toml").write_text('version = "1.2.3"\n')
    (checkout / "CITATION.cff").write_text("version: 1.2.3\n")
    (checkout / "CHANGELOG.md").write_text("# Changes\n\n## [1.2.3]\nNew.\n\n## [1.2.2]\nOld.\n")
    program = checkout / "run.sh"
    made = '[ "$1" != docs ] || mkdir -p "$3"\n[ "$1" != bundle ] || touch "$4"\n'
    program.write_text(program.read_text() + made)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        who = ["-c", "user.name=x", "-c", "user.email=x@e.org"]
        subprocess.run(["git", *who, *words], cwd=checkout, check=True)
    return checkout


def test_a_release_is_sources_results_and_site_with_checksums(tagged: Path) -> None:
    code, said, out = run(tagged, "release", "v1.2.3")
    assert code == 0, out
    assert [line.split()[1] for line in said] == ["all", "bundle", "verify", "docs"]
    folder = tagged / "results" / "release"
    sums = (folder / "SHA256SUMS").read_text()
    names = ["ncp-testbed-1.2.3.tar.gz", "ncp-testbed-1.2.3-results.zip", "ncp-testbed-1.2.3-docs.tar.gz"]
    assert [line.split()[1] for line in sums.splitlines()] == names
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "SHA256SUMS"])
    assert run(tagged, "release", "v1.2.3")[0] == 0
    assert (folder / "SHA256SUMS").read_text() == sums, "the same commit gives the same files"
    assert run(tagged, "release", "v1.2.3", CODE="1")[0] == 1, "no release of results that fail"
    code, said, out = run(tagged, "publish", "v1.2.3")
    assert code == 0, out
    assert said[-1].startswith("gh release create v1.2.3 --verify-tag ")
    assert (tagged / "results" / "notes.md").read_text() == "New.\n\n"


@pytest.mark.parametrize("file", ["pyproject.toml", "CITATION.cff", "CHANGELOG.md"])
def test_a_release_has_one_version(tagged: Path, file: str) -> None:
    path = tagged / file
    path.write_text(path.read_text().replace("1.2.3", "1.2.4"))
    code, said, out = run(tagged, "release", "v1.2.3")
    assert (code, said) == (2, [])
    assert file in out


@pytest.mark.parametrize("arguments", [("nonsense",), ("nightly", "nonsense"), ("nightly",)])
def test_what_it_does_not_know_ends_with_2(checkout: Path, arguments: tuple[str, ...]) -> None:
    assert run(checkout, *arguments)[0] == 2
