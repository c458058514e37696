"""The middle of links by ``ncp-link relay``, a process in the fabric's namespace, where the kernel has no netem."""

import json
import os
import select
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.message import Message
from topologies import control_socket
from topologies.commands import CommandFailed, dies_with_us, in_namespace
from topologies.fabric import Fabric
from topologies.link import Link
from topologies.live_change import Applied, pair_ends, set_carrier


class RelayMiddle:
    """Delay and loss, and rate and queue where they are in the middle, by ``ncp-link relay``."""

    name = "relay"

    def __init__(
        self,
        fabric: Fabric,
        binary: Path,
        *,
        plan: Path | None = None,
        directory: Path | None = None,
        credentials: Path | None = None,
        log: Path | None = None,
    ) -> None:
        """Take the relay's plan, or write one of just the links (``mn --custom`` has no scenario)."""
        self.fabric = fabric
        self.binary = binary
        self.plan = plan
        self.directory = directory
        self.credentials = credentials
        self.log = log
        self.process: subprocess.Popen[str] | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def start(self, links: Sequence[Link], *, timeout_s: float = 10.0) -> None:
        """Start the relay, unless :meth:`prepare` did, and wait until it forwards; raises :class:`CommandFailed`."""
        process = self.process or self.prepare(links)
        pair_ends(self.fabric, links)
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, and says why
            process.stdin.close()
        if not _says_ready(process, time.monotonic() + timeout_s):
            code = process.poll()
            end = f"ended with {code}" if code is not None else f"is not ready after {timeout_s:g} s"
            where = f"; see {self.log}" if self.log else ""
            raise CommandFailed(f"the link relay {end}{where}")

    def prepare(self, links: Sequence[Link]) -> subprocess.Popen[str]:
        """Start the relay's process while the links are being made, in the fabric that is there already; it waits for
        :meth:`start`. Raises :class:`CommandFailed`."""
        if not self.binary.exists():
            raise CommandFailed(f"{self.binary} is not built; build it with ./run.sh doctor --build")
        # The control socket is in a folder of its own: a result folder's path may be too long for it.
        self._temporary = tempfile.TemporaryDirectory(prefix="ncp-relay-")
        directory = self.directory or Path(self._temporary.name)
        plan = self.plan or links_only_plan(directory, links)
        command = [str(self.binary), "relay", "--plan", str(plan), "--dir", str(directory)]
        command += ["--control", str(Path(self._temporary.name, "control.sock")), "--until-told"]
        if self.credentials:
            command += ["--credentials", str(self.credentials)]
        with Path(self.log or os.devnull).open("a") as log:
            try:
                self.process = subprocess.Popen(
                    in_namespace(self.fabric.path, dies_with_us(command)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    start_new_session=True,
                )
            except FileNotFoundError as error:
                raise CommandFailed("nsenter: not installed") from error
        return self.process

    def change(self, link: Link, direction: str, properties: Mapping[str, Any], *, at_unix_ns: int = 0) -> Applied:
        """Change properties (``internal/linkmodel``'s names) of ``ab``, ``ba`` or ``both`` at a time, or now if it has
        passed, keeping what is queued. The relay keeps the time itself, between the frames before and after it.

        Raises :class:`topologies.control_socket.Refused` for what the relay refuses, :class:`CommandFailed` if it does
        not answer.
        """
        query = urllib.parse.urlencode(
            {"link": link["name"], "direction": direction} | ({"at_unix_ns": at_unix_ns} if at_unix_ns else {})
        )
        answer = self._post(f"/set?{query}", dict(properties))
        applied_ns = int(answer["applied_unix_ns"])
        return Applied(applied_ns, applied_ns)

    def carrier(self, link: Link, *, up: bool, at_unix_ns: int = 0) -> Applied:
        """Take the link down at both ends, or up again. Frames that fall due while it is down are lost."""
        return set_carrier(self.fabric, link, up=up, at_unix_ns=at_unix_ns)

    def facts(self) -> dict[str, Any]:
        """Facts for readers of a result."""
        return {"middle": self.name, "losses_seeded": True, "reason": ""}

    def failed(self) -> Message | None:
        """The fault of a relay that ended by itself, or None while it runs."""
        if self.process is None or self.process.poll() is None:
            return None
        return Message("relay.ended", f"the link relay ended with {self.process.returncode}{self._last_words()}")

    def _last_words(self) -> str:
        said = self.log.read_text(errors="replace").strip().splitlines() if self.log else []
        return f": {said[-1][:300]} (log: {self.log})" if said else ""

    def ask_to_end(self) -> None:
        """Tell the relay to end, without waiting."""
        if self.process:
            self.process.terminate()

    def has_ended(self) -> bool:
        """Whether it runs no longer."""
        return self.process is None or self.process.poll() is not None

    def kill(self) -> None:
        """End it at once."""
        if self.process:
            self.process.kill()

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """End the relay, giving it time to flush its telemetry."""
        self.ask_to_end()
        if self.process:
            with self.process:  # which closes its pipes and waits
                try:
                    self.process.wait(timeout_s)
                except subprocess.TimeoutExpired:
                    self.process.kill()
            self.process = None
        if self._temporary:
            self._temporary.cleanup()
            self._temporary = None

    def _post(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        if self._temporary is None:
            raise CommandFailed("the link relay is not started")
        control = Path(self._temporary.name, "control.sock")
        try:
            answer: dict[str, Any] = json.loads(control_socket.request(control, "POST", path, document))
        except OSError as error:
            raise CommandFailed(f"the link relay does not answer POST {path}: {error}") from error
        return answer


def links_only_plan(directory: Path, links: Sequence[Link]) -> Path:
    """A plan (docs/contracts.md) of nothing but links, as a file in the directory."""
    plan = directory / "plan.json"
    document = {
        "schema": 2,
        "run": "interactive",
        "scenario": "interactive",
        "middle": "relay",
        "links": links,
        "sessions": [],
        "telemetry": {"interval_ms": 100, "url": "", "database": ""},
    }
    plan.write_text(json.dumps(document, indent=1))
    return plan


def _says_ready(process: subprocess.Popen[str], deadline: float) -> bool:
    assert process.stdout is not None
    while time.monotonic() < deadline:
        readable, _, _ = select.select([process.stdout], [], [], 0.1)
        if readable:
            return process.stdout.readline().strip() == "ready"
        if process.poll() is not None:
            return False
    return False
