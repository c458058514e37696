"""The part of a session's end: its task, as environment and as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.plan.model import Plan, Role, Session
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


@dataclass(frozen=True)
class Part:
    """One end of one session, and the folders by which it is talked to, as the program sees them."""

    session: Session
    role: Role
    seed: int
    inside: Path
    """Folder with the task and, for the sender, the payload."""
    outside: Path
    """Folder that the program writes to."""
    testcase: str = ""
    """Testcase; default ``transfer``, or ``seconds`` where the sender sends for a time."""

    @property
    def name(self) -> str:
        return f"{self.session['name']}-{self.role}"

    def task(self) -> dict[str, Any]:
        """The file that has all of it."""
        other: Role = "receiver" if self.role == "sender" else "sender"
        seconds = self.session.get("send_s")
        return {
            "contract": CONTRACT,
            "role": self.role,
            "testcase": self.testcase or ("transfer" if seconds is None else "seconds"),
            "links": [
                {
                    "name": connection["link"],
                    "local": address_of(connection[self.role]),
                    "remote": address_of(connection[other]),
                    "port": int(connection[self.role].rsplit(":", 1)[1]),
                }
                for connection in self.session["connections"]
            ],
            "bytes": self.session.get("transfer_bytes"),
            "seconds": seconds,
            "seed": self.seed,
            "payload": str(self.inside / PAYLOAD) if self.role == "sender" else None,
            "in": str(self.inside),
            "out": str(self.outside),
        }

    def environment(self) -> dict[str, str]:
        """The same in variables; what is not said is empty."""
        task = self.task()
        links = task["links"]
        return {
            "ROLE": self.role,
            "TESTCASE": task["testcase"],
            "LOCAL": ",".join(link["local"] for link in links),
            "REMOTE": ",".join(link["remote"] for link in links),
            "PORT": str(links[0]["port"]),
            "BYTES": _text(task["bytes"]),
            "SECONDS": _text(task["seconds"]),
            "SEED": str(self.seed),
            "IN": str(self.inside),
            "OUT": str(self.outside),
        }


def write_task(part: Part, file: Path) -> None:
    file.write_text(json.dumps(part.task(), indent=1) + "\n")


def own_environment(plan: Plan, out: Path, mark: Mapping[str, str]) -> dict[str, str]:
    """The program's environment beside its part: nothing of this machine's but the path of programs."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(out),
        "TMPDIR": str(out),
        "QLOGDIR": str(out),
        # A program's own disorder is not to be chance.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        **mark,
        **plan["program"]["environment"],
    }


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
