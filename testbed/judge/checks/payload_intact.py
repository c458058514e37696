"""``payload_intact``: did the receiver get exactly the bytes that the sender sent?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import ANY_TRAFFIC, CheckParameters
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import Listed, Message


class PayloadIntact(CheckParameters):
    """Bytes and SHA-256 at both ends are the same, and the number of bytes is the scenario's."""

    of_traffic: ClassVar[tuple[str, ...]] = ANY_TRAFFIC
    fact: ClassVar[bool] = True

    judge: Literal["payload_intact"]
    session: str | None = None

    def in_words(self) -> str:
        """The check in words."""
        return "The receiver gets every byte that was asked for, with the sender's SHA-256."

    def unfit(self, section: Any) -> str | None:
        if getattr(section, "kind", None) == "iperf3":
            return "has nothing to compare: iperf3 sends for a time and hashes nothing; use payload_captured"
        return None


def payload_intact(parameters: PayloadIntact, evidence: Evidence) -> CheckResult:
    """Compares the two agents' results of the session."""
    session = planned.session_of(evidence.plan, parameters.session)
    sender = _result(evidence, session["name"], "sender")
    receiver = _result(evidence, session["name"], "receiver")
    if "transfer_bytes" not in session and "payload_sha256" not in receiver:
        raise CannotJudge("payload.unknown-length", "the run sends for a time, so its number of bytes is not known")
    # Of what is sent for a time, it is known what any number of bytes has to be.
    wanted = int(session.get("transfer_bytes", sender["bytes"]))
    problems = []
    if receiver["bytes"] != wanted:
        problems.append(
            Message(
                "payload.received",
                "the receiver got {count:,} of {wanted:,} bytes",
                count=receiver["bytes"],
                wanted=wanted,
            )
        )
    if sender["bytes"] != wanted:
        problems.append(
            Message(
                "payload.sent", "the sender sent {count:,} of {wanted:,} bytes", count=sender["bytes"], wanted=wanted
            )
        )
    if sender["sha256"] != receiver["sha256"]:
        problems.append(
            Message(
                "payload.sha256-differ",
                "the SHA-256 differ: sent {sent:.12}…, received {received:.12}…",
                sent=sender["sha256"],
                received=receiver["sha256"],
            )
        )
    elif receiver["sha256"] != receiver.get("payload_sha256", receiver["sha256"]):
        problems.append(
            Message(
                "payload.sha256-wrong",
                "both ends tell the SHA-256 {sent:.12}…, which the payload has not",
                sent=sender["sha256"],
            )
        )
    said = Message(
        "payload.intact",
        "{wanted:,} bytes arrived with the sender's SHA-256 ({sent:.12}…).",
        wanted=wanted,
        sent=sender["sha256"],
    )
    if problems:
        said = Message("payload.differs", "{problems}.", problems=_Sentence(problems))
    return CheckResult.of(
        parameters,
        Status.FAIL if problems else Status.PASS,
        said,
        measured=receiver["bytes"],
        expected=wanted,
        tolerance=0.0,
        figures={
            "session": session["name"],
            "sent_bytes": sender["bytes"],
            "received_bytes": receiver["bytes"],
            "sent_sha256": sender["sha256"],
            "received_sha256": receiver["sha256"],
        },
    )


def _result(evidence: Evidence, session: str, role: str) -> Mapping[str, Any]:
    result = evidence.result_of(session, role)
    if result is None:
        raise CannotJudge(
            "payload.no-result",
            "there is no result of the {role} of session {session}; the agent left none",
            role=role,
            session=session,
        )
    if not isinstance(result.get("bytes"), int) or not result.get("sha256"):
        error = result.get("error") or "it has no bytes and SHA-256"
        raise CannotJudge(
            "payload.not-finished",
            "the {role} of session {session} did not finish: {error}",
            role=role,
            session=session,
            error=error,
        )
    return result


class _Sentence(Listed):
    """The text with a capital first letter."""

    def __str__(self) -> str:
        text = super().__str__()
        return text[0].upper() + text[1:]
