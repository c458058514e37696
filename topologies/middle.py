"""The two middles of a link: kernel netem, and the user-space relay for kernels that have none."""

from __future__ import annotations

import json
import math
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from testbed.plan.links import LinkPlan
from topologies.commands import CommandFailed, in_namespace, run
from topologies.fabric import Fabric


def has_netem() -> bool:
    """Whether this kernel can delay packets by netem, found by trying it in a namespace of its own."""
    name = f"ncp-probe{os.getpid()}"
    try:
        run(["ip", "netns", "add", name])
    except CommandFailed:
        return False
    try:
        run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"])
        return True
    except CommandFailed:
        return False
    finally:
        run(["ip", "netns", "delete", name])


class NetemMiddle:
    """Delay and loss by the kernel, at the middle's egress towards each host."""

    name = "netem"

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric

    def start(self, links: Sequence[LinkPlan]) -> None:
        """Join the two ends of each link by a bridge and delay what leaves it."""
        for link in links:
            bridge = f"l{link.index}br"
            self.fabric.run(
                ["ip", "link", "add", bridge, "type", "bridge", "stp_state", "0", "mcast_snooping", "0"]
            )
            for end in (link.a, link.b):
                self.fabric.run(["ip", "link", "set", end.middle_interface, "master", bridge])
                netem = ["delay", f"{link.delay_ms}ms", "limit", str(netem_limit_packets(link))]
                if link.loss:
                    netem += ["loss", f"{link.loss * 100}%"]
                self.fabric.run(
                    ["tc", "qdisc", "replace", "dev", end.middle_interface, "root", "netem", *netem]
                )
            self.fabric.run(["ip", "link", "set", bridge, "up"])

    def failed(self) -> str | None:
        """The kernel's middle does not end by itself."""
        return None

    def stop(self) -> None:
        """Nothing of it outlives the namespace."""


def netem_limit_packets(link: LinkPlan) -> int:
    """Packets that netem may hold: what the delay keeps in it, with small packets in mind, four times over.
    Its default of 1000 drops silently."""
    smallest_frame_bytes = 64
    held = link.rate_bps / 8 / smallest_frame_bytes * link.delay_ms / 1000
    return max(1000, math.ceil(4 * held))


class RelayMiddle:
    """Delay and loss by ``ncp-link relay``, a process in the fabric's namespace."""

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
        """Without ``plan`` a plan of just the links is written (``mn --custom`` has no scenario)."""
        self.fabric = fabric
        self.binary = binary
        self.plan = plan
        self.directory = directory
        self.credentials = credentials
        self.log = log
        self.processes: list[subprocess.Popen[str]] = []
        self._temporary: list[tempfile.TemporaryDirectory[str]] = []

    def start(self, links: Sequence[LinkPlan], *, timeout_s: float = 10.0) -> None:
        """Start the relay and wait until it forwards; raises :class:`CommandFailed`."""
        if not self.binary.exists():
            raise CommandFailed(f"{self.binary} is not built; build it with ./run.sh doctor --build")
        directory = self.directory or self._temporary_directory()
        plan = self.plan or _links_only_plan(directory, links)
        command = [str(self.binary), "relay", "--plan", str(plan), "--dir", str(directory)]
        if self.credentials:
            command += ["--credentials", str(self.credentials)]
        log: IO[str] | int = self.log.open("a") if self.log else subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                in_namespace(self.fabric.path, command),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise CommandFailed("nsenter: not installed") from error
        finally:
            if not isinstance(log, int):
                log.close()
        self.processes.append(process)
        if not _says_ready(process, time.monotonic() + timeout_s):
            code = process.poll()
            end = f"ended with {code}" if code is not None else f"is not ready after {timeout_s:g} s"
            where = f"; see {self.log}" if self.log else ""
            raise CommandFailed(f"the link relay {end}{where}")

    def failed(self) -> str | None:
        """What happened to a relay that ended by itself, or None while all run."""
        for process in self.processes:
            if process.poll() is not None:
                return f"the link relay ended with {process.returncode}"
        return None

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """End the relay, giving it time to flush its telemetry."""
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        self.processes.clear()
        for temporary in self._temporary:
            temporary.cleanup()
        self._temporary.clear()

    def _temporary_directory(self) -> Path:
        temporary = tempfile.TemporaryDirectory(prefix="ncp-relay-")
        self._temporary.append(temporary)
        return Path(temporary.name)


def _links_only_plan(directory: Path, links: Sequence[LinkPlan]) -> Path:
    plan = directory / "plan.json"
    document = {
        "schema": 1, "run": "interactive", "scenario": "interactive", "middle": "relay",
        "links": [link.as_json() for link in links], "sessions": [],
        "telemetry": {"interval_ms": 100, "url": "", "database": ""},
    }  # fmt: skip
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
