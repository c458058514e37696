"""A run in a guest kernel: the plan goes in, telemetry and results come out and are judged here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed import traffic
from testbed.engines import virtual_run
from testbed.engines.virtual_run import VirtualRun
from testbed.engines.vkernel import checkout, guest, python_cache
from testbed.errors import RunFailed, Unsupported
from testbed.judge.checks.result import Trust
from testbed.machine.guest_kernel import Kernel
from testbed.message import Message
from testbed.plan.duration import expected_transfer_s
from testbed.plan.engines import MODEL_OF_A_GUEST
from testbed.plan.model import Plan
from testbed.planning.resolve import new_run_id
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario
from topologies.link import FILES

SOURCES = ("cmd", "collectors", "go.mod", "go.sum", "images/vkernel/engine-init", "internal", "ncp-agent", "ndn-agent")
"""What of the checkout a run's result can depend on, beside Python's sources and packages: its programs are linked of
Go packages in these folders."""
LIMIT_S = 3600.0
"""Of wall time, beside that for the transfer: a guest that hangs is ended, one on a busy machine is not."""

COMMAND = (
    f"{guest.ENVIRONMENT} PYTHONPYCACHEPREFIX={python_cache.INSIDE}"
    + " /checkout/.venv/bin/python -m testbed.engines.vkernel.inside"
)


def run_id(plan: Plan, kernel: Kernel) -> str:
    """``vk-<12 hexadecimal digits>``: the same for the same plan, sources and kernel; where time is real each run
    is another one."""
    if not kernel.exact:
        return new_run_id()
    sources = virtual_run.texts(SOURCES) + checkout.digest().encode()
    return virtual_run.run_id("vk", plan, sources + kernel.identity().encode())


class GuestRun(VirtualRun):
    """One run of a plan in a guest kernel."""

    def __init__(
        self, plan: Plan, loaded: LoadedScenario, kernel: Kernel, progress: Progress, results: Path | None = None
    ) -> None:
        """``results``: where its result folder goes, without it that of the scenario's results."""
        super().__init__(plan, loaded, progress, results)
        self.kernel = kernel
        self.repeatable = kernel.exact

    def carry_out(self) -> tuple[Trust, dict[str, Any]]:
        """Boot, run, take what came out. In virtual time nothing is late, and the CPU is never busy."""
        job = self.folder / "logs" / "guest"
        job.mkdir()
        with self.progress.step("guest's Python"):
            modules = guest.Mount(python_cache.compiled(self.kernel), python_cache.INSIDE)
        with self.progress.step("guest") as step:
            ended = guest.boot(
                self.kernel,
                job,
                COMMAND,
                out=self.folder,
                seed=self.plan["seed"],
                checkout=checkout.mounts(),
                further=[modules, *_folders_in(self.plan)],
                limit_s=LIMIT_S + 60 * expected_transfer_s(self.plan),
                told=lambda line: self.progress.passed_on(step, line),
            )
            step.note = f"{ended.uptime_s:.1f} {'virtual' if self.kernel.exact else 'real'} s"
            said = self._said(job, ended)
        self.repeatable = self.kernel.exact and not ended.spins
        if ended.spins:
            self.progress.say(
                f"  a program span without system calls {ended.spins} times, so this run does not count as repeatable"
            )
        facts = {
            "engine": {
                "model": MODEL_OF_A_GUEST,
                "kernel": str(self.kernel.program),
                "kernel_sha256": self.kernel.identity(),
                "virtual_time": self.kernel.exact,
                "repeatable": self.repeatable,
                "spins": ended.spins,
                "guest_s": ended.uptime_s,
                "wall_s": round(ended.wall_s, 2),
                "cpu_s": round(ended.cpu_s, 2),
            },
            "guest": {"kernel": said["kernel"], "seconds": said["seconds"], **said["provenance"]},
        }
        return Trust(**said["trust"]), facts

    def _said(self, job: Path, ended: guest.Ended) -> dict[str, Any]:
        """The guest's account of the run; raises :class:`RunFailed` with its words if there was no run, and
        :class:`Unsupported` if its kernel can't carry it."""
        file = self.folder / "guest.json"
        if not file.exists():
            lines = (job / "stderr").read_text(errors="replace").strip().splitlines()
            said = lines[-1] if lines else "it said nothing"
            raise RunFailed(
                "vkernel.runner-failed",
                "the guest's runner ended with {code}: {said}",
                "Its log: {job}",
                code=ended.code,
                said=said,
                job=job,
            )
        document: dict[str, Any] = json.loads(file.read_text())
        file.unlink()
        if document.get("unsupported"):
            raise Unsupported.of(_message(document))
        if "trust" not in document:
            error = RunFailed.of(_message(document), f"Its log: {job}")
            error.reasons = Trust(**document.get("untrusted", {"trusted": True})).said  # type: ignore[attr-defined]
            raise error
        return document


def _message(document: Mapping[str, Any]) -> Message:
    """The error in the guest's account."""
    if "error" not in document:
        return Message("vkernel.run-failed", "the run broke down in the guest")
    return Message.restored(document.get("code", "vkernel.program-error"), document["error"])


def _folders_in(plan: Plan) -> list[guest.Mount]:
    """Folders of files that the plan names by their paths, where the guest would not have them."""
    files = [plan["topology"].get("file")]
    for link in plan["links"]:
        files += [str(value) for key, value in link.items() if key in FILES]
    folders = sorted({Path(file).parent for file in files if file} | set(traffic.of(plan).folders(plan)))
    return [guest.Mount(folder, folder) for folder in folders if not _is_programs(folder)]


def _is_programs(folder: Path) -> bool:
    return os.path.commonpath([folder, "/usr"]) == "/usr"
