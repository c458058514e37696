"""Figures of a run of NCP, for sweeps and comparisons; every rule is that of a check or of a series."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import topologies
from testbed import documents, exit_codes, judge, plan, series
from testbed.judge import checks
from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed, agent_results
from testbed.judge.checks.goodput import goodput_bps, received_s
from testbed.judge.checks.in_range import TOLERANCE, settled_s
from testbed.judge.checks.law import law_of
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.plan.model import Plan, Session
from testbed.series import FromFile

FIGURES: Mapping[str, tuple[str, str]] = {
    "goodput_mib_s": ("Goodput", "MiB/s"),
    "of_bound": ("Goodput over what the links carry", "share"),
    "settled_s": (f"Until the windows are in the links' ratio, ±{TOLERANCE:.0%}", "s"),
    "delivered_ratio": ("Delivered, first over second connection", "ratio"),
    "rtt_ms": ("Median RTT, the largest of the connections", "ms"),
    "resent_share": ("Resent", "share of what was sent"),
    "duration_s": ("Transfer", "s"),
}
"""Titles and units of figures that plots may show. The table has, beside these,
``rtt_ms_<connection>`` and those that the law expects."""

JUDGED_PART = 0.9
"""Windows are looked at until this part of the transfer: at its end a sender has nothing more to fill them with."""
LEAST_STAY_S = 1.0
LAST_S = 5.0
"""The delivered ratio is that of the last seconds."""


@cache
def rules() -> str:
    """A digest of the code that measures; figures by other rules are not the same figures."""
    digest = hashlib.sha256()
    for source in sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def sources() -> list[Path]:
    """A digest of the packages that it measures with, its own among them. They are imported by name: a missing one is
    an error, not a digest of fewer files."""
    found = [Path(documents.__file__), Path(exit_codes.__file__)]
    for package in (checks, judge, plan, series, topologies):
        found += sorted(file for folder in package.__path__ for file in Path(folder).rglob("*.py"))
    return found


def measure(plan: Plan, folder: Path) -> dict[str, Any]:
    """All figures of a run whose telemetry is in ``folder``; None where there is none (``settled_s``: never).

    Raises:
        CannotJudge: the transfer didn't come to its end, or not all of its bytes did.
    """
    reader = FromFile(folder / "telemetry.lp", only=("ncp_connection", "event"))
    evidence = Evidence(plan, reader, agent_results(folder / "agents"))
    session = planned.session_of(plan, None)
    intact = _judged(evidence, "payload_intact")
    if intact.status != Status.PASS:
        raise CannotJudge.of(intact.said)
    goodput = goodput_bps(evidence, session)
    bound = planned.bound_bps(plan, session, to_s=received_s(evidence, session))
    sender = next(r for r in evidence.results if r["role"] == "sender" and r["session"] == session["name"])
    sent, resent = (sum(int(c[key]) for c in sender["connections"]) for key in ("sent", "resent"))
    rtts_ms = {
        connection: rounded(float(np.median(samples.values)))
        for connection, samples in evidence.samples("rtt_ms", session["name"]).items()
        if samples.values.size
    }
    return {
        "goodput_mib_s": rounded(goodput / 8 / 2**20),
        "of_bound": rounded(goodput / bound),
        **_settled(evidence, session, float(sender["duration_s"])),
        "delivered_ratio": _delivered_ratio(evidence, session),
        "rtt_ms": max(rtts_ms.values(), default=None),
        "resent_share": rounded(resent / sent) if sent else 0.0,
        "duration_s": rounded(sender["duration_s"]),
        **{f"rtt_ms_{connection}": value for connection, value in rtts_ms.items()},
    }


def _settled(evidence: Evidence, session: Session, duration_s: float) -> dict[str, float | None]:
    """The time until the first connection's window is in the links' ratio to each other one's, measured and by the
    law."""
    law = law_of(session, planned.rates_by_plan(evidence.plan, session))
    found: dict[str, float | None] = {"settled_s": None, "tau_s": rounded(law.time_constant_s), "law_settled_s": None}
    to_s = JUDGED_PART * duration_s
    first, *others = planned.connections(session)
    if not others or to_s < 2 * LEAST_STAY_S:
        return found
    rates = planned.rates_pps(evidence.plan, session, to_s)
    grid_s = np.arange(0.0, to_s, 0.01)
    measured, expected = [], []
    for other in others:
        times = {"within": to_s - LEAST_STAY_S, "to": to_s, "at_least": LEAST_STAY_S}
        result = _judged(evidence, "settles", of=[first, other], **times)
        measured.append(result.measured if result.status == Status.PASS else None)
        shares = law.share(first, grid_s) / law.share(other, grid_s)
        expected.append(settled_s(Timed(grid_s, shares), rates[first] / rates[other], TOLERANCE))
    return {**found, "settled_s": _latest(measured), "law_settled_s": _latest(expected)}


def _judged(evidence: Evidence, judge: str, **parameters: Any) -> CheckResult:
    """The result of a check that no scenario asks."""
    (check,) = parameters_in_plan([{"name": judge, "judge": judge, **parameters}])
    return check.result(evidence)


def _latest(times_s: list[Any]) -> float | None:
    numbers = [float(t) for t in times_s if isinstance(t, (int, float))]
    return rounded(max(numbers)) if len(numbers) == len(times_s) else None


def _delivered_ratio(evidence: Evidence, session: Session) -> float | None:
    first, *others = planned.connections(session)
    if not others:
        return None
    about = {"series": "delivered_pps", "of": [first, others[0]], "last": LAST_S}
    measured = _judged(evidence, "ratio", min=0.0, max=1e9, **about).measured
    return float(measured) if isinstance(measured, (int, float)) else None
