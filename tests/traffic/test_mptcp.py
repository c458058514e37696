"""MPTCP's completion, from what arrived in each interval."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from testbed.traffic.mptcp import completion_s


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.floats(0.01, 1))
def test_bytes_have_arrived_when_the_intervals_say_so(counts: list[int], fraction: float) -> None:
    intervals = [{"bytes": n, "start": i / 10, "end": (i + 1) / 10} for i, n in enumerate(counts)]
    wanted = max(1, int(sum(counts) * fraction))
    at_s = completion_s(intervals, wanted)
    assert at_s is not None
    whole = int(at_s * 10 + 1e-9)
    assert sum(counts[:whole]) <= wanted + 1
    assert sum(counts[: whole + 1]) >= wanted - 1
    assert completion_s(intervals, sum(counts) + 1) is None
