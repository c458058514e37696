"""What the rules of policies can make of windows between two samples."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from testbed.judge.trust.windows import LEAST, nkp24_bounds

Batch = list[tuple[int, bool]]
"""Connections, and whether a packet of it is acknowledged, or else timed out; then the windows are scaled."""
SUM = 64.0
batches = st.lists(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12), max_size=20)


def moved(windows: list[float], steps: list[Batch]) -> list[float]:
    """Windows after NKP-0024's rule was followed."""
    for batch in steps:
        windows = list(windows)
        for step, acknowledged in batch:
            place = step % len(windows)
            windows[place] = windows[place] + 1 if acknowledged else max(windows[place] / 2, LEAST)
        windows = [max(window * SUM / sum(windows), LEAST) for window in windows]
    return windows


# The other window is lifted to one packet again, so that the sum was above the session's window before.
@example(2, [[(1, True)] * 4] * 150, [[(0, False)] * 11])
@given(st.integers(1, 4), batches, batches)
def test_what_the_rule_makes_of_windows_is_within_its_bounds(n: int, before: list[Batch], between: list[Batch]) -> None:
    first = moved([SUM / n] * n, before)
    last = moved(first, between)
    steps = [(step % n, acknowledged) for batch in between for step, acknowledged in batch]
    acknowledged, timeouts = (np.array([[float(steps.count((c, good)))] for c in range(n)]) for good in (True, False))
    low, high = nkp24_bounds(np.array(first)[:, None], np.array(last)[:, None], 2 * acknowledged, timeouts, SUM)
    assert np.all(low[:, 0] * (1 - 1e-6) <= last)
    assert np.all(high[:, 0] * (1 + 1e-6) >= last)


def test_a_connection_alone_keeps_its_window_through_any_number_of_timeouts() -> None:
    one = np.array([[SUM]])
    low, high = nkp24_bounds(one, one, np.array([[0.0]]), np.array([[2000.0]]), SUM)
    assert (low.item(), high.item()) == (SUM, SUM)
