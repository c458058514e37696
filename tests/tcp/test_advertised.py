"""The second half of a captured transfer: the window that was advertised, and the rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.traffic.tcp.captured.capture import Connection, Segment
from testbed.traffic.tcp.iperf3 import NoTransfer, arrived, steady

MSS = 1448


def transfer(window_packets: int, rtt_s: float, rounds: int, gap_s: float = 1e-5) -> Connection:
    """A window's worth of segments in a burst, an acknowledgement for all of them, and the next a round trip later."""
    connection = Connection(("10.0.0.1", 1), ("10.0.0.2", 2), 0.0)
    seq = 1
    for number in range(rounds):
        for place in range(window_packets):
            t_s = number * rtt_s + place * gap_s
            connection.segments.append(Segment(t_s, "client", seq, 1, MSS, 65535, False))
            seq += MSS
            # What has arrived and is not read yet is not offered: for a moment there is less room.
            room = (window_packets - place) * MSS if place < window_packets - 1 else window_packets * MSS
            connection.segments.append(Segment(t_s, "server", 1, seq, 0, room, False))
    return connection


@given(st.integers(2, 80), st.floats(0.02, 1.0), st.integers(20, 60))
def test_rate_and_window_are_those_of_the_rounds(window_packets: int, rtt_s: float, rounds: int) -> None:
    found = steady(transfer(window_packets, rtt_s, rounds))
    assert found.window_bytes == window_packets * MSS
    assert found.rate_bps == pytest.approx(window_packets * MSS * 8 / rtt_s, rel=0.02)


def test_what_is_sent_again_counts_once() -> None:
    whole = transfer(10, 0.1, 40)
    again = Connection(whole.client, whole.server, 0.0)
    for segment in whole.segments:
        again.segments += [segment] * (2 if segment.payload_bytes else 1)
    assert steady(again).rate_bps == pytest.approx(steady(whole).rate_bps, rel=1e-3)


def test_slow_start_is_not_in_it() -> None:
    connection = transfer(40, 0.1, 40)
    slow = [s for s in connection.segments if s.t_s >= 1.0 or int(s.t_s * 1e5) % 10 < 3]
    grown = Connection(connection.client, connection.server, 0.0, slow)
    assert steady(grown).rate_bps == pytest.approx(40 * MSS * 8 / 0.1, rel=0.02)


def test_too_little_to_tell() -> None:
    with pytest.raises(NoTransfer, match="2 segments"):
        steady(transfer(2, 0.1, 1))


@given(st.data())
def test_what_arrived_is_told_by_its_end_whatever_came_twice_or_was_not_captured(data: st.DataObject) -> None:
    whole = transfer(10, 0.1, 4)
    *before, last = [s for s in whole.segments if s.payload_bytes]
    seen = [*data.draw(st.lists(st.sampled_from(before))), last]
    acks = [s for s in whole.segments if not s.payload_bytes]
    syn = Segment(0.0, "server", 0, 1, 0, 65535, True)
    found = arrived(Connection(whole.client, whole.server, 0.0, [syn, *data.draw(st.permutations(seen)), *acks]))
    assert (found.payload_bytes, found.largest_window_bytes) == (40 * MSS, 10 * MSS)


def test_nothing_arrived_on_a_connection_without_data() -> None:
    nothing = Connection(("10.0.0.1", 1), ("10.0.0.2", 2), 0.0)
    assert (arrived(nothing).payload_bytes, arrived(nothing).largest_window_bytes) == (0, 0)
