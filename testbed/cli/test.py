"""``test``: linters and tests, the sessions of noxfile.py, and what their JUnit files say together."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed import paths
from testbed.cli import junit
from testbed.errors import BadInput, CannotRun
from testbed.exit_codes import Exit
from testbed.machine.provisioning import make_ready
from testbed.message import unknown
from testbed.runtime.progress import Progress

NOX = (sys.executable, "-m", "nox", "--no-venv", "--no-color")
AT_ONCE = ("--parallel", "2")
"""Real packets leave a processor idle, and so does the end of each session with two workers."""


def test_(
    only: Annotated[list[str] | None, typer.Argument(metavar="[SESSION]…", help="E.g. ruff or mypy.")] = None,  # noqa: PT028
) -> None:
    """Run linters and all tests. As root, the tests that need namespaces run too."""

    if os.geteuid() == 0:
        make_ready(Progress(), "test")
    if importlib.util.find_spec("nox") is None:
        raise CannotRun("test.no-tools", "the test tools are not installed", "As root, ./run.sh test installs them.")
    raise typer.Exit(carry_out(only or []))


def carry_out(names: list[str]) -> int:
    """Run the sessions of that name, one after the other, or all of a push; returns the exit code."""
    if names and (wrong := set(names) - set(there := sessions())):
        raise BadInput.of(unknown("test.no-such-session", "session", min(wrong), there))
    shutil.rmtree(junit.FOLDER, ignore_errors=True)
    junit.FOLDER.mkdir(parents=True)
    report = junit.FOLDER / "report.json"
    chosen = ("--no-dependencies", "--sessions", *names) if names else AT_ONCE
    code = subprocess.run(
        [*NOX, "--report", str(report), *chosen], cwd=paths.CHECKOUT, stdin=subprocess.DEVNULL, check=False
    ).returncode
    return report_of(code, report)


def sessions() -> list[str]:
    """All that noxfile.py has, those for the night as well."""
    said = subprocess.run(
        [sys.executable, "-c", "import json, nox.registry, noxfile; print(json.dumps(list(nox.registry.get())))"],
        cwd=paths.CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    names: list[str] = json.loads(said.stdout)
    return names


def report_of(code: int, report: Path) -> int:
    """Print the outcome of all sessions together; returns the exit code."""
    ended: list[dict[str, Any]] = json.loads(report.read_text())["sessions"] if report.exists() else []
    found = junit.cases(sorted(junit.FOLDER.glob("*.xml")))
    again = junit.second_tries(found)
    for name in again:
        print(f"passed only at the second try: {name}")
    if too_many := len(again) > junit.MOST_SECOND_TRIES:
        print(f"failed: {len(again)} tests passed only at the second try, at most {junit.MOST_SECOND_TRIES} may")
    words = [_word(one) for one in ended]
    for one, word in zip(ended, words, strict=True):
        print(f"{one['duration']:6.0f} s  {one['name']}: {word}")
    good, bad, rest = (words.count(word) for word in ("passed", "failed", NOT_BEGUN))
    print(f"sessions: {good} passed, {bad} failed, {rest} not begun; second tries: {len(again)}")
    if found:
        passed, failed, skipped = junit.counts(found)
        print(f"tests: {passed} passed, {failed} failed, {skipped} skipped")
    else:
        print(f"{good} passed, {bad} failed")
    return Exit.FAIL if code or too_many or not good else Exit.PASS


NOT_BEGUN = "not begun"


def _word(session: dict[str, Any]) -> str:
    """The end of a session in nox's report; one that another kept from beginning has not failed."""
    if session["result_code"] > 0:
        return "passed"
    return NOT_BEGUN if session["result_code"] < 0 and session["duration"] == 0 else "failed"
