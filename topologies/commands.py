"""Runs ip, tc, ethtool and the like; a failing command is an error, never a printed line to overlook."""

import subprocess
from collections.abc import Sequence


class CommandFailed(RuntimeError):
    """A command ended with an error; the message has the command and what it said."""


def run(command: Sequence[str], *, timeout_s: float = 20.0, stdin: str = "") -> str:
    """Run to the end and return stdout; raises :class:`CommandFailed`."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)
    except FileNotFoundError as error:
        raise CommandFailed(f"{command[0]}: not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{' '.join(command)}: no answer in {timeout_s:g} s") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or f"exit {done.returncode}"
        raise CommandFailed(f"{' '.join(command)}: {said}")
    return done.stdout


def batch(tool: str, *lines: str) -> None:
    """Lines of ``ip`` or ``tc`` in one process; it stops at the first that fails, and raises
    :class:`CommandFailed`."""
    text = "".join(f"{line}\n" for line in lines)
    try:
        run([tool, "-batch", "-"], stdin=text)
    except CommandFailed as error:
        raise CommandFailed(f"{error}\n{text.rstrip()}") from error


def in_namespace(path: str, command: Sequence[str]) -> list[str]:
    """``command`` as it runs in the network namespace at ``path``, with this machine's files and tools."""
    return ["nsenter", f"--net={path}", "--", *command]


def dies_with_us(command: Sequence[str], *options: str) -> list[str]:
    """``command``, sent SIGTERM by the kernel when its parent dies, so that a killed run leaves nothing;
    further ``options`` of setpriv."""
    return ["setpriv", *options, "--pdeathsig=TERM", "--", *command]
