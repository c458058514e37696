"""``mptcp_carried``: did the kernel's MPTCP use every link?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import Message


class MptcpCarried(CheckParameters):
    """Each link's subflow had at least ``min_bytes`` acknowledged, so that it took part, and not only joined."""

    fact: ClassVar[bool] = True

    judge: Literal["mptcp_carried"]
    session: str | None = None
    min_bytes: int = Field(10_000, ge=1)

    def in_words(self) -> str:
        """The check in words."""
        return f"MPTCP's subflow over each link had at least {self.min_bytes:,} bytes acknowledged."


def mptcp_carried(parameters: MptcpCarried, evidence: Evidence) -> CheckResult:
    """The result from the subflows' counters at the sender."""
    session = planned.session_of(evidence.plan, parameters.session)
    sender = evidence.result_of(session["name"], "sender")
    if sender is None:
        raise CannotJudge("mptcp.no-result", "there is no result of the sender")
    acked = {c["link"]: 0 for c in session["connections"]}  # a link that the sender says nothing of carried nothing
    acked |= {c["link"]: int(c["acked_bytes"]) for c in sender["connections"]}
    idle = [link for link, count in acked.items() if count < parameters.min_bytes]
    each = ", ".join(f"{link} {count:,}" for link, count in acked.items())
    said = Message("mptcp.carried", "Bytes acknowledged at the last sample, by link: {each}.", each=each)
    if idle:
        said = Message(
            "mptcp.idle",
            "Nothing to speak of over {idle}. Bytes acknowledged at the last sample, by link: {each}.",
            idle=", ".join(idle),
            each=each,
        )
    return CheckResult.of(
        parameters,
        Status.FAIL if idle else Status.PASS,
        said,
        measured=len(acked) - len(idle),
        expected=len(session["connections"]),
        figures={"acked_bytes": acked},
    )
