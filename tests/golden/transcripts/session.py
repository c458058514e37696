"""Reads a session, carries its commands out again, and writes what they say."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from testbed import paths
from testbed.cli import app
from tests.golden.transcripts.placeholders import with_placeholders

HERE = Path(__file__).parent
SESSIONS = HERE / "sessions"
FILES = HERE / "files"

RUN_SH = "./run.sh"
A_USER = 1000
"""Whom a session is typed by, where ``sudo`` does not make it root."""


class Outcome(NamedTuple):
    """What a command said and how it ended."""

    out: str
    err: str
    code: int


Carry = Callable[[str, Path], Outcome]
"""Carries out a command line in a folder."""


def sessions() -> list[Path]:
    """All of them, by name."""
    return sorted(SESSIONS.glob("*.txt"))


def commands(text: str) -> list[str]:
    """The command lines of a session."""
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def outcomes(text: str) -> Iterator[tuple[str, list[str], list[str], int]]:
    """Each command of a session with the lines of its standard output and standard error, and its exit code."""
    for said in text.split("\n$ ")[1:]:
        command, *lines = said.splitlines()
        out, err = ([line[3:] for line in lines if line.startswith(stream)] for stream in ("1>", "2>"))
        (code,) = (line for line in lines if line.startswith("exit "))
        yield command, out, err, int(code.removeprefix("exit "))


def anew(text: str, carry: Carry | None = None) -> str:
    """The session with what its commands say now."""
    carry = carry or in_this_process
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ncp-transcript-") as place:
        folder = Path(place).resolve() / "here"
        shutil.copytree(FILES, folder)
        for line in text.splitlines():
            if line.startswith(("1>", "2>", "exit ")):
                continue
            lines.append(line)
            if line.startswith("$ "):
                lines += _lines(carry(line.removeprefix("$ "), folder), folder)
    return "\n".join(lines) + "\n"


def _lines(outcome: Outcome, folder: Path) -> Iterator[str]:
    for stream, said in (("1>", outcome.out), ("2>", outcome.err)):
        text = with_placeholders(said, folder)
        yield from (f"{stream} {line}".rstrip(" ") for line in text.splitlines())
        if text and not text.endswith("\n"):
            yield f"{stream}<no newline at the end>"
    yield f"exit {outcome.code}"


def in_this_process(command: str, folder: Path) -> Outcome:
    """``./run.sh`` by its ``main``, which takes a tenth of the time; anything else by the shell."""
    words = shlex.split(command)
    as_root = words[0] == "sudo"
    if words[as_root] != RUN_SH:
        return _by_the_shell(command, folder, _environment(folder))
    out, err = StringIO(), StringIO()
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, _environment(folder), clear=True))
        stack.enter_context(patch("os.geteuid", return_value=0 if as_root else A_USER))
        # Several runs one after the other, so that they end in one order.
        stack.enter_context(patch("os.sched_getaffinity", return_value={0}))
        stack.enter_context(patch("sys.argv", words[as_root:]))
        stack.enter_context(_in_folder(folder))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        code = _ended_with(app.main)
    return Outcome(out.getvalue(), err.getvalue(), code)


def through_run_sh(command: str, folder: Path) -> Outcome:
    """Every command by the shell, which finds the real ``run.sh`` in its folder."""
    link = folder / RUN_SH
    if not link.exists():
        link.symlink_to(paths.CHECKOUT / RUN_SH)
    return _by_the_shell(command, folder, _environment(folder))


def _by_the_shell(command: str, folder: Path, environment: dict[str, str]) -> Outcome:
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return Outcome(done.stdout.decode(), done.stderr.decode(), done.returncode)


def _environment(folder: Path) -> dict[str, str]:
    """Of a machine where nothing was run yet, without a database, and of a terminal without colours; ``OLD`` is where
    bundles of earlier versions are."""
    ours = {
        "OLD": str(paths.CHECKOUT / "tests" / "bundle" / "old"),
        "NCP_TESTBED_RESULTS": str(folder / "results"),
        "NCP_TESTBED_STATE": str(folder.parent / "state"),
        "NCP_TESTBED_RUN": str(folder.parent / "run"),
        "NCP_TESTBED_INFLUX_PORT": "1",  # nobody listens there
        "NO_COLOR": "1",
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
        "PYTHONWARNINGS": "",
    }
    passed_on = ("PATH", "HOME", "TMPDIR")
    return {**{name: os.environ[name] for name in passed_on if name in os.environ}, **ours}


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _ended_with(main: Callable[[], None]) -> int:
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
