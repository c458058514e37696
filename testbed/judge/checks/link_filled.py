"""``link_filled``: is the link that all share put to use?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AliasChoices, Field

from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.parameters import WITH_SESSIONS, CheckParameters, Seconds
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.checks.together import rate_of, wire_rates_bps
from testbed.judge.status import Status
from testbed.message import Message


class LinkFilled(CheckParameters):
    """The throughput over a link, of all sessions and flows, is ``min`` to ``max`` of its rate.

    Counted in frames on the wire, from ``from`` to ``to`` seconds after the first session's start. What is sent
    a second time because it was lost counts once, so a link that is full of resends is not filled.
    """

    of_traffic: ClassVar[tuple[str, ...]] = WITH_SESSIONS

    judge: Literal["link_filled"]
    link: str = Field(min_length=1)
    min: float = Field(ge=0, le=1)
    max: float = Field(1.03, gt=0)
    """More than its rate would mean that the link is not what it says; ends of the judged time are not exact."""
    from_s: Seconds = Field(validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds = Field(validation_alias=AliasChoices("to", "to_s"))

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"What arrives over link {self.link} is {self.min:g} to {self.max:g} of its rate "
            f"(mean from {self.from_s:g} s to {self.to_s:g} s)."
        )


def link_filled(parameters: LinkFilled, evidence: Evidence) -> CheckResult:
    """The sum of what crossed the link, over its rate."""
    link_bps = rate_of(evidence, parameters.link)
    rates = wire_rates_bps(evidence, parameters.link, parameters.from_s, parameters.to_s)
    share = sum(rates.values()) / link_bps
    each = ", ".join(f"{name} {rate / 1e6:.3f}" for name, rate in rates.items())
    expected = f"{parameters.min:g} to {parameters.max:g}"
    return CheckResult.of(
        parameters,
        Status.PASS if parameters.min <= share <= parameters.max else Status.FAIL,
        Message(
            "link.filled",
            "What arrived over link {link} is {share:.3f} of its {link_mbit_s:.3f} Mbit/s; expected {expected}. On the "
            "wire from {from_s:g} s to {to_s:g} s, Mbit/s: {each}.",
            link=parameters.link,
            share=share,
            link_mbit_s=link_bps / 1000000.0,
            expected=expected,
            from_s=parameters.from_s,
            to_s=parameters.to_s,
            each=each,
        ),
        measured=rounded(share),
        expected=expected,
        figures={"wire_bps": {name: rounded(rate) for name, rate in rates.items()}},
    )
