"""An end of a session: the program at work on a host, unprivileged, with one folder that it can write to."""

import hashlib
import json
import os
import random
import time
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed, Unsupported
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan, Role, Session
from testbed.runtime import live
from testbed.runtime.ledger import RUN_VARIABLE
from testbed.runtime.processes import AGENT_UID, END_S, UNPRIVILEGED, Supervised, end_group, last_words
from testbed.traffic.traffic import address_of

CONTRACT = 1
"""Version of docs/program.md; a later one may add to it."""
TASK = "task.json"
PAYLOAD = "payload"
READY = "ready"
RESULT = "result.json"
TELEMETRY = "telemetry.lp"
EXIT_NOT_SUPPORTED = 127
"""Exit code of a program that does not support its testcase, as in quic-interop-runner."""
BLOCK_BYTES = 1 << 20
REPEATED_BYTES = 1_048_573
"""The file of a session that sends for a time, again and again: a prime, so that no block of a program's is as long."""


def task_of(session: Session, role: Role, seed: int, inside: Path, outside: Path, testcase: str = "") -> dict[str, Any]:
    """The task of one end, as its file has it. The program sees the folder ``inside``, with the task and, for the
    sender, the payload, and writes to ``outside``. ``testcase`` is by default ``transfer``, or ``seconds`` where the
    sender sends for a time."""
    other: Role = "receiver" if role == "sender" else "sender"
    seconds = session.get("send_s")
    return {
        "contract": CONTRACT,
        "role": role,
        "testcase": testcase or ("transfer" if seconds is None else "seconds"),
        "links": [
            {
                "name": connection["link"],
                "local": address_of(connection[role]),
                "remote": address_of(connection[other]),
                "port": int(connection[role].rsplit(":", 1)[1]),
            }
            for connection in session["connections"]
        ],
        "bytes": session.get("transfer_bytes"),
        "seconds": seconds,
        "seed": seed,
        "payload": str(inside / PAYLOAD) if role == "sender" else None,
        "in": str(inside),
        "out": str(outside),
    }


def environment_of(plan: Plan, task: dict[str, Any]) -> dict[str, str]:
    """The program's environment: the task in variables, in which what is not said is empty, and nothing of this
    machine's but the path of programs."""
    links, out = task["links"], task["out"]
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": out,
        "TMPDIR": out,
        "QLOGDIR": out,
        # A program's own disorder is not to be chance.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        RUN_VARIABLE: plan["run"],
        **plan["program"]["environment"],
        "LOCAL": ",".join(link["local"] for link in links),
        "REMOTE": ",".join(link["remote"] for link in links),
        "PORT": str(links[0]["port"]),
        **{name.upper(): _text(task[name]) for name in ("role", "testcase", "bytes", "seconds", "seed", "in", "out")},
    }


def _text(value: str | float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def payload_of(session: Session) -> bytes:
    """The sender's file: bytes that nothing makes shorter, the same for the same seed."""
    chance = random.Random(f"payload {session['payload_seed']}")
    blocks, rest = divmod(session.get("transfer_bytes", REPEATED_BYTES), BLOCK_BYTES)
    return b"".join([chance.randbytes(size) for size in (*[BLOCK_BYTES] * blocks, rest)])


def sha256_of(session: Session, count: int) -> str:
    """SHA-256 of the first ``count`` bytes that are sent: the file, or the file again and again."""
    whole = payload_of(session)
    times, rest = divmod(count, len(whole))
    found = hashlib.sha256()
    for _ in range(times):
        found.update(whole)
    found.update(whole[:rest])
    return found.hexdigest()


IN, OUT = Path("/in"), Path("/out")
"""Folders of an image, as its program sees them."""
POLL_S = 0.01


class End(Supervised):
    """One that is started when it is made."""

    def __init__(
        self,
        plan: Plan,
        session: Session,
        role: Role,
        namespace: str,
        folders: tuple[Path, Path],
        log: Path,
        testcase: str = "",
    ) -> None:
        """``namespace`` is the path of the host's; ``folders`` are where the end's files are, of this machine: what it
        reads, and what it leaves."""
        given, self.out = folders
        seen = live.directory(plan["run"]) / log.stem
        in_image = "image" in plan["program"]
        inside, outside = (IN, OUT) if in_image else (seen / "in", seen / "out")
        self.who = f"the {role} of session {session['name']}"
        """The end in messages."""
        self._task = task_of(session, role, plan["seed"], inside, outside, testcase)
        for folder in (given, self.out):
            folder.mkdir(parents=True)
        os.chown(self.out, AGENT_UID, AGENT_UID)
        (given / TASK).write_text(json.dumps(self._task, indent=1) + "\n")
        if role == "sender":
            (given / PAYLOAD).write_bytes(payload_of(session))
        root = seen / "program"
        bound = {Path(plan["program"]["folder"]): root}
        root.mkdir(parents=True)
        if in_image:
            bound |= {given: root / "in", self.out: root / "out"}
            bound |= {Path(machines): root / machines[1:] for machines in ("/proc", "/dev")}
        else:
            bound |= {given: seen / "in", self.out: outside}
            for target in (seen / "in", outside):
                target.mkdir()
        super().__init__(
            f"program {session['name']}-{role}",
            _command(plan, root, environment_of(plan, self._task)),
            log,
            namespace=namespace,
            bound=bound,
            limited=engine_of(plan).limits_processes,
            read_only=True,
        )

    def ended_well(self) -> bool:
        """Whether it has ended with 0; raises :class:`RunFailed` where it has ended with anything else, and
        :class:`Unsupported` where it reported that it does not support its testcase."""
        code = self.process.poll()
        if code == EXIT_NOT_SUPPORTED:
            raise Unsupported(
                "program.testcase-unsupported",
                f"{self.who} says that it does not support testcase {self._task['testcase']}",
            )
        if code:
            said = last_words(self.log)
            raise RunFailed("program.ended", f"{self.who} ended with {code}{said}")
        return code == 0

    def end(self) -> None:
        """End it and all that it forked, also what it left behind."""
        end_group(self.process, END_S)

    def await_receiving(self, timeout_s: float) -> None:
        """Return when it has said that it can be sent to; raises :class:`RunFailed`."""
        deadline = time.monotonic() + timeout_s
        while not os.path.lexists(self.out / READY):
            if self.ended_well():
                raise RunFailed("program.ended-early", f"{self.who} ended before it was ready (log: {self.log})")
            if time.monotonic() > deadline:
                raise RunFailed(
                    "program.not-ready",
                    f"{self.who} was not ready after {timeout_s:g} s: it made no file $OUT/{READY} (log: {self.log})",
                )
            time.sleep(POLL_S)


def _command(plan: Plan, root: Path, environment: dict[str, str]) -> list[str]:
    """The command, from the machine's own environment to the program's."""
    section = plan["program"]
    variables = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
    if "image" not in section:
        return ["setpriv", *UNPRIVILEGED, "--", "env", "-C", str(root), *variables[1:], *section["command"]]
    ids = [f"--setuid={AGENT_UID}", f"--setgid={AGENT_UID}"]
    where = [f"--root={root}", f"--wd={section.get('working_folder', '/')}"]
    return ["setpriv", "--no-new-privs", "--", *variables, "unshare", *ids, *where, "--", *section["command"]]
