"""The convergence law of proportional windows.

Each acknowledged packet adds one to its connection's window and all windows are then scaled back to the
sum W (NKP-0024, "Adjust send window size dynamically"). With connection i acknowledged at a_i packets/s and
A = Σ a_i, its share s_i of W obeys ds_i/dt = (a_i − s_i·A) / W, hence

    s_i(t) = s∞_i + (s0_i − s∞_i)·e^(−t/τ),   s∞_i = a_i / A,   τ = W / A.

Where the rates change, a new phase starts with the shares that the one before ended with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Phase:
    """A time of constant rates from ``start_s`` on: shares by connection index, at its start and in the limit."""

    start_s: float
    initial: Mapping[str, float]
    limit: Mapping[str, float]
    time_constant_s: float

    def share(self, connection: str, t_s: ArrayLike) -> NDArray[np.float64]:
        """Shares (0 to 1) at the times ``t_s`` (seconds since the transfer's start), of the same shape."""
        elapsed = np.maximum(np.asarray(t_s, dtype=np.float64) - self.start_s, 0.0)
        initial, limit = self.initial[connection], self.limit[connection]
        return np.asarray(limit + (initial - limit) * np.exp(-elapsed / self.time_constant_s), dtype=np.float64)


@dataclass(frozen=True)
class Law:
    """The law of one session, in one or more phases."""

    phases: tuple[Phase, ...]

    def share(self, connection: str, t_s: ArrayLike) -> NDArray[np.float64]:
        """Shares (0 to 1) at the times ``t_s`` (seconds since the transfer's start), of the same shape."""
        times = np.asarray(t_s, dtype=np.float64)
        shares = self.phases[0].share(connection, times)
        for phase in self.phases[1:]:
            shares = np.where(times >= phase.start_s, phase.share(connection, times), shares)
        return np.asarray(shares, dtype=np.float64)

    @property
    def limit(self) -> Mapping[str, float]:
        """The shares at the end."""
        return self.phases[-1].limit

    @property
    def time_constant_s(self) -> float:
        """The time constant of the first phase."""
        return self.phases[0].time_constant_s


def law_of(
    session_window_packets: float,
    initial_windows: Mapping[str, float],
    rates_pps: Mapping[str, float],
    start_s: float = 0.0,
    changes: Sequence[tuple[float, Mapping[str, float]]] = (),
) -> Law:
    """The law for a session's window W (packets), initial windows (packets) and acknowledged packets/s.

    All mappings are by connection index. ``changes`` are later times (seconds, in order) with the rates from
    then on; those before ``start_s`` only tell the rates that it starts with.
    """
    total_window = sum(initial_windows.values())
    shares: Mapping[str, float] = {c: w / total_window for c, w in initial_windows.items()}
    for at_s, rates in changes:
        if at_s <= start_s:
            rates_pps = rates
    phases = [_phase(session_window_packets, start_s, shares, rates_pps)]
    for at_s, rates in changes:
        if at_s > start_s:
            shares = {c: float(phases[-1].share(c, at_s)) for c in initial_windows}
            phases.append(_phase(session_window_packets, at_s, shares, rates))
    return Law(tuple(phases))


def _phase(
    session_window_packets: float, start_s: float, shares: Mapping[str, float], rates_pps: Mapping[str, float]
) -> Phase:
    total_rate = sum(rates_pps.values())
    if total_rate <= 0:  # nothing is acknowledged, so nothing moves
        return Phase(start_s, shares, shares, math.inf)
    limit = {c: rate / total_rate for c, rate in rates_pps.items()}
    return Phase(start_s, shares, limit, session_window_packets / total_rate)
