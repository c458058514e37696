"""A pairing's verdict: by what both ends say, and by what their packets show. Both must be right, and agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.judge.status import Status
from testbed.plan.model import Role

ENDS: tuple[Role, Role] = ("sender", "receiver")


@dataclass(frozen=True)
class Judgement:
    """The status of a pairing, and the reason where it is no pass."""

    status: Status
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Evidence:
    """The evidence about a pairing."""

    transfer_bytes: int
    results: Mapping[Role, Mapping[str, Any] | None]
    """``result.json`` of each end, by ``sender`` and ``receiver``; None: it left none."""
    packets: Mapping[str, Mapping[str, Any]] | None
    """``ncp-trace``'s facts by ``sender_end`` and ``receiver_end``; None: unknown."""
    failure: str = ""
    """The error that ended the transfer early."""
    capture_failure: str = ""
    """The reason why the packets are unknown: a hole in a capture, say."""


def judge(evidence: Evidence) -> Judgement:
    """The verdict. Unknown packets leave it ``untrusted``, unless the ends themselves report a failure."""
    said = list(by_their_word(evidence))
    if evidence.packets is None:
        untold = f"the packets can't be told: {evidence.capture_failure}"
        return Judgement(Status.FAIL, [*said, untold]) if said else Judgement(Status.UNTRUSTED, [untold])
    shown = [*by_the_packets(evidence), *disagreements(evidence)]
    if said and not shown:
        said.append("the packets show nothing wrong: the ends and the packets disagree")
    if shown and not said:
        shown.append("both ends say that all is well: the ends and the packets disagree")
    return Judgement(Status.FAIL if said or shown else Status.PASS, said + shown)


def by_their_word(evidence: Evidence) -> Iterator[str]:
    """Faults in the ends' own reports, and in their exits."""
    if evidence.failure:
        yield evidence.failure
    for end in ENDS:
        result = evidence.results[end]
        if result is None:
            yield f"the {end} left no result"
            continue
        if result["error"]:
            yield f"the {end} says: {result['error']}"
        if result["bytes"] != evidence.transfer_bytes:
            yield f"the {end} says {result['bytes']} B instead of {evidence.transfer_bytes} B"
        for warning in result["warnings"]:
            yield f"the {end} warns: {warning}"
        for name, count in result.get("refused", {}).items():
            yield f"the {end} refused {count} packets: {name}"
    sums = [result["sha256"] for result in evidence.results.values() if result]
    if len(sums) == len(ENDS) and sums[0] != sums[1]:
        yield f"the ends' SHA-256 differ: sent {sums[0][:16]}…, received {sums[1][:16]}…"


def by_the_packets(evidence: Evidence) -> Iterator[str]:
    """Faults in the packets alone."""
    assert evidence.packets is not None
    for end in ENDS:
        facts = evidence.packets[f"{end}_end"]
        for violation in facts["violations"]:
            yield f"packets at the {end}: {violation}"
        if facts["payload_bytes"] != evidence.transfer_bytes:
            yield f"packets at the {end}: {facts['payload_bytes']} B of payload instead of {evidence.transfer_bytes} B"
    if len({evidence.packets[f"{end}_end"]["payload_sha256"] for end in ENDS}) > 1:
        yield "packets: the payload that left the sender is not the one that reached the receiver"


def disagreements(evidence: Evidence) -> Iterator[str]:
    """Differences between an end's report and its packets."""
    assert evidence.packets is not None
    for end in ENDS:
        result, facts = evidence.results[end], evidence.packets[f"{end}_end"]
        if result and result["sha256"] != facts["payload_sha256"]:
            yield (
                f"the {end} says SHA-256 {result['sha256'][:16]}…, its packets carried {facts['payload_sha256'][:16]}…"
            )
