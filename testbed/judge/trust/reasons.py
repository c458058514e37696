"""Puts the reasons not to trust a run together."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.result import Trust
from testbed.judge.trust import capacity, coverage, machine, telemetry, underlay
from testbed.judge.trust import links as of_links
from testbed.plan.model import Plan
from testbed.series.reader import Event


def of_measurements(
    plan: Plan,
    *,
    links: Path | None,
    relay: Mapping[str, Any] | None,
    qdiscs: Sequence[Mapping[str, Any]],
    host_load: machine.Spans,
    clock_step_s: float = 0.0,
    underlay_samples: Sequence[underlay.Sample] | None = None,
    events: Sequence[Event] = (),
) -> Trust:
    """The trust that follows from measurements of links and machines during a run on a kernel's links.

    ``links`` is ``links.csv`` (None for a result folder that is older than it), ``relay`` the relay's result (None
    with netem), ``qdiscs`` the links' counters at the transfer's end. ``host_load`` has seconds of each sample of the
    machine and the part of them in which it was idle, ``clock_step_s`` is what its clock was set by (forward as
    positive). ``underlay_samples`` are None where all hosts are on one machine. ``events`` are the telemetry's, which
    say when the transfer was.
    """
    span = underlay.span_of(events)
    reasons = machine.violations(plan, relay, qdiscs, host_load, clock_step_s)
    if underlay_samples is not None:
        reasons += underlay.violations(plan["limits"], underlay.ways_of(plan), underlay_samples, span)
    if links is not None:
        reasons += of_links.of_measured(plan, links)
        reasons += coverage.of_machine(plan, coverage.Machine(relay, qdiscs, host_load, span))
    return Trust.of(reasons)


def of_run(measured: Trust, evidence: Evidence) -> Trust:
    """The trust that follows from measurements and from the run's own telemetry. Today's reasons replace those of a
    recorded trust."""
    missing = coverage.of_run(evidence) if evidence.complete else []
    beyond = [*of_links.of_simulated(evidence), *capacity.violations(evidence)]
    return measured.also([*missing, *telemetry.violations(evidence), *beyond])
