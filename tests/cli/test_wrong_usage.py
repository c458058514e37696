"""What is shown of verbs, with examples. What is said of wrong command lines is in tests/golden/transcripts/."""

import sys
from pathlib import Path

import pytest

from testbed.cli import app
from testbed.cli.app import GROUPS, VERBS, carry_out
from testbed.cli.wrong_usage import EXAMPLES
from testbed.errors import CODE_FILE


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


def test_a_program_that_starts_a_command_gets_the_code_of_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CODE_FILE, str(tmp_path / "code"))
    monkeypatch.setattr(sys, "argv", ["./run.sh", "verify", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit):
        app.main()
    assert (tmp_path / "code").read_text() == "result.no-folder"
