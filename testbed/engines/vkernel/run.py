"""A run in a guest kernel: the plan goes in, telemetry and results come out and are judged here."""

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

from testbed import paths, traffic
from testbed.engines import virtual_run
from testbed.engines.emulation.lifecycle import Measurements
from testbed.engines.measured import trust_in
from testbed.engines.virtual_run import VirtualRun
from testbed.engines.vkernel import checkout, guest
from testbed.errors import RunFailed, Unsupported, Untrusted
from testbed.judge.checks.result import Trust
from testbed.machine import guest_kernel
from testbed.machine.guest_kernel import Kernel
from testbed.message import Message
from testbed.plan.codes import FOLDER, KEPT, is_own, others
from testbed.plan.duration import expected_transfer_s
from testbed.plan.engines import MODEL_OF_A_GUEST
from testbed.plan.model import Plan
from testbed.planning.resolve import new_run_id
from topologies.link import FILES

SOURCES = ("cmd", "collectors", "go.mod", "go.sum", "images/vkernel/engine-init", "internal", "ncp-agent", "ndn-agent")
"""The parts of the checkout, beside Python's sources and packages, that a run's result can depend on: its programs are
linked of Go packages in these folders."""
LIMIT_S = 3600.0
"""The limit of wall time, beside that for the transfer: a guest that hangs is ended, one on a busy machine is not."""

COMMAND = (
    f"{guest.ENVIRONMENT} PYTHONPYCACHEPREFIX={checkout.PYTHON_CACHE}"
    + " /checkout/.venv/bin/python -m testbed.engines.emulation.inside"
)


def run_id(plan: Plan, kernel: Kernel) -> str:
    """``vk-<12 hexadecimal digits>``: the same for the same plan, sources and kernel; where time is real each run
    is another one."""
    if not kernel.exact:
        return new_run_id()
    sources = virtual_run.texts(SOURCES) + checkout.digest().encode()
    if others(plan):
        sources += b"".join(file.read_bytes() for file in sorted(FOLDER.glob("*.js*")))
    return virtual_run.run_id("vk", plan, sources + kernel.identity().encode())


class GuestRun(VirtualRun):
    """One run of a plan in a guest kernel."""

    _spins = 0

    @cached_property
    def kernel(self) -> Kernel:
        """The guest's kernel."""
        return guest_kernel.chosen()

    @property
    def repeatable(self) -> bool:
        return self.kernel.exact and not self._spins

    def carry_out(self) -> Trust:
        """Boot, run and collect the results. In virtual time nothing is late, and the CPU is never busy."""
        job = self.folder / "logs" / "guest"
        job.mkdir()
        with self.progress.step("guest's Python"):
            modules = checkout.compiled(self.kernel)
        with self.progress.step("guest") as step:
            ended = guest.boot(
                self.kernel,
                job,
                COMMAND,
                out=self.folder,
                seed=self.plan["seed"],
                checkout=[*checkout.mounts(), modules, *_folders_in(self.plan)],
                limit_s=LIMIT_S + 60 * expected_transfer_s(self.plan),
                tell=lambda line: self.progress.passed_on(step, line),
            )
            step.note = f"{ended.uptime_s:.1f} {'virtual' if self.kernel.exact else 'real'} s"
            account = read_account(self.folder, job, ended.code)
        self._spins = ended.spins
        if ended.spins:
            self.progress.say(
                f"  a program span without system calls {ended.spins} times, so this run does not count as repeatable"
            )
        self.provenance |= {
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
            "guest": {"kernel": account["kernel"], "seconds": account["seconds"], **account["provenance"]},
        }
        return trust_in(self.plan, self.folder, Measurements(**account["measured"]), self.provenance)


def read_account(folder: Path, job: Path, code: int) -> dict[str, Any]:
    """The guest's account of a run, ``guest.json``, which goes; raises its :class:`RunFailed` or :class:`Unsupported`
    if there was no run."""
    file = folder / "guest.json"
    if not file.exists():
        said = ((job / "stderr").read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        raise RunFailed("vkernel.runner-failed", f"the guest's runner ended with {code}: {said} ({job})")
    document: dict[str, Any] = json.loads(file.read_text())
    file.unlink()
    message = Message("vkernel.run-failed", "the run broke down in the guest")
    if "error" in document:
        message = Message(document.get("code", "vkernel.program-error"), document["error"])
    if document.get("unsupported"):
        raise Unsupported.of(message)
    if reasons := document.get("untrusted"):
        error = Untrusted.of(message, f"Its log: {job}")
        error.off = [Message(*reason) for reason in reasons]
        raise error
    if not {"measured", "exit_code"} & document.keys():
        raise RunFailed.of(message, f"Its log: {job}")
    return document


def _folders_in(plan: Plan) -> list[guest.Mount]:
    """Folders of files that the plan names by their paths, beside the folders of programs, which every guest has."""
    files = [plan["topology"].get("file")]
    for link in plan["links"]:
        files += [str(value) for key, value in link.items() if key in FILES]
    folders = sorted({Path(file).parent for file in files if file} | set(traffic.of(plan).folders(plan)))
    codes = others(plan)
    own = [FOLDER] * bool(codes) + [KEPT] * any(map(is_own, codes))
    peers = [guest.Mount(folder, guest.CHECKOUT / folder.relative_to(paths.CHECKOUT)) for folder in own]
    return peers + [guest.Mount(folder, folder) for folder in folders if os.path.commonpath([folder, "/usr"]) != "/usr"]
