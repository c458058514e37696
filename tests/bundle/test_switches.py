"""No line of a result decides what is checked of it: each of these forgeries was confirmed once somebody had written in
the result that it was another case."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.archive.origin import check_scenario
from testbed.cli.app import carry_out
from testbed.exit_codes import Exit
from testbed.judge.history import git
from testbed.scenario.load import load
from testbed.study.verify import Verification
from tests.bundle import made
from tests.bundle.made import derive_again, edit, forge_telemetry, verify_folder
from tests.said import codes

HEAD = git("rev-parse", "HEAD").stdout.decode().strip()
SETTINGS = ["ncp.transfer=256KiB"]
NOT_CONFIRMED, INCOMPLETE, CONFIRMED = "NOT CONFIRMED", "INCOMPLETE", "CONFIRMED"
UNKNOWN = "0" * 40

Change = Callable[[Path], None]

pytestmark = pytest.mark.skipif(not HEAD, reason="this checkout has no history")


def of_startup(place: Path, change: Callable[[str], str] = lambda text: text) -> Path:
    """A run of the shipped scenario, or of a user's own with its name, that says to be of HEAD."""
    file = paths.SCENARIOS / "startup.yaml"
    if (text := change(file.read_text())) != file.read_text():
        file = place / "startup.yaml"
        file.write_text(text)
    folder = made.simulated(place, load(str(file), SETTINGS), paged=False)
    edit(folder / "provenance.json", commit=HEAD, uncommitted_changes=False)
    return folder


def weakened(text: str) -> str:
    """The scenario with a check that it can't fail."""
    weak = text.replace("min: 7", "min: 0", 1)
    assert weak != text
    return weak


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are drawn of what else is in a folder: whoever forges that draws it again."""
    monkeypatch.setattr("testbed.archive.page.check", lambda *_, **__: None)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A sound run, and ones whose scenario is not the one that is known by its name."""

    def titled(more: str) -> Callable[[str], str]:
        title = "Windows that start equal follow the throughput of their connections"
        return lambda text: weakened(text).replace(f"title: {title}", f"title: '{title}: {more}'")

    changes: dict[str, Callable[[str], str]] = {
        "sound": lambda text: text,
        "weak": weakened,
        "titled": titled("of all"),
        "repeated": titled("repeated, runs"),
    }
    return {name: of_startup(tmp_path_factory.mktemp(name), change) for name, change in changes.items()}


def outcome(folder: Path, *, rerun: bool = False) -> tuple[str, set[str]]:
    """The word of the last line, and the codes that it is for."""
    verified = verify_folder(folder, rerun=rerun)
    return verified.word, set(codes([*verified.differences, *verified.unchecked]))


def of_provenance(**changes: Any) -> Change:
    return lambda folder: edit(folder / "provenance.json", **changes)


def of_plan(**changes: Any) -> Change:
    """A check of the plan that can't fail, and something that the scenario does not have."""

    def change(folder: Path) -> None:
        plan = json.loads((folder / "plan.json").read_text())
        plan["checks"] = [check | ({"min": 0} if "min" in check else {}) for check in plan["checks"]]
        edit(folder / "plan.json", checks=plan["checks"], **changes)
        derive_again(folder)

    return change


def words(folder: Path) -> None:
    """A reason that the data do not give, by code that this checkout does not know."""
    verdict = json.loads((folder / "verdict.json").read_text())
    verdict["checks"][0] |= {"reason": "Fine.", "code": ""}
    edit(folder / "verdict.json", **verdict)
    edit(folder / "provenance.json", code="0" * 16)


def numbers(folder: Path) -> None:
    edit(folder / "verdict.json", duration_s=1.0)
    edit(folder / "provenance.json", code="0" * 16)


def both(*changes: Change) -> Change:
    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


OTHER = "scenario.not-the-commit-s"
ORIGIN = "scenario.of-unknown-origin"
TOPOLOGY = {"name": "custom", "file": "/gone/diamond.py", "class": "Diamond", "options": {}}
PROGRAM = {"name": "mine", "command": ["mine"], "folder": "/gone", "sha256": "0" * 64, "environment": {}}
CHANGED = of_provenance(uncommitted_changes=True)
"""So that no name of a run follows from the commit."""
SWITCHES: dict[str, tuple[str, Change, bool, str, str]] = {
    "a repeatable run that says it is not": (
        *("sound", both(forge_telemetry, of_provenance(engine={"repeatable": False})), True),
        *(NOT_CONFIRMED, "rerun.other-bytes"),
    ),
    "the agent of a commit that is not asked": (
        *("sound", both(forge_telemetry, of_provenance(of_commit=True)), True),
        *(NOT_CONFIRMED, "rerun.other-bytes"),
    ),
    "the agent of a commit that nobody has": (
        *("sound", both(forge_telemetry, of_provenance(of_commit=True, commit=UNKNOWN)), True),
        *(INCOMPLETE, "rerun.not-here"),
    ),
    "a weak scenario": ("weak", both(), False, NOT_CONFIRMED, OTHER),
    "a weak scenario with uncommitted changes": (
        *("weak", of_provenance(uncommitted_changes=True), False, INCOMPLETE, ORIGIN),
    ),
    "a weak scenario of a checkout that knows no changes": (
        *("weak", of_provenance(uncommitted_changes=None), True, INCOMPLETE, ORIGIN),
    ),
    "a weak scenario of an unknown commit": ("weak", of_provenance(commit=UNKNOWN), False, INCOMPLETE, ORIGIN),
    "a weak scenario of no commit": ("weak", of_provenance(commit=""), True, INCOMPLETE, ORIGIN),
    "a weak scenario of another commit's agent": ("weak", of_provenance(of_commit=True), True, INCOMPLETE, ORIGIN),
    "a weak scenario titled like a cell's": ("titled", both(), False, NOT_CONFIRMED, OTHER),
    "a weak scenario titled like a repeated one": ("repeated", both(), True, INCOMPLETE, "scenario.of-a-cell"),
    "a topology that the scenario has not": (
        *("sound", both(of_plan(topology=TOPOLOGY), CHANGED), False, NOT_CONFIRMED, "difference.value"),
    ),
    "a program that the scenario has not": (
        *("sound", both(of_plan(program=PROGRAM), CHANGED), False, NOT_CONFIRMED, "difference.value"),
    ),
    "words of other code": ("sound", words, False, INCOMPLETE, "verify.of-its-time"),
    "numbers of other code": ("sound", numbers, False, NOT_CONFIRMED, "difference.value"),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_no_switch_makes_a_forgery_confirmed(runs: dict[str, Path], tmp_path: Path, name: str) -> None:
    base, change, rerun, word, code = SWITCHES[name]
    folder = shutil.copytree(runs[base], tmp_path / runs[base].name)
    change(folder)
    found = outcome(folder, rerun=rerun)
    assert found[0] == word, found
    assert code in found[1], found


SOUND: dict[str, Change] = {
    "as it is": both(),
    "with uncommitted changes": of_provenance(uncommitted_changes=True),
    "of no commit": of_provenance(commit="", uncommitted_changes=None),
    "by other code that writes the same": of_provenance(code="0" * 16),
    "not repeatable": of_provenance(engine={"repeatable": False}),
}


@pytest.mark.parametrize("rerun", [False, True])
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_run_stays_confirmed(runs: dict[str, Path], tmp_path: Path, name: str, rerun: bool) -> None:
    folder = shutil.copytree(runs["sound"], tmp_path / runs["sound"].name)
    SOUND[name](folder)
    assert outcome(folder, rerun=rerun) == (CONFIRMED, set())


def test_a_scenario_of_the_users_own_is_said_in_the_last_line(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = made.simulated(tmp_path, paged=False)
    assert carry_out(["verify", str(mine)]) == Exit.PASS
    assert capsys.readouterr().out.splitlines()[-1].endswith("(a scenario of the user's own)")
    assert carry_out(["verify", str(runs["weak"])]) == Exit.FAIL
    assert capsys.readouterr().out.splitlines()[-1].startswith("NOT CONFIRMED ")
    weak = shutil.copytree(runs["weak"], tmp_path / runs["weak"].name)
    edit(weak / "provenance.json", commit=UNKNOWN)
    assert carry_out(["verify", str(weak), str(runs["sound"])]) == Exit.INCOMPLETE
    assert capsys.readouterr().out.count("\nINCOMPLETE: not checked: ") == 1
    assert carry_out(["verify", str(weak), str(runs["weak"])]) == Exit.FAIL


def test_comments_and_form_of_a_scenario_do_not_matter(tmp_path: Path) -> None:
    folder = of_startup(tmp_path, lambda text: text.replace("# NKP-0024", "# Another comment, NKP-0024", 1))
    assert outcome(folder) == (CONFIRMED, set())


def test_an_earlier_version_of_the_commits_history_is_named(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "scenarios/startup.yaml"
    checkout = tmp_path / "checkout"
    (checkout / "scenarios").mkdir(parents=True)
    monkeypatch.setattr("testbed.archive.origin.paths.CHECKOUT", checkout)
    commits = []
    for text in ("weak", "sound"):
        shutil.copy(runs[text] / "scenario.yaml", checkout / place)
        git("init", "-q")
        git("add", ".")
        git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", text)
        commits.append(git("rev-parse", "HEAD").stdout.decode().strip())
    found = []
    for commit in commits:
        verified = Verification("", "")
        plan = json.loads((runs["weak"] / "plan.json").read_text())
        recorded = {"commit": commit, "uncommitted_changes": False}
        check_scenario(runs["weak"], plan, recorded, verified)
        assert verified.word == CONFIRMED, verified
        found.append(codes(verified.notes))
    assert found == [[], ["scenario.of-an-earlier-commit"]]
