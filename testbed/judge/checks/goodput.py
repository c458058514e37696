"""``goodput``: how much of what its links can carry does a session use?"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from testbed.judge.checks import explain, planned
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import WITH_SESSIONS, CheckParameters, Seconds
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message, unknown
from testbed.plan.model import Session


class Goodput(CheckParameters):
    """Goodput over the bound is at least ``min``.

    Over the whole transfer, as the receiver sees it; with ``from`` and ``to`` what is acknowledged meanwhile. The
    bound is what ``links`` (all, if not given) carry of payload at their rates, less what they lose.
    """

    of_traffic = WITH_SESSIONS

    judge: Literal["goodput"]
    session: str | None = None
    min: float = Field(gt=0, le=1)
    links: list[str] | None = Field(None, min_length=1)
    from_s: Seconds | None = None
    to_s: Seconds | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> Goodput:
        if (self.from_s is None) != (self.to_s is None):
            raise InvalidValue("check.from-without-to", "give both from and to, or none of them")
        return self

    def unfit(self, section: Any) -> str | None:
        if self.from_s is not None and not hasattr(section, "ack_interval_ms"):
            return "has no such time: from and to are of NCP's acknowledgements; leave them out"
        return None

    def in_words(self) -> str:
        """The check in words."""
        when = "" if self.from_s is None else f" from {self.from_s:g} s to {self.to_s:g} s"
        which = "the links" if self.links is None else f"link {', '.join(self.links)}"
        return f"Goodput{when} is at least {self.min:.0%} of what {which} can carry."

    def result(self, evidence: Evidence) -> CheckResult:
        """Receiver's result, or the sender's counters of acknowledged packets, over the bound."""
        session = planned.session_of(evidence.plan, self.session)
        known = {connection["link"] for connection in session["connections"]}
        if others := set(self.links or ()) - known:
            raise CannotJudge.of(unknown("goodput.no-link", "link of a connection", others.pop(), sorted(known)))
        expected = f"at least {self.min:g}"
        bound_bps = planned.bound_bps(evidence.plan, session, self.links)
        if self.from_s is None or self.to_s is None:
            measured_bps, when = goodput_bps(evidence, session), "over the transfer"
        else:
            acknowledged = explain.acknowledged_pps(evidence, session, self.from_s, self.to_s)
            end_s = evidence.end_s(session["name"])
            if not acknowledged or end_s is None or end_s < self.to_s:
                said = Message("goodput.not-so-long", f"Not decided: the transfer was not on until {self.to_s:g} s.")
                return self.conclude(Status.INSUFFICIENT_DATA, said, expected=expected)
            measured_bps = sum(acknowledged.values()) * session["mtu_bytes"] * 8
            when = f"from {self.from_s:g} s to {self.to_s:g} s"
        share = measured_bps / bound_bps
        said = Message(
            "goodput.share",
            f"{measured_bps / 8 / 2**20:.3f} MiB/s {when} is {share:.1%} of {bound_bps / 8 / 2**20:.3f} MiB/s; "
            f"expected at least {self.min:.0%}.",
        )
        figures: dict[str, Any] = {"session": session["name"], "goodput_bps": measured_bps, "bound_bps": bound_bps}
        return self.conclude(share >= self.min, said, measured=share, expected=expected, **figures)


def goodput_bps(evidence: Evidence, session: Session) -> float:
    """Payload bits per second from the session's start to the last byte at the receiver."""
    result = evidence.needed_result(session["name"], "receiver")
    if not result.get("goodput_bps"):
        raise CannotJudge("receiver.not-finished", f"the receiver of session {session['name']} did not finish")
    return float(result["goodput_bps"])
