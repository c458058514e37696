"""What is said of wrong command lines, verb by verb: one sentence with what would be right, and what to do next."""

import sys

import pytest

from testbed.cli import app
from testbed.cli.app import GROUPS, VERBS, carry_out
from testbed.cli.examples import EXAMPLES
from testbed.errors import BadInput


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("run startup --quik", "run: there is no option --quik; did you mean --quick?"),
        ("run", "run: SCENARIO is missing"),
        ("run startup --seed x", "--seed x: should be a whole number, at least 0"),
        ("run startup --seed=-1", "--seed -1: should be a whole number, at least 0"),
        ("run startup --seed", "run: --seed takes a value"),
        ("run startup --quick=3", "run: --quick takes no value"),
        ("run startup --link netm", "--link netm: should be auto, netem or relay; did you mean netem?"),
        ("run startup --runtime doker", "--runtime doker: should be docker or process; did you mean docker?"),
        ("run startup --engine foo", "--engine foo: should be mininet or vkernel or sim"),
        ("run startup --repeat 100", "--repeat 100: should be a whole number from 1 to 99"),
        ("run startup extra", "run: 'extra' is one too many"),
        ("run startup --resume latest", "--resume: only a repetition can be resumed"),
        ("run startup --json --dry-run", "--json: reports on runs that are made"),
        ("table speed-table --repeat 0", "--repeat 0: should be a whole number from 1 to 99"),
        ("table", "table: TABLE is missing"),
        ("sweep", "sweep: SWEEP is missing"),
        ("sweep window-rtt --engine sim", "sweep: there is no option --engine"),
        ("compare --confidence 7", "--confidence 7: should be a number from 0.5 to 0.9999"),
        ("compare --seeds no", "--seeds no: should be a whole number, at least 1"),
        ("list extra", "list: 'extra' is one too many"),
        ("list --jsn", "list: there is no option --jsn; did you mean --json?"),
        ("show", "show: SCENARIO is missing"),
        ("show startup --quck", "show: there is no option --quck; did you mean --quick?"),
        ("verify", "verify: RESULT is missing"),
        ("report --pdf", "report: RESULT is missing"),
        ("bundle", "bundle: RESULT is missing"),
        ("reference", "reference: RESULT is missing"),
        ("bench lnks", "WHAT lnks: should be links, ncp, telemetry, sim or overlay; did you mean links?"),
        ("shell --engine sim", "--engine sim: should be vkernel"),
        ("completion bsh", "SHELL bsh: should be bash, zsh or fish; did you mean bash?"),
        ("new", "new: NAME is missing"),
        ("validate --set", "validate: --set takes a value"),
        ("graph", "graph: SCENARIO|RESULT is missing"),
        ("graph startup --format svgg", "--format svgg: should be svg, mermaid, drawio or clab; did you mean svg?"),
        ("conform", "conform: IMAGE_OR_COMMAND is missing"),
        ("docs --srve", "docs: there is no option --srve; did you mean --serve?"),
        ("doctor now", "doctor: 'now' is one too many"),
        ("up --now", "up: there is no option --now"),
        ("cluster upp", "cluster: 'upp' is no verb of it; did you mean 'up'?"),
        ("cluster up", "cluster up: INVENTORY is missing"),
    ],
)
def test_it_is_one_sentence(typed: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        carry_out(typed.split())
    assert caught.value.message == sentence
    assert "\n" not in caught.value.message
    assert (caught.value.hint or "--help").count("--help") or caught.value.hint.startswith(("Give", "Leave"))


def test_what_is_missing_is_shown_by_an_example() -> None:
    with pytest.raises(BadInput) as caught:
        carry_out(["verify"])
    assert caught.value.hint.startswith("For example: ./run.sh verify results/startup/latest\n")


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["run.sh", *arguments])
    with pytest.raises(SystemExit) as caught:
        app.main()
    return int(caught.value.code or 0)


@pytest.mark.parametrize(
    "typed", ["verify nosuch", "report nosuch", "bundle nosuch", "nosuch", "show nosuch", "compare nosuch", "strtup"]
)
def test_every_wrong_name_says_what_to_do(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, *typed.split()) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("error: ")
    assert "./run.sh" in told[-1]
    assert not any("Traceback" in line or "╭" in line for line in told)


def test_a_group_alone_shows_its_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(monkeypatch, "cluster") == 2
    assert "Usage" in "".join(capsys.readouterr())


def test_every_verb_has_an_example_that_is_of_it() -> None:
    assert set(EXAMPLES) == set(VERBS)
    for verb in (verb for verbs in GROUPS.values() for verb in verbs):
        for line in EXAMPLES[verb]:
            assert len(line) <= 76, line
            assert f"run.sh {verb}" in line.replace('"', "") or verb in ("run", "table", "sweep")


@pytest.mark.parametrize("verb", ["run", "completion", "compare"])
def test_the_help_begins_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    carry_out([verb, "--help"])
    shown = capsys.readouterr().out
    assert shown.index(EXAMPLES[verb][0]) < shown.index("Options")
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_colours_are_not_forced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    carry_out(["list", "--help"])
    assert "\x1b[" not in capsys.readouterr().out
