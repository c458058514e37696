"""The duration of an object at a connection's start where the receiver's window limits it, by the calculation of the
patch of 2021.

The handshake, the request and time on the wire are left out. Source: "tcp: remove limit on initial receive window",
netdev, 11 January 2021.
"""

import math

from testbed.scenario import slow_start

LIMITED_WINDOW_BYTES = 65536
EDGE_GROWTH = 5.0
"""The patch's: a window that quadruples each round trip, on top of what was acknowledged."""
BBR_STARTUP_GAIN = 2885 / 1000
BBR_PACING_MARGIN = 0.99


def packets(object_bytes: int, mss_bytes: int = 1460) -> int:
    """Full segments that an object takes."""
    return math.ceil(object_bytes / mss_bytes)


def one_rtt_bps(object_bytes: int, rtt_s: float) -> float:
    """The highest throughput there can be: the whole object in one round trip."""
    return object_bytes * 8 / rtt_s


def limited_rtts(object_bytes: int, window_bytes: int = LIMITED_WINDOW_BYTES, growth: float = EDGE_GROWTH) -> float:
    """Round trips after the first that an edge starting at the window needs to be at the object's end."""
    return max(0.0, math.log(object_bytes / window_bytes, growth))


def limited_bps(object_bytes: int, rtt_s: float, *, whole_rtts: bool) -> float:
    """Throughput with a limited window; the patch takes whole round trips."""
    rtts = limited_rtts(object_bytes)
    return object_bytes * 8 / (rtt_s * (1 + (math.ceil(rtts) if whole_rtts else rtts)))


def expected_rtts(
    object_bytes: int, initial_window_bytes: int, initial_congestion_window: int, congestion_control: str
) -> float:
    """Round trips from the request until all is acknowledged: what takes longest of the congestion window, the
    receiver's window as the patch has it, and BBR's pacing of the first window."""
    trips = slow_start.round_trips(packets(object_bytes), initial_congestion_window) - 1.0  # without the handshake
    if initial_window_bytes < object_bytes:
        trips = max(trips, 1.0 + math.ceil(limited_rtts(object_bytes, initial_window_bytes)))
    if trips == 1 and congestion_control == "bbr":
        return paced_rtts(object_bytes, initial_congestion_window)
    return trips


def paced_rtts(object_bytes: int, initial_window_packets: int, mss_bytes: int = 1460) -> float:
    """Round trips that BBR takes where nothing limits it: it paces the first window by the handshake's RTT.

    Linux's bbr_init_pacing_rate_from_rtt: the initial window per round trip, times the startup gain, less a margin.
    """
    pace = initial_window_packets * BBR_STARTUP_GAIN * BBR_PACING_MARGIN
    return 1 + packets(object_bytes, mss_bytes) / pace
