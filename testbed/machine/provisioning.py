"""Sets the machine up with the provisioning playbook, showing each task as it goes."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from threading import Timer
from typing import IO, Any, NamedTuple, Protocol

from testbed import paths
from testbed.errors import CannotRun
from testbed.machine.check import TAGS_WITHOUT_ROOT, missing, needs
from testbed.machine.finding import Finding
from testbed.machine.need import Need
from testbed.message import Lines

PLAYBOOKS = paths.CHECKOUT / "playbooks"
LOG = paths.CHECKOUT / ".build" / "setup.log"
TIME_LIMIT_S = 1200

TASK = re.compile(r"^TASK \[(?P<name>.*)\] \**$")
FATAL = re.compile(r"^(?:fatal|failed): \[(?P<host>[^\] ]*)[^\]]*\].*?=> (?P<result>\{.*)$")
UNREACHABLE = re.compile(
    r"(Temporary failure|NewConnectionError|NameResolutionError|SSLError|invalid peer certificate|"
    r"[Cc]onnection refused|[Tt]imed out).*"
)
"""Messages of apt, pip and uv that can't reach their registry."""
OUTCOMES = {"skipping": "not needed", "ok": "nothing to do", "changed": "done", "fatal": "failed"}
"""Results of a task; of several hosts, the last of these is reported."""
RECAP = re.compile(
    r"^(?P<host>\S+)\s+: ok=\d+\s+changed=(?P<changed>\d+)\s+unreachable=(?P<unreachable>\d+)\s+failed=(?P<failed>\d+)"
)


class Progress(Protocol):
    """Output of set-up: lines, and steps that print their seconds and ``note`` when they end."""

    def say(self, text: str) -> None: ...

    def step(self, name: str) -> AbstractContextManager[Any]: ...


def make_ready(progress: Progress, expected: str | frozenset[Need]) -> None:
    """Install what this machine lacks of the request, or of the needs of that verb, where a playbook can; return when
    it has all.

    With ``NCP_TESTBED_NO_SETUP=1`` (``./run.sh --no-setup``) nothing is installed.

    Raises:
        CannotRun: names each missing thing and its fix, or the task of the playbook that failed.
    """
    needed = needs(expected) if isinstance(expected, str) else expected
    lacking = missing(needed)
    if not lacking:
        return
    tags = {finding.tag for finding in lacking if finding.tag is not None}
    if not installable(lacking) or os.environ.get("NCP_TESTBED_NO_SETUP") == "1":
        raise CannotRun("setup.machine-lacks", f"this machine can't run it:\n{_told(lacking)}")
    progress.say("\n".join(("Setting up what is missing:", *(f"  {f.name}: {f.detail}" for f in lacking))))
    setup(progress, tags)
    importlib.invalidate_caches()  # Mininet may have just appeared
    still = missing(needed)
    if still:
        raise CannotRun("setup.still-missing", f"still missing after set-up:\n{_told(still)}", f"full log: {LOG}")


def installable(lacking: Iterable[Finding]) -> bool:
    """Whether this user can have the playbook install all of it, which has no terminal for a password."""
    tags = {finding.tag for finding in lacking}
    if None in tags:
        return False
    if tags <= TAGS_WITHOUT_ROOT or os.geteuid() == 0:
        return True
    requested = ["sudo", "--non-interactive", "true"]
    return shutil.which("sudo") is not None and subprocess.run(requested, capture_output=True).returncode == 0


def setup(progress: Progress, tags: Iterable[str], playbook: str = "provision.yml") -> None:
    """Run the tagged tasks of a playbook.

    Raises:
        CannotRun: a task failed (its message and the log are named), or all of it took longer than ``TIME_LIMIT_S``.
    """
    chosen = sorted(set(tags))
    played = play(progress, playbook, ["--tags", ",".join(chosen)] if chosen else [])
    if played.code != 0:
        ended = f"ansible-playbook ended with {played.code} (time limit: {TIME_LIMIT_S} s)"
        raise CannotRun(
            "setup.task-failed",
            f'set-up failed at "{played.task}": {played.errors[-1] if played.errors else ended}',
            f"full log: {LOG}",
        )


@dataclass(frozen=True)
class Recap:
    """A playbook's results on one host, in numbers of tasks."""

    changed: int
    unreachable: int
    failed: int


class Failure(NamedTuple):
    """A failure that a playbook tells of."""

    host: str
    """"" of the whole playbook."""
    said: str

    def __str__(self) -> str:
        return self.said if self.host in ("", "localhost") else f"{self.host}: {self.said}"


@dataclass(frozen=True)
class Played:
    """The result of a playbook."""

    code: int
    task: str
    """The last one."""
    errors: list[Failure]
    hosts: dict[str, Recap]


def play(
    progress: Progress,
    playbook: str,
    arguments: Sequence[str],
    time_limit_s: float = TIME_LIMIT_S,
    *,
    all_or_none: bool = False,
) -> Played:
    """Run a playbook to its end, or to the time limit, and tell its tasks. ``all_or_none``: a host that fails ends it
    for all, which a variable in the playbook can't say: there any text counts as true."""
    command, environment = ansible("playbook", str(PLAYBOOKS / playbook), *arguments)
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("a") as log:
        log.write(f"== {' '.join(command)}\n")
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=environment | {"ANSIBLE_ANY_ERRORS_FATAL": str(all_or_none)},
        ) as process:
            limit = Timer(time_limit_s, _end, [process])
            limit.start()
            try:
                assert process.stdout is not None
                task, errors, hosts = _follow(process.stdout, log, progress)
                process.wait()
            finally:
                limit.cancel()
                _end(process)
    return Played(process.returncode, task, errors, hosts)


def ansible(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command of one of Ansible's programs, and its environment."""
    settings = {"ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    return [sys.executable, "-m", "ansible", *arguments], {**os.environ, **settings}


def _follow(output: Iterable[str], log: IO[str], progress: Progress) -> tuple[str, list[Failure], dict[str, Recap]]:
    """Show a step per task, and log each line as it comes; returns the last task, what failed, and the results of each
    host."""
    task, errors, hosts = "reading the playbook", list[Failure](), dict[str, Recap]()
    step: Any = None
    with ExitStack() as showing:
        for line in output:
            log.write(line)
            log.flush()
            if (match := TASK.match(line)) or line.startswith("PLAY RECAP"):
                showing.close()
                step = None
            if match:
                task = match["name"]
                step = showing.enter_context(progress.step(task))
            elif match := RECAP.match(line):
                hosts[match["host"]] = Recap(*(int(match[key]) for key in ("changed", "unreachable", "failed")))
            elif step:
                outcome = OUTCOMES.get(line.split(":")[0], "")
                step.note = max(step.note, outcome, key=["", *OUTCOMES.values()].index)
            errors += _error(line)
    return task, errors, hosts


def _error(line: str) -> list[Failure]:
    """The failure that a line tells of, if it does; a task's own words follow Ansible's summary."""
    if line.startswith(("[ERROR]: ", "ERROR! ")):
        return [Failure("", line.split(" ", 1)[1].strip())]
    if not (match := FATAL.match(line)):
        return []
    try:
        result, _ = json.JSONDecoder().raw_decode(match["result"])
    except json.JSONDecodeError:
        return [Failure(match["host"], match["result"][:500])]
    return [Failure(match["host"], _cause(str(result.get("stderr") or result.get("msg") or result)))]


def _cause(said: str) -> str:
    """The output of a program that failed, with the usual causes in one line; as in run.sh."""
    if "No space left on device" in said:
        return "no space left on the disk"
    if match := UNREACHABLE.search(said):
        return f"the package registry could not be reached ({match[0][:160]})"
    return said[-500:].strip()


def _end(process: subprocess.Popen[str]) -> None:
    """End a playbook with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _told(findings: Iterable[Finding]) -> Lines:
    return Lines(f"  {f.name}: {f.detail} (for: {f.why})" + (f" → {f.fix}" if f.fix else "") for f in findings)
