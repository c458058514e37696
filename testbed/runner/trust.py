"""Whether the links and the machine were good enough for a run's result to mean anything."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.checks.result import Trust


def judge_trust(
    limits: Mapping[str, Any],
    *,
    relay: Mapping[str, Any] | None,
    idle: Sequence[float],
    qdiscs: Sequence[Mapping[str, Any]],
) -> Trust:
    """``relay`` is the relay's own result (None with netem), ``idle`` the shares of idle CPU time sampled
    during the transfer, ``qdiscs`` the counters at its end."""
    reasons = []
    for link in (relay or {}).get("links", []):
        where = f"link {link['link']} {link['direction']}"
        late_ms = link["lateness_us"]["p99"] / 1000
        if late_ms > limits["lateness_p99_ms"]:
            reasons.append(
                f"{where}: 1% of the frames left more than {late_ms:.2f} ms late "
                f"(limit {limits['lateness_p99_ms']:g} ms)"
            )
        if lost := sum(link["unasked_drops"].values()):
            reasons.append(f"{where}: the relay lost {lost} frames that nobody asked it to lose")
    if ring := (relay or {}).get("ring_drops"):
        reasons.append(f"the relay was too slow for what arrived: the kernel dropped {ring} frames before it")
    # A back-pressure queue must block the sender, never drop; a netem queue must be long enough.
    for qdisc in qdiscs:
        if qdisc.get("drops") and qdisc["kind"] == "tbf":
            reasons.append(
                f"{qdisc['host']} {qdisc['dev']}: the {qdisc['kind']} queue dropped {qdisc['drops']} packets"
            )
    if idle and statistics.fmean(idle) < limits["cpu_idle"]:
        reasons.append(
            f"the machine was starved: {statistics.fmean(idle):.1%} of its CPU time was idle "
            f"(limit {limits['cpu_idle']:.0%})"
        )
    return Trust(trusted=not reasons, reasons=reasons)
