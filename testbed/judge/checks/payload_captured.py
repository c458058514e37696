"""``payload_captured``: did as many bytes arrive in packets as the program at the receiver counted?"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import Listed, Message


class PayloadCaptured(CheckParameters):
    """The sequence numbers captured at the receiver reach as far as iperf3 counted there, and at most a window further:
    what had arrived when iperf3 stopped reading. The sender counted at least as much as the receiver."""

    of_traffic: ClassVar[tuple[str, ...]] = ("tcp",)
    fact: ClassVar[bool] = True

    judge: Literal["payload_captured"]
    session: str | None = None

    def in_words(self) -> str:
        """The check in words."""
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
    """The result from both ends' results; the receiver's has the capture's figures."""
    session = planned.session_of(evidence.plan, parameters.session)["name"]
    sender, receiver = (evidence.result_of(session, role) for role in ("sender", "receiver"))
    if sender is None or receiver is None or "captured" not in receiver:
        raise CannotJudge("captured.none", "the receiver's result has no captured packets")
    counted, sent = int(receiver["bytes"]), int(sender["bytes"])
    captured = int(receiver["captured"]["payload_bytes"])
    window = int(receiver["captured"]["largest_window_bytes"])
    problems = []
    if not counted:
        problems.append(Message("captured.nothing-counted", "iperf3 got nothing"))
    if sent < counted:
        problems.append(
            Message("captured.sender-counted-fewer", "its sender counted {fewer:,} fewer", fewer=counted - sent)
        )
    if captured < counted:
        problems.append(
            Message("captured.in-no-packet", "{missing:,} of them were in no packet", missing=counted - captured)
        )
    if captured > counted + window:
        problems.append(
            Message(
                "captured.beyond-the-window",
                "{more:,} more were captured, and the receiver never offered more than {window:,}",
                more=captured - counted,
                window=window,
            )
        )
    said = Message(
        "captured.as-counted",
        "iperf3 counted {counted:,} bytes at the receiver, packets there had {captured:,}, at most a window of "
        "{window:,} more.",
        counted=counted,
        captured=captured,
        window=window,
    )
    if problems:
        said = Message(
            "captured.not-as-counted",
            "iperf3 counted {counted:,} bytes at the receiver, packets there had {captured:,}: {problems}.",
            counted=counted,
            captured=captured,
            problems=Listed(problems),
        )
    return CheckResult.of(
        parameters,
        Status.FAIL if problems else Status.PASS,
        said,
        measured=captured,
        expected=f"{counted:,} to {counted + window:,}",
        figures={
            "sent_bytes": sent,
            "counted_bytes": counted,
            "captured_bytes": captured,
            "largest_window_bytes": window,
        },
    )
