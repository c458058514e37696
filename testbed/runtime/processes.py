"""Helper processes of a run: started with a log, ended by the process that started them, or with it."""

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed, Untrusted
from testbed.message import Message
from testbed.unprivileged import RIGHTS, USER, WRITABLE_BY_ANYBODY
from topologies.commands import dies_with_us, in_namespace, run

AGENT_UID = USER
"""The unprivileged user and group that agents run as, in a container or not."""
UNPRIVILEGED = RIGHTS
MOST_MEMORY_BYTES = 1 << 30
"""The most memory of an agent."""
LISTEN_S = 10.0
END_S = 2.0
"""Time to end after SIGTERM."""
LIMITED = ("prlimit", f"--data={MOST_MEMORY_BYTES}", "--core=0", "--")
"""Prefix of an agent's command that has none of a container's limits. It sets them before the agent is another user,
whose processes not every root may limit."""


def with_mounts(command: Sequence[str], bound: Mapping[Path, Path], *, read_only: bool = False) -> list[str]:
    """``command`` in a mount namespace of its own, with each path bound to another one; where ``read_only``, nothing
    but the bound paths can be written to of the machine's disk and memory."""
    script = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 1; shift 2; done; shift; '
    if read_only:
        script += f"for at in {' '.join(WRITABLE_BY_ANYBODY)}; do "
        script += '! mountpoint -q "$at" || mount -o remount,bind,ro "$at" || exit 1; done; '
    script += 'exec "$@"'
    pairs = [str(path) for pair in bound.items() for path in pair]
    return ["unshare", "--mount", "--", "sh", "-c", script, "sh", *pairs, "--", *command]


class Supervised:
    """A running helper process; stderr and stdout go to its log."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        namespace: str | None = None,
        unprivileged: bool = False,
        bound: Mapping[Path, Path] | None = None,
        limited: bool = False,
        read_only: bool = False,
        piped: bool = False,
    ) -> None:
        """Start ``command``, perhaps in a network namespace (by path) and as the unprivileged user.

        Where ``piped``, its stdout is left to whoever reads it, as text, and only stderr goes to the log.
        ``bound`` are files and folders that it sees at another place (existing target, of the same kind); where
        ``limited``, it has the limits of :data:`LIMITED`; where ``read_only``, it can write to bound paths alone.
        """
        full = dies_with_us(command, *(UNPRIVILEGED if unprivileged else ()))
        if bound:
            full = with_mounts(full, bound, read_only=read_only)
        if namespace:
            full = in_namespace(namespace, full)
        if limited:
            full = [*LIMITED, *full]
        self.name, self.log = name, log
        with log.open("ab") as output:
            self.process: subprocess.Popen[Any] = subprocess.Popen(
                full,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else output,
                stderr=output,
                text=piped,
                start_new_session=True,
            )

    def await_ready(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Wait until the process is ready; raises :class:`RunFailed` where it ends or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if self.has_ended() or time.monotonic() > deadline:
                name, said = self.name, last_words(self.log)
                raise RunFailed("process.not-started", f"{name} did not start{said}")
            time.sleep(0.02)

    def await_listening(self, namespace: str, port: int) -> None:
        """Wait until a program, of this process, listens on a TCP port in a host's network namespace (by path)."""
        command = in_namespace(namespace, ["ss", "-Htln", f"sport = :{port}"])
        self.await_ready(lambda: bool(run(command).strip()), LISTEN_S)

    def failure(self) -> Message | None:
        """The end of the process that nobody ended, or None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        said = last_words(self.log)
        return Message("process.ended", f"{self.name} ended with {code}{said}")

    def ask_to_end(self) -> None:
        """SIGTERM, without waiting."""
        self.process.terminate()

    def has_ended(self) -> bool:
        """Whether it runs no longer."""
        return self.process.poll() is not None

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """SIGTERM, then SIGKILL; raises :class:`Untrusted` if it had ended by itself before, with an error."""
        already = self.process.poll()
        if already is None:
            self.process.terminate()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Untrusted(
                    "process.does-not-end", f"{self.name} did not end within {timeout_s:g} s; see {self.log}"
                ) from None
        elif already:
            name, said = self.name, last_words(self.log)
            raise Untrusted("process.ended-early", f"{name} ended with {already} in the run{said}")

    def stop_if_it_runs(self) -> None:
        """:meth:`stop`, but for one that has ended by itself; safe to repeat."""
        if not self.has_ended():
            self.stop()

    def end(self) -> None:
        """End the process and all that it forked (socat forks for each connection), whatever it is doing. Safe to
        repeat."""
        if not self.has_ended():
            end_group(self.process, END_S)


def end_group(process: subprocess.Popen[Any], timeout_s: float) -> None:
    """SIGTERM to a process and the group that it leads, then SIGKILL to those that are left of it: a program of
    somebody else's may take no notice of the first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout_s)


def children_cpu_s() -> float:
    """Seconds of CPU time, kernel included, of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_words(log: Path) -> str:
    """``: <last line of the log> (log: path)``, for messages."""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    said = f": {lines[-1][:300]}" if lines else ""
    return f"{said} (log: {log})"


def start_time(pid: int) -> int | None:
    """The start of a process, in clock ticks since boot: a pid alone may come to name another process."""
    stat = _stat(pid)
    return int(stat[19]) if stat else None


def is_running(pid: int, started: int) -> bool:
    """Whether that very process still runs (a zombie does not)."""
    stat = _stat(pid)
    return stat is not None and int(stat[19]) == started and stat[0] != "Z"


def _stat(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
