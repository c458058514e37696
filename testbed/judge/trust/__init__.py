"""Whether a run can be trusted: every reason why not, put together.

Links are measured before a run (:mod:`~testbed.judge.trust.calibration`). During it, the machine, the relay and queues
are watched (:mod:`~testbed.judge.trust.machine`), and what is between machines with hosts of the run
(:mod:`~testbed.judge.trust.underlay`). Afterwards telemetry has to fit itself, the results and the plan
(:mod:`~testbed.judge.trust.telemetry`), and links that are a model to the plan
(:mod:`~testbed.judge.trust.simulated_links`). One reason is enough: the run is then ``untrusted``, and proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.host_load import idle_shares, longest_busy_s
from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.result import Trust
from testbed.judge.trust import calibration, machine, simulated_links, telemetry, underlay
from testbed.plan.model import Plan
from testbed.series.reader import Event


@dataclass(frozen=True)
class Measured:
    """Measurements of links and machines during a run on a kernel's links."""

    links: Path | None
    """``links.csv``; None for a result folder that is older than it."""
    relay: Mapping[str, Any] | None
    """The relay's result; None with netem."""
    qdiscs: Sequence[Mapping[str, Any]]
    """The links' counters at the transfer's end."""
    host_load: machine.Spans
    """Seconds of each sample of the machine, and the part of them in which it was idle."""
    clock_step_s: float = 0.0
    """Steps of the machine's clock during the run, forward as positive."""
    underlay: Sequence[underlay.Sample] | None = None
    """None where all hosts are on one machine."""


def of_measurements(plan: Plan, measured: Measured, events: Sequence[Event] = ()) -> Trust:
    """The trust that follows from measurements. ``events``, of the telemetry, say when the transfer was on: the
    underlay is judged in that time."""
    reasons = machine.violations(
        plan["limits"],
        relay=measured.relay,
        idle=idle_shares(measured.host_load, plan["telemetry"]["interval_ms"] / 1000),
        qdiscs=measured.qdiscs,
        lossy=machine.lossy_interfaces(plan),
        longest_busy_s=longest_busy_s(measured.host_load),
        clock_step_s=measured.clock_step_s,
    )
    if measured.underlay is not None:
        ways, span = underlay.ways_of(plan), underlay.span_of(events)
        reasons += underlay.violations(plan["limits"], ways, measured.underlay, span)
    if measured.links is not None:
        reasons += calibration.violations(plan, measured.links)
    return Trust.of(reasons)


def of_run(measured: Trust, evidence: Evidence) -> Trust:
    """The trust that follows from measurements and from the run's own telemetry. Today's reasons replace those of a
    recorded trust."""
    return measured.also([*telemetry.violations(evidence), *simulated_links.violations(evidence)])
