"""Checks a program's own report against packets, clock and payload, whatever the scenario's checks are.

Another developer's program is not trusted in anything that can be seen from outside. Where its report and the packets
disagree, its figures prove nothing: each reason makes the run untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from testbed.judge.checks.evidence import Evidence
from testbed.message import Message
from testbed.plan.model import Session

CLOCK_S = 0.05
"""Largest difference between a program's clock and the time at which it is seen to act: a clock has ticks, and a
machine may stop a program between the two."""


def words_and_packets(evidence: Evidence) -> list[Message]:
    """Lists the contradictions between programs' reports and packets; none where they agree."""
    return [reason for session in evidence.plan["sessions"] for reason in _of_session(evidence, session)]


def _of_session(evidence: Evidence, session: Session) -> Iterator[Message]:
    name = session["name"]
    sender, receiver = (evidence.result_of(name, role) for role in ("sender", "receiver"))
    if sender is None or receiver is None:
        return  # it came to no end, which its checks tell of
    if not isinstance(receiver.get("captured"), Mapping) or not isinstance(receiver.get("said"), Mapping):
        yield Message(
            "program.nothing-captured", "session {session}: the receiver's result has no captured packets", session=name
        )
        return
    claimed, captured = int(receiver["bytes"]), receiver["captured"]
    if missed := int(captured["frames_not_captured"]):
        yield Message(
            "program.frames-not-captured",
            "session {session}: {frames:,} frames were not captured, so that nothing is held against them",
            session=name,
            frames=missed,
        )
        return
    arrived = sum(captured["payload_bytes"].values())
    if claimed > arrived:
        yield Message(
            "program.receiver-claims-more",
            "session {session}: its receiver says that it got {claimed:,} bytes, and packets brought {arrived:,}",
            session=name,
            claimed=claimed,
            arrived=arrived,
        )
    if int(sender["bytes"]) > arrived and int(sender["bytes"]) > claimed:
        sent = int(sender["bytes"])
        yield Message(
            "program.sender-claims-more",
            "session {session}: its sender says that it sent {claimed:,} bytes, and packets brought {arrived:,}",
            session=name,
            claimed=sent,
            arrived=arrived,
        )
    if receiver["sha256"] != receiver["payload_sha256"]:
        yield Message(
            "program.other-payload",
            "session {session}: its receiver has not the SHA-256 of the {count:,} bytes that were to be sent",
            session=name,
            count=claimed,
        )
    yield from _times(name, receiver, claimed)


def _times(name: str, receiver: Mapping[str, Any], claimed: int) -> Iterator[Message]:
    """Whether the receiver ended once it had all, and its result followed soon after."""
    finished_ns = int(receiver["said"]["finished_unix_ns"])
    before = int(receiver["captured"]["payload_bytes_when_finished"])
    if before < claimed:
        yield Message(
            "program.finished-too-early",
            "session {session}: when its receiver says that it had {claimed:,} bytes, packets had brought {arrived:,}",
            session=name,
            claimed=claimed,
            arrived=before,
        )
    if finished_ns > int(receiver["finished_unix_ns"]) + CLOCK_S * 1e9:
        yield Message(
            "program.ended-after-its-result",
            "session {session}: its receiver says that it ended after its result was there",
            session=name,
        )
