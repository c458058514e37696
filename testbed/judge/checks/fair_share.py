"""``fair_share``: do sessions that run at the same time get equal shares?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AliasChoices, Field

from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import WITH_SESSIONS, CheckParameters, Seconds
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.checks.together import flow_rates_bps, session_rates_bps
from testbed.judge.status import Status
from testbed.message import Message


class FairShare(CheckParameters):
    """Jain's index of the mean goodputs is at least ``min``: 1 where all get the same, 1/n where one gets all.

    From ``from`` to ``to``, in seconds since the first session's start, during which all of them have to run.
    Source: R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984.
    """

    of_traffic: ClassVar[tuple[str, ...]] = WITH_SESSIONS

    judge: Literal["fair_share"]
    min: float = Field(gt=0, le=1)
    least: float = Field(0.0, ge=0, le=1)
    """The part of an even share that everyone gets at least: among many, the index hardly shows that one is starved."""
    sessions: list[str] | None = Field(None, min_length=1)
    """The sessions to compare; None: all."""
    cross_traffic: bool = False
    """Whether iperf3's flows count as well."""
    from_s: Seconds = Field(validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds = Field(validation_alias=AliasChoices("to", "to_s"))

    def in_words(self) -> str:
        """The check in words."""
        who = "the sessions" if self.sessions is None else f"sessions {', '.join(self.sessions)}"
        beside = " and iperf3's flows" if self.cross_traffic else ""
        least = f", and everyone has at least {self.least:g} of an even share" if self.least else ""
        return (
            f"Jain's fairness index of the goodputs of {who}{beside} is at least {self.min:g}{least} "
            f"(means from {self.from_s:g} s to {self.to_s:g} s)."
        )


def fair_share(parameters: FairShare, evidence: Evidence) -> CheckResult:
    """Jain's index over sessions and, if the check has ``cross_traffic``, flows."""
    rates = session_rates_bps(evidence, parameters.from_s, parameters.to_s)
    if parameters.sessions is not None:
        if unknown := set(parameters.sessions) - set(rates):
            raise CannotJudge(
                "fairness.no-session",
                "there is no session {session!r}; sessions: {sessions}",
                session=unknown.pop(),
                sessions=", ".join(rates),
            )
        rates = {name: rates[name] for name in parameters.sessions}
    if parameters.cross_traffic:
        rates |= flow_rates_bps(evidence, parameters.from_s, parameters.to_s)
    if len(rates) < 2:
        raise CannotJudge("fairness.alone", "one session alone has nobody to share with")
    index = jain(list(rates.values()))
    even_bps = sum(rates.values()) / len(rates)
    poorest = min(rates, key=rates.__getitem__)
    part = rates[poorest] / even_bps if even_bps else 0.0
    each = ", ".join(f"{name} {rate / 1e6:.3f}" for name, rate in rates.items())
    return CheckResult.of(
        parameters,
        Status.PASS if index >= parameters.min and part >= parameters.least else Status.FAIL,
        Message(
            "fairness.index",
            "Jain's index is {index:.3f}; expected at least {min:g}. {poorest} has {part:.2f} of an even share; "
            "expected at least {least:g}. Mean goodputs from {from_s:g} s to {to_s:g} s, Mbit/s: {each}.",
            index=index,
            min=parameters.min,
            poorest=poorest,
            part=part,
            least=parameters.least,
            from_s=parameters.from_s,
            to_s=parameters.to_s,
            each=each,
        ),
        measured=rounded(index),
        expected=f"at least {parameters.min:g}",
        figures={"least": rounded(part), "goodput_bps": {name: rounded(rate) for name, rate in rates.items()}},
    )


def jain(rates: list[float]) -> float:
    """(Σx)² / (n·Σx²); 0 where nobody gets anything."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 0.0
