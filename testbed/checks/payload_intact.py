"""``payload_intact``: did the receiver get exactly the bytes that the sender sent?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from testbed.checks import asked
from testbed.checks.evidence import CannotJudge, Evidence
from testbed.checks.parameters import ANY_TRAFFIC, CheckParameters
from testbed.checks.result import CheckResult


class PayloadIntact(CheckParameters):
    """Bytes and SHA-256 at both ends are the same, and the bytes are as many as the scenario asked for."""

    of_traffic: ClassVar[tuple[str, ...]] = ANY_TRAFFIC
    fact: ClassVar[bool] = True

    judge: Literal["payload_intact"]
    session: str | None = None

    def asked(self) -> str:
        """What the check asks, in words."""
        return "The receiver gets every byte that was asked for, with the sender's SHA-256."

    def unfit(self, section: Any) -> str | None:
        if getattr(section, "kind", None) == "iperf3":
            return "has nothing to compare: iperf3 sends for a time and hashes nothing; use payload_captured"
        return None


def payload_intact(parameters: PayloadIntact, evidence: Evidence) -> CheckResult:
    """Compares the two agents' results of the session."""
    session = asked.session_of(evidence.plan, parameters.session)
    sender = _result(evidence, session["name"], "sender")
    receiver = _result(evidence, session["name"], "receiver")
    if "transfer_bytes" not in session and "payload_sha256" not in receiver:
        raise CannotJudge("the run sends for a time, so its number of bytes is not known")
    # Of what is sent for a time, it is known what any number of bytes has to be.
    wanted = int(session.get("transfer_bytes", sender["bytes"]))
    problems = []
    if receiver["bytes"] != wanted:
        problems.append(f"the receiver got {receiver['bytes']:,} of {wanted:,} bytes")
    if sender["bytes"] != wanted:
        problems.append(f"the sender sent {sender['bytes']:,} of {wanted:,} bytes")
    if sender["sha256"] != receiver["sha256"]:
        problems.append(f"the SHA-256 differ: sent {sender['sha256'][:12]}…, received {receiver['sha256'][:12]}…")
    elif receiver["sha256"] != receiver.get("payload_sha256", receiver["sha256"]):
        problems.append(f"both ends tell the SHA-256 {sender['sha256'][:12]}…, which the payload has not")
    whole = f"{wanted:,} bytes arrived with the sender's SHA-256 ({sender['sha256'][:12]}…)."
    return CheckResult(
        name=parameters.name,
        judge=parameters.judge,
        status="fail" if problems else "pass",
        measured=receiver["bytes"],
        expected=wanted,
        tolerance=0.0,
        reason=_sentence("; ".join(problems)) if problems else whole,
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
        raise CannotJudge(f"there is no result of the {role} of session {session}; the agent left none")
    if not isinstance(result.get("bytes"), int) or not result.get("sha256"):
        error = result.get("error") or "it has no bytes and SHA-256"
        raise CannotJudge(f"the {role} of session {session} did not finish: {error}")
    return result


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
