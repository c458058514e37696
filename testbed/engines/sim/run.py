"""A run in virtual time: the plan goes to ``ncp-sim``, its telemetry to the judge."""

import json
import subprocess
from pathlib import Path
from typing import Any

from testbed.engines import virtual_run
from testbed.engines.virtual_run import VirtualRun
from testbed.errors import CannotRun, RunFailed
from testbed.exit_codes import Exit
from testbed.judge.checks.result import Trust
from testbed.message import Message
from testbed.plan.model import Plan

SOURCES = (
    "go.mod",
    "internal/atomicfile",
    "internal/cli",
    "internal/cubic",
    "internal/linkmetrics",
    "internal/linkmodel",
    "internal/payload",
    "internal/plan",
    "internal/rtt",
    "internal/rusage",
    "internal/telemetry",
    "internal/timing",
    "ncp-agent/cmd/ncp-sim",
    "ncp-agent/config",
    "ncp-agent/metrics",
    "ncp-agent/overlay",
    "ncp-agent/policy",
    "ncp-agent/qlog",
    "ncp-agent/session",
    "ncp-agent/sim",
    "ncp-agent/simrun",
    "ncp-agent/wire",
)
"""Parts of the checkout that a simulation's result can depend on: the packages that ``ncp-sim`` is linked of, as
``go list -deps`` names them. To run Go before each run would take longer than a short run."""


def run_id(plan: Plan, code: bytes | None = None) -> str:
    """``sim-<12 hexadecimal digits>``: the same for the same plan and the same sources; ``code`` stands for a
    simulator that is not built from this checkout."""
    return virtual_run.run_id("sim", plan, virtual_run.texts(SOURCES) if code is None else code)


def simulate(folder: Path, simulator: Path) -> dict[str, Any]:
    """Run the folder's ``plan.json``, leave telemetry and results in it; returns the facts of ``sim.json``.

    Raises:
        RunFailed: the simulator says why; a transfer that doesn't end in time is one reason.
        CannotRun: it was killed, or its disk is full: elsewhere, or later, the same plan has a result.
    """
    log = folder / "logs" / "ncp-sim.log"
    command = [str(simulator), "--plan", str(folder / "plan.json"), "--dir", str(folder)]
    output = subprocess.PIPE  # and not a file: a full disk would take the words with it that tell of it
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    log.write_text(text)
    if status := done.returncode:
        said = (text.strip().splitlines() or ["it said nothing"])[-1]
        ended = Message("sim.ended", f"the simulator ended with {status}: {said}")
        if status < 0 or status == Exit.CANNOT_RUN:
            raise CannotRun.of(ended, "Make room, in memory or on the disk, and give the same command.")
        raise RunFailed.of(ended, f"Its log: {log}")
    facts: dict[str, Any] = json.loads((folder / "sim.json").read_text())
    return facts


class SimulatedRun(VirtualRun):
    """One run of a plan in the simulator."""

    def carry_out(self) -> Trust:
        """Simulate. Nothing can be late or starved where there is no clock."""
        with self.progress.step("simulate") as step:
            with self.progress.watching(self.plan, self.folder / "telemetry.lp"):
                facts = self.provenance["simulation"] = simulate(self.folder, self.binaries["ncp-sim"])
            ratio = facts["virtual_s"] / max(facts["cpu_s"], 1e-9)
            step.note = f"{facts['virtual_s']:.1f} virtual s in {facts['cpu_s']:.2f} s of CPU ({ratio:.0f} × real time)"
        return Trust(trusted=True, reasons=[])
