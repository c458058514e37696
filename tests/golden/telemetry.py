"""SHA-256 of the data that the simulator leaves, a line a run: of every scenario that it carries, in full and in its
quick form, and of every policy on ``startup`` and on two that lose packets.

The plans' run is ``RUN``, so that its id is in no byte.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import engines, paths
from testbed.engines.sim.run import simulate
from testbed.plan.model import Plan
from tests.golden import plans

EVERY_POLICY = (("startup", False), ("link-break", True), ("links-burst-loss", True))
"""Scenarios, and whether it is their quick form, that each policy is tried on."""
FACTS = ("virtual_s", "packets", "points")
"""Of a simulation's own account: what a reader sees beside the hashes."""


@dataclass(frozen=True)
class Case:
    """A run in the simulator."""

    scenario: str
    quick: bool
    changed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As arguments of ``./run.sh``."""
        return " ".join(
            [self.scenario, *(["--quick"] if self.quick else []), *(f"--set {one}" for one in self.changed)]
        )

    def plan(self) -> Plan:
        """With this machine's paths: the simulator opens the files that it names."""
        return plans.plan_of(self.scenario, *self.changed, engine="sim", quick=self.quick, checkout=str(paths.CHECKOUT))


def cases() -> Iterator[Case]:
    """Those that the simulator carries."""
    every = [Case(path.stem, quick) for path in plans.scenarios() for quick in (False, True)]
    for name, quick in EVERY_POLICY:
        every += [Case(name, quick, (f"policy={policy}",)) for policy in plans.programs().policies]
    return (case for case in every if not engines.named("sim").unsupported(case.plan()))


def of_case(case: Case, simulator: Path | None = None) -> str:
    """Its line; ``simulator`` is another than this checkout's."""
    with tempfile.TemporaryDirectory(prefix="ncp-golden-") as place:
        folder = Path(place)
        (folder / "logs").mkdir()
        (folder / "plan.json").write_text(json.dumps(case.plan()))
        facts = simulate(folder, simulator or plans.programs().binaries["ncp-sim"])
        line: dict[str, Any] = {name: facts[name] for name in FACTS}
        line["agents"] = _sha256(*sorted((folder / "agents").iterdir()))
        line |= {name: _sha256(folder / name) for name in ("events.csv", "telemetry.lp")}
    return f" {json.dumps(case.name)}: {json.dumps(line)}"


def _sha256(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def whole() -> str:
    """All of them."""
    return "{\n" + ",\n".join(of_case(case) for case in cases()) + "\n}\n"
