"""A cell passes only where both ends and both captures agree that all is well."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.traffic.interop.judge import ENDS, judge

SHA = "ab" * 32
OTHER_SHA = "cd" * 32
BYTES = 1 << 20


def good() -> dict[str, Any]:
    """Evidence of a cell in which all went well."""
    return {
        "transfer_bytes": BYTES,
        "results": {end: {"bytes": BYTES, "sha256": SHA, "error": "", "warnings": []} for end in ENDS},
        "packets": {f"{end}_end": {"payload_bytes": BYTES, "payload_sha256": SHA, "violations": []} for end in ENDS},
    }


def judged(evidence: dict[str, Any]) -> tuple[str, str]:
    status, reasons = judge(**evidence)
    return status, "\n".join(reasons)


def test_all_well() -> None:
    assert judged(good()) == ("pass", "")


BY_WORD: list[tuple[str, Any, str]] = [
    ("bytes", BYTES - 1, f"says {BYTES - 1} B"),
    ("sha256", OTHER_SHA, "the ends' SHA-256 differ"),
    ("error", "stopped by SIGTERM", "says: stopped by SIGTERM"),
    ("warnings", ["the sender did not close the session"], "warns: the sender did not close"),
    ("warnings", ["it refused 3 packets: RecvWindowFullError"], "refused 3 packets: RecvWindowFullError"),
]
BY_PACKETS: list[tuple[str, Any, str]] = [
    ("payload_bytes", BYTES - 1, f"{BYTES - 1} B of payload"),
    ("payload_sha256", OTHER_SHA, "is not the one that reached the receiver"),
    ("violations", ["7 sequences were never acknowledged"], "7 sequences were never acknowledged"),
]


@pytest.mark.parametrize(("key", "value", "says"), BY_WORD)
@pytest.mark.parametrize("end", ENDS)
def test_an_end_says_that_something_is_wrong(end: str, key: str, value: Any, says: str) -> None:
    evidence = good()
    evidence["results"][end][key] = value
    status, reasons = judged(evidence)
    assert status == "fail"
    assert says in reasons
    if key != "sha256":  # the packets contradict a checksum directly
        assert "the packets show nothing wrong: the ends and the packets disagree" in reasons


@pytest.mark.parametrize(("key", "value", "says"), BY_PACKETS)
@pytest.mark.parametrize("end", ENDS)
def test_the_packets_contradict_the_ends(end: str, key: str, value: Any, says: str) -> None:
    evidence = good()
    evidence["packets"][f"{end}_end"][key] = value
    status, reasons = judged(evidence)
    assert status == "fail"
    assert says in reasons
    assert "both ends say that all is well: the ends and the packets disagree" in reasons


def test_both_ends_lie_alike() -> None:
    evidence = good()
    for end in ENDS:
        evidence["results"][end]["sha256"] = OTHER_SHA
    status, reasons = judged(evidence)
    assert status == "fail"
    assert f"the sender says SHA-256 {OTHER_SHA[:16]}…, its packets carried {SHA[:16]}…" in reasons


def test_an_end_left_nothing() -> None:
    evidence = good()
    evidence["results"]["receiver"] = None
    evidence["failure"] = "agent c1-receiver ended with 137"
    status, reasons = judged(evidence)
    assert status == "fail"
    assert "ended with 137\nthe receiver left no result" in reasons


def test_packets_that_cannot_be_told_prove_nothing() -> None:
    evidence = good() | {"packets": None, "capture_failure": "the capture at the sender missed 3 frames"}
    assert judged(evidence) == ("untrusted", "the packets can't be told: the capture at the sender missed 3 frames")
    evidence["results"]["sender"]["error"] = "stopped"
    status, reasons = judged(evidence)
    assert status == "fail"
    assert "the sender says: stopped" in reasons


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("results"), st.sampled_from(ENDS), st.sampled_from(BY_WORD)),
        st.tuples(st.just("packets"), st.sampled_from([f"{end}_end" for end in ENDS]), st.sampled_from(BY_PACKETS)),
    ),
    min_size=1,
    max_size=4,
)


@given(CHANGES)
def test_whatever_is_wrong_never_passes(changes: list[Any]) -> None:
    evidence = copy.deepcopy(good())
    for part, end, (key, value, _) in changes:
        evidence[part][end][key] = value
    status, reasons = judged(evidence)
    assert status == "fail"
    assert reasons
