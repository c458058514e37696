"""Derives a run's trust from its measurements, and keeps those of the machine's load."""

from pathlib import Path
from typing import Any

from collectors.host_load import clock_step_s
from testbed.engines.emulation.lifecycle import Measurements
from testbed.judge.checks.result import Trust
from testbed.judge.trust.machine import HOST_LOAD, write_spans
from testbed.judge.trust.reasons import of_measurements
from testbed.plan.model import Plan
from testbed.series import FromFile


def trust_in(plan: Plan, folder: Path, measured: Measurements, provenance: dict[str, Any]) -> Trust:
    """The trust in a run on a kernel's network, by its measurements and those in its ``folder``, which gets
    ``host_load.csv``; a step of the clock is noted in ``provenance``."""
    if step_s := clock_step_s(measured.clocks):
        provenance["clock_step_s"] = step_s
    write_spans(measured.host_load, folder / HOST_LOAD)
    return of_measurements(
        plan,
        links=folder / "links.csv",
        relay=measured.relay,
        qdiscs=measured.qdiscs,
        host_load=measured.host_load,
        clock_step_s=step_s,
        underlay_samples=measured.underlay_samples,
        events=FromFile(folder / "telemetry.lp", {"event"}).events(),
    )
