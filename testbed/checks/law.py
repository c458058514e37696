"""The convergence law of proportional windows.

Each acknowledged packet adds one to its connection's window and all windows are then scaled back to the
sum W (NKP-0024, "Adjust send window size dynamically"). With connection i acknowledged at a_i packets/s and
A = Σ a_i, its share s_i of W obeys ds_i/dt = (a_i − s_i·A) / W, hence

    s_i(t) = s∞_i + (s0_i − s∞_i)·e^(−t/τ),   s∞_i = a_i / A,   τ = W / A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Law:
    """The law of one session: shares by connection index, from ``start_s`` on."""

    initial: dict[str, float]
    limit: dict[str, float]
    time_constant_s: float
    start_s: float = 0.0

    def share(self, connection: str, t_s: ArrayLike) -> NDArray[np.float64]:
        """Shares (0 to 1) at the times ``t_s`` (seconds since the transfer's start), of the same shape."""
        elapsed = np.maximum(np.asarray(t_s, dtype=np.float64) - self.start_s, 0.0)
        initial, limit = self.initial[connection], self.limit[connection]
        return np.asarray(
            limit + (initial - limit) * np.exp(-elapsed / self.time_constant_s), dtype=np.float64
        )


def law_of(
    window_packets: float,
    initial_windows: dict[str, float],
    rates_pps: dict[str, float],
    start_s: float = 0.0,
) -> Law:
    """The law for a session's window W (packets), initial windows (packets) and link rates (packets/s).

    Without loss a busy link acknowledges packets at its rate, so the rates stand for a_i: nothing is fitted
    to what was measured. Both mappings are by connection index; rates are above 0.
    """
    total_rate = sum(rates_pps.values())
    total_window = sum(initial_windows.values())
    return Law(
        initial={c: w / total_window for c, w in initial_windows.items()},
        limit={c: r / total_rate for c, r in rates_pps.items()},
        time_constant_s=window_packets / total_rate,
        start_s=start_s,
    )
