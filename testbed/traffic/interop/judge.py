"""A pairing's verdict: by what both ends say, and by what their packets show. Both must be right, and agree."""

from collections.abc import Iterator, Mapping
from typing import Any

from testbed.judge.status import Status
from testbed.plan.model import Role

ENDS: tuple[Role, Role] = ("sender", "receiver")
OfEnds = Mapping[Role, Mapping[str, Any] | None]
"""``result.json`` of each end, by ``sender`` and ``receiver``; None: it left none."""
OfPackets = Mapping[str, Mapping[str, Any]]
"""``ncp-trace``'s facts by ``sender_end`` and ``receiver_end``."""


def judge(
    transfer_bytes: int, results: OfEnds, packets: OfPackets | None, failure: str = "", capture_failure: str = ""
) -> tuple[Status, list[str]]:
    """The status, and the reasons where it is no pass. ``failure`` is the error that ended the transfer early,
    ``capture_failure`` the reason why the packets are unknown (None): that leaves it ``untrusted``, unless the ends
    themselves report a failure."""
    said = [*([failure] if failure else []), *_by_their_word(transfer_bytes, results)]
    if packets is None:
        said.append(f"the packets can't be told: {capture_failure}")
        return Status.FAIL if len(said) > 1 else Status.UNTRUSTED, said
    shown = list(_by_the_packets(transfer_bytes, results, packets))
    if said and not shown:
        said.append("the packets show nothing wrong: the ends and the packets disagree")
    if shown and not said:
        shown.append("both ends say that all is well: the ends and the packets disagree")
    return Status.FAIL if said or shown else Status.PASS, said + shown


def _by_their_word(transfer_bytes: int, results: OfEnds) -> Iterator[str]:
    """Faults in the ends' own reports."""
    for end in ENDS:
        result = results[end]
        if result is None:
            yield f"the {end} left no result"
            continue
        if result["error"]:
            yield f"the {end} says: {result['error']}"
        if result["bytes"] != transfer_bytes:
            yield f"the {end} says {result['bytes']} B instead of {transfer_bytes} B"
        for warning in result["warnings"]:
            yield f"the {end} warns: {warning}"
    sums = [result["sha256"] for result in results.values() if result]
    if len(sums) == len(ENDS) and sums[0] != sums[1]:
        yield f"the ends' SHA-256 differ: sent {sums[0][:16]}…, received {sums[1][:16]}…"


def _by_the_packets(transfer_bytes: int, results: OfEnds, packets: OfPackets) -> Iterator[str]:
    """Faults in the packets, and differences between them and an end's report."""
    for end in ENDS:
        result, facts = results[end], packets[f"{end}_end"]
        for violation in facts["violations"]:
            yield f"packets at the {end}: {violation}"
        if facts["payload_bytes"] != transfer_bytes:
            yield f"packets at the {end}: {facts['payload_bytes']} B of payload instead of {transfer_bytes} B"
        if result and result["sha256"] != facts["payload_sha256"]:
            yield (
                f"the {end} says SHA-256 {result['sha256'][:16]}…, its packets carried {facts['payload_sha256'][:16]}…"
            )
    if packets["sender_end"]["payload_sha256"] != packets["receiver_end"]["payload_sha256"]:
        yield "packets: the payload that left the sender is not the one that reached the receiver"
