"""Whether windows move by the constants of their policy: half per timeout, one packet at least, and the cap.

Samples are a tenth of a second apart, and the acknowledgements and timeouts between two are counted, not their order.
So each window has to lie between what the rule makes of them in the worst order and in the best. How much an
acknowledgement adds is what ``follows_law`` judges; here it is anything from nothing to twice the rule's one packet.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from testbed.judge.checks.planned import initial_windows, session_window_packets
from testbed.judge.trust.counts import Array, Ends
from testbed.message import Message
from testbed.plan.codes import rule_of

FIRST_PREVIOUS, CAP_PREVIOUS = 16.0, 256.0
LEAST, MOST_PER_ACK = 1.0, 2.0
FACTS: Mapping[str, Mapping[str, float | None]] = {
    "previous": {"cap_packets": CAP_PREVIOUS, "min_packets": LEAST, "normalised": False},
    "nkp24": {"cap_packets": None, "min_packets": LEAST, "normalised": True},
    "npm-1.0.9": {"cap_packets": CAP_PREVIOUS, "min_packets": LEAST, "normalised": False},
    "npm-1.1.2": {"cap_packets": None, "min_packets": 0.0, "normalised": True},
}
"""Constants that a policy of this name has, whatever the program says of it: NKP-0024's, and ncp-go 1.0.0's."""
ROUNDED = 1e-6
"""Telemetry has all digits; the sums that are made here have a few fewer."""


def violations(ends: Ends) -> Iterator[Message]:
    """The first window of each connection that the policy's rule can't have made of the one before."""
    windows, of, policy = ends.rows("window_packets"), ends.sums, ends.session["policy"]
    if policy not in FACTS:
        return
    facts = ends.session["policy_facts"]
    for name, fact in FACTS[policy].items():
        if (used := facts.get(name, fact)) != fact:
            yield Message("policy.another-constant", f"the program's {policy} has {name} {used}, and the rule {fact}")
    if windows is None or of is None or not ends.whole:
        return
    before = np.concatenate((_initial(ends), windows[:, :-1]), axis=1)
    rise = {key: np.diff(rows, axis=1, prepend=0.0) for key, rows in of.items()}
    # A packet that was sent is still in flight or was acknowledged, on whichever connection.
    added = MOST_PER_ACK * (rise["sent"] - rise["in_flight_packets"])
    if rule_of(ends.session) == "previous":
        low, high = previous_bounds(before, added, rise["lost"], whole=policy == "previous")
    else:
        least, whole = float(FACTS[policy]["min_packets"] or 0.0), session_window_packets(ends.session)
        low, high = nkp24_bounds(before, windows, added, rise["lost"], whole, least)
    off = np.maximum(low - windows, windows - high) - ROUNDED * windows
    for place in np.flatnonzero(off.max(axis=1, initial=0.0) > 0):
        at = int(np.argmax(off[place] > 0))
        yield Message(
            "policy.window-off",
            f"connection {ends.session['connections'][place]['index']}: its window is {windows[place, at]:.2f} packets "
            f"at {ends.t_s[at]:.1f} s, after {before[place, at]:.2f}, {added[place, at] / MOST_PER_ACK:.0f} packets "
            f"acknowledged and {rise['lost'][place, at]:.0f} timeouts; {policy} makes it {low[place, at]:.2f} to "
            f"{high[place, at]:.2f}",
        )


def _initial(ends: Ends) -> Array:
    planned = initial_windows(ends.session)
    own = rule_of(ends.session) == "previous" and not ends.session.get("initial_windows")
    return np.array([[FIRST_PREVIOUS if own else max(window, LEAST)] for window in planned.values()])


def previous_bounds(before: Array, added: Array, timeouts: Array, *, whole: bool = True) -> tuple[Array, Array]:
    """The rule of ``previous``: packets added before a halving count for half of those added after it; npm's windows
    need not be ``whole`` packets."""
    halved = before * np.exp2(-timeouts)
    halved = np.maximum(np.floor(halved) if whole else halved, LEAST)
    return np.minimum(halved, CAP_PREVIOUS), np.minimum(halved + added, CAP_PREVIOUS)


def nkp24_bounds(
    before: Array, after: Array, added: Array, timeouts: Array, whole: float, least: float = LEAST
) -> tuple[Array, Array]:
    """Scaling to the session's window leaves the windows' ratios, so the rule is followed without it, and all is scaled
    in the end. What is added, and what a window is lifted by, then counts for at most what the sum has grown by. Lifted
    after scaling, windows have a sum above the session's from the beginning."""
    grown = np.exp(added.sum(axis=0) / whole) * np.maximum(before.sum(axis=0) / whole, 1.0)
    low = np.maximum(before * np.exp2(-timeouts), np.finfo(float).tiny)
    lifted = np.where((timeouts.sum(axis=0) == 0) & (before > 2 * least * grown), 0.0, least)
    high = low + (added + lifted) * grown
    others_high, others_low = high.sum(axis=0) - high, low.sum(axis=0) - low
    total = after.sum(axis=0)
    return total * low / (low + others_high), np.maximum(total * high / (high + others_low), least)
