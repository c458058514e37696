"""What the command line says and how it ends is what the transcripts hold, and every form of it is still accepted."""

from __future__ import annotations

import shutil
from difflib import unified_diff
from pathlib import Path

import pytest

from testbed.cli import app, completion
from testbed.errors import CannotRun
from testbed.exit_codes import Exit
from testbed.machine.build import build_programs
from tests.golden.recorded import COMMAND
from tests.golden.transcripts import spellings
from tests.golden.transcripts.session import SESSIONS, Carry, anew, commands, outcomes, sessions, through_run_sh

MEANT = f"If that is meant: {COMMAND} transcripts"
SPELLINGS = spellings.FILE.read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    build_programs()


def changed(path: Path, carry: Carry | None = None) -> str:
    """What differs from the session's file, as a diff; "" for nothing."""
    before = path.read_text(encoding="utf-8")
    after = anew(before, carry)
    lines = unified_diff(before.splitlines(), after.splitlines(), path.name, "now", lineterm="", n=4)
    return "\n".join(lines)


@pytest.mark.parametrize("path", sessions(), ids=lambda path: path.stem)
def test_it_says_what_the_transcript_has(path: Path) -> None:
    assert not (diff := changed(path)), f"{diff}\n{MEANT}/{path.stem}"


@pytest.mark.parametrize("name", ["exit-codes", "completion"])
def test_run_sh_says_the_same(name: str) -> None:
    assert not (diff := changed(SESSIONS / f"{name}.txt", through_run_sh)), diff


def test_every_exit_code_is_there_and_every_verb() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sessions())
    told = {line for line in text.splitlines() if line.startswith("exit ")}
    assert told == {f"exit {code}" for code in set(Exit) - {Exit.INTERRUPTED}}
    called = {
        spellings.verb_of(line.removeprefix("./run.sh ")) for line in commands(text) if line.startswith("./run.sh ")
    }
    # What they write is of the machine, or takes minutes: how three of them refuse is in "options".
    of_the_machine = {"doctor", "docs", "guest", "selftest", "shell", "test"}
    assert set(app.VERBS) - {verb.split()[0] for verb in called} == of_the_machine


def test_each_error_says_what_is_wrong_and_what_to_do() -> None:
    for path in sessions():
        for command, out, err, code in outcomes(path.read_text(encoding="utf-8")):
            if code not in (Exit.BAD_INPUT, Exit.CANNOT_RUN) or command in ("./run.sh", "./run.sh cluster"):
                continue  # those two show their help
            told = [line for line in err if not line.startswith("  ")]  # without steps of a run
            assert not out, command
            assert told[0].startswith("error: "), command
            assert len(told) > 1 or code == Exit.CANNOT_RUN, command


def test_every_spelling_is_accepted() -> None:
    known = spellings.listed(SPELLINGS)
    assert {typed: spellings.verb_of(typed) for typed in known} == known


def test_every_spelling_is_listed() -> None:
    assert not set(spellings.possible()) - spellings.listed(SPELLINGS).keys(), MEANT


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("lst", "there is no verb or scenario"),
        ("list --jsn", "no such option: --jsn"),
        ("run startup --engine simulator", "not one of mininet"),
        ("run startup --repeat 0", "should be greater than or equal to 1"),
        ("graph x --format svgg", "not one of 'svg', 'mermaid'"),
        ("show", "missing argument 'SCENARIO'"),
        ("cluster", "names no verb"),
        ("cluster upp x", "names no verb"),
    ],
)
def test_a_spelling_that_is_not_accepted_is_found(typed: str, why: str) -> None:
    assert spellings.verb_of(typed).startswith("refused: ")
    assert why in spellings.verb_of(typed)


def test_a_verb_with_another_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = {"check" if verb == "verify" else verb: module for verb, module in app.VERBS.items()}
    monkeypatch.setattr(app, "VERBS", renamed)
    lost = [typed for typed, verb in spellings.listed(SPELLINGS).items() if spellings.verb_of(typed) != verb]
    assert lost == [typed for typed in spellings.listed(SPELLINGS) if typed.startswith("verify ")]


def test_a_spelling_that_is_no_longer_accepted_stays_listed() -> None:
    assert "verfy x  ->  verify" in spellings.anew("verfy x  ->  verify\n").splitlines()


def test_a_word_that_changed_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripts = shutil.copytree(completion.SCRIPTS, tmp_path / "scripts")
    monkeypatch.setattr(completion, "SCRIPTS", scripts)
    bash = scripts / "run.sh.bash"
    bash.write_text(bash.read_text().replace("return 0", "return 1"))
    diff = changed(SESSIONS / "completion.txt").splitlines()
    assert [line for line in diff[2:] if line[0] in "+-"] == ["-1>     return 0", "+1>     return 1"]


def test_an_exit_code_that_changed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CannotRun, "exit_code", Exit.FAIL)
    diff = changed(SESSIONS / "no-root.txt").splitlines()
    assert {line for line in diff[2:] if line[0] in "+-"} == {"-exit 4", "+exit 1"}


def test_an_error_of_the_program_is_no_transcript(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(app, "carry_out", broken)
    with pytest.raises(ZeroDivisionError):
        anew("$ ./run.sh list\n")
