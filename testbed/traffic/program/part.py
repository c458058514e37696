"""The part of a session's end: its task, as environment and as a file, and the payload."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

from testbed.plan.model import Plan, Role, Session
from testbed.runtime.ledger import RUN_VARIABLE
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
