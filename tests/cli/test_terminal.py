"""What is read from files moves no cursor: neither a verb's output nor its progress nor a console's texts do."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from testbed import paths
from testbed.cli.app import carry_out, main
from testbed.runtime.progress import Progress, Step
from testbed.runtime.terminal import as_it_is, console, only_printable, printable

HOSTILE = "\x1b[2J\x1b[HPASS\r\x9b31m\u202e\udcff"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def is_harmless(shown: str) -> bool:
    return "[2J" in shown and not any(text in shown for text in ("\x1b[2J", "\x1b[H", "\x9b", "\u202e", "\udcff"))


@pytest.mark.parametrize("verb", [["show"], ["run", "--dry-run"], ["validate"], ["list"], ["list", "--json"]])
def test_of_a_verb(verb: list[str], tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (paths.CHECKOUT / "scenarios" / "startup.yaml").read_text()
    lines = [f"title: {json.dumps(HOSTILE)}" if line.startswith("title:") else line for line in text.splitlines()]
    (tmp_path / "mine.yaml").write_text("\n".join(lines))
    monkeypatch.setattr("testbed.scenario.files.scenarios", lambda: [tmp_path / "mine.yaml"])
    named = [] if "list" in verb else [str(tmp_path / "mine.yaml"), "--set", f"title={HOSTILE[:4]}"]
    monkeypatch.setattr("sys.argv", ["./run.sh", *verb, *named])
    with redirect_stdout(terminal), redirect_stderr(terminal), pytest.raises(SystemExit):
        main()
    assert terminal.getvalue()
    assert not any(text in terminal.getvalue() for text in ("\x1b[2J", "\x1b[H", "\x9b", "\u202e", "\udcff"))
    if "--json" in verb:
        assert json.loads(terminal.getvalue())["entries"]


def test_of_progress(terminal: Terminal) -> None:
    with redirect_stderr(terminal), only_printable():
        progress = Progress()
        progress.update(Step("run"), HOSTILE)
        progress.say(HOSTILE)
        print(HOSTILE, file=sys.stderr)
    assert is_harmless(terminal.getvalue())
    assert terminal.getvalue().count("\r\033[K") == 2  # its own are as they were


def test_help_ends_where_it_ends() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(stream), only_printable():
        assert carry_out(["list", "--help"]) == 0
    stream.seek(0)
    assert stream.read().rstrip().endswith("╯")


def test_of_a_console(terminal: Terminal) -> None:
    table = Table("one", title=HOSTILE)
    table.add_row(HOSTILE, style="green")
    with redirect_stdout(terminal), only_printable():
        console().print(HOSTILE, table)
        assert as_it_is(sys.stdout) is terminal
    assert is_harmless(terminal.getvalue())
    assert "\x1b[32m" in terminal.getvalue()


def test_no_other_console_is_made() -> None:
    by = {path.name for path in (paths.CHECKOUT / "testbed").rglob("*.py") if "Console(file" in path.read_text()}
    assert by == {"terminal.py"}


@pytest.mark.parametrize("text", [HOSTILE[:-1], "\x7f\x85\u2028", "a\tb\n"])
def test_json_says_the_same(text: Any) -> None:
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == text
