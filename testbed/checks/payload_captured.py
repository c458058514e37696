"""``payload_captured``: did as many bytes arrive in packets as the program at the receiver counted?"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from testbed.checks import asked
from testbed.checks.evidence import CannotJudge, Evidence
from testbed.checks.parameters import CheckParameters
from testbed.checks.result import CheckResult


class PayloadCaptured(CheckParameters):
    """The sequence numbers captured at the receiver reach as far as iperf3 counted there, and at most a window further:
    what had arrived when iperf3 stopped reading. The sender counted at least as much as the receiver."""

    of_traffic: ClassVar[tuple[str, ...]] = ("tcp",)
    fact: ClassVar[bool] = True

    judge: Literal["payload_captured"]
    session: str | None = None

    def asked(self) -> str:
        """What the check asks, in words."""
        return (
            "All bytes that iperf3 counts at the receiver are in packets captured there, with at most a window more "
            "that it had not read, and the sender counts no fewer."
        )

    def unfit(self, section: Any) -> str | None:
        if section.kind != "iperf3":
            return f"is about iperf3, not {section.kind}; that has payload_intact"
        if section.capture not in ("receiver", "both"):
            return "needs the receiver's packets; use tcp.capture: receiver, or leave capture out"
        return None


def payload_captured(parameters: PayloadCaptured, evidence: Evidence) -> CheckResult:
    """From both ends' results; the receiver's has what the capture said."""
    session = asked.session_of(evidence.plan, parameters.session)["name"]
    sender, receiver = (evidence.result_of(session, role) for role in ("sender", "receiver"))
    if sender is None or receiver is None or "captured" not in receiver:
        raise CannotJudge("the receiver's result has no captured packets")
    counted, sent = int(receiver["bytes"]), int(sender["bytes"])
    captured = int(receiver["captured"]["payload_bytes"])
    window = int(receiver["captured"]["largest_window_bytes"])
    problems = []
    if not counted:
        problems.append("iperf3 got nothing")
    if sent < counted:
        problems.append(f"its sender counted {counted - sent:,} fewer")
    if captured < counted:
        problems.append(f"{counted - captured:,} of them were in no packet")
    if captured > counted + window:
        problems.append(
            f"{captured - counted:,} more were captured, and the receiver never offered more than {window:,}"
        )
    reason = f"iperf3 counted {counted:,} bytes at the receiver, packets there had {captured:,}"
    return CheckResult(
        name=parameters.name,
        judge=parameters.judge,
        status="fail" if problems else "pass",
        measured=captured,
        expected=f"{counted:,} to {counted + window:,}",
        reason=f"{reason}: {'; '.join(problems)}." if problems else f"{reason}, at most a window of {window:,} more.",
        figures={
            "sent_bytes": sent,
            "counted_bytes": counted,
            "captured_bytes": captured,
            "largest_window_bytes": window,
        },
    )
