"""Time sequences of downloads whose packets are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.traffic.tcp.captured.capture import read_connections
from testbed.traffic.tcp.captured.sequence import Incomplete, TimeSequence, read_csv, time_sequence, write_csv
from tests.tcp.write_capture import Ends, write

START_S = 1_700_000_000.0
RTT_S = 0.05
SEGMENT = 1000


def download(
    folder: Path, windows: list[int], object_bytes: int, *, again: int | None = None, spread_s: float = 0.0
) -> TimeSequence:
    """A download with one window per round trip; in each the sender sends all it may, within ``spread_s``, and
    every segment is acknowledged a round trip later. ``again``: the segment that is sent a second time."""
    ends = Ends({"client": 2**32 - 3, "server": 5}, {"client": 0, "server": 0})
    frames = [(START_S, frame) for frame in ends.handshake((65535, 65535, windows[0]))]
    at_s, acked, edge = START_S + 0.001, 0, windows[0]
    for window in [*windows[1:], windows[-1]]:
        sent = acked
        while sent + SEGMENT <= min(edge, object_bytes):
            t_s = at_s + spread_s * (sent - acked) / max(edge - acked, 1)
            frames.append((t_s, ends.frame("server", ".", 1 + sent, 1, 100, SEGMENT)))
            if again == sent // SEGMENT:
                frames.append((t_s + 1e-4, ends.frame("server", ".", 1 + sent, 1, 100, SEGMENT)))
            sent += SEGMENT
            frames.append((t_s + RTT_S, ends.frame("client", ".", 1, 1 + sent, window)))
        acked, at_s, edge = sent, at_s + RTT_S, sent + window
        if acked == object_bytes:
            break
    write(folder / "a.pcap", sorted(frames, key=lambda entry: entry[0]))
    return time_sequence(read_connections(folder / "a.pcap")[0])


def test_one_flight(tmp_path: Path) -> None:
    sequence = download(tmp_path, [60_000], 40_000)
    assert sequence.initial_window_bytes == 60_000
    assert sequence.object_bytes == 40_000
    assert sum(data.bytes for data in sequence.first_flight()) == 40_000
    assert sequence.acknowledged_s == pytest.approx(RTT_S, abs=1e-5)
    assert sequence.edges_met(RTT_S, SEGMENT) == []


@pytest.mark.parametrize("spread_s", [0.0, 0.01])
def test_edges_that_stop_the_sender(tmp_path: Path, spread_s: float) -> None:
    sequence = download(tmp_path, [4_000, 12_000, 36_000, 60_000], 45_000, spread_s=spread_s)
    # 4; 4 + 12; 16 + 36 is beyond the object.
    assert [edge.right_edge_bytes for edge in sequence.edges_met(RTT_S, SEGMENT)] == [4_000, 16_000]
    assert sum(data.bytes for data in sequence.first_flight()) == 4_000
    assert sequence.acknowledged_s == pytest.approx(3 * RTT_S, abs=RTT_S / 2)


def test_an_edge_that_nothing_waits_at_is_not_met(tmp_path: Path) -> None:
    """The sender has its own limit, 4 segments a round trip, and the window is always larger."""
    ends = Ends({"client": 1, "server": 5}, {"client": 0, "server": 0})
    frames = [(START_S, frame) for frame in ends.handshake((65535, 65535, 8_000))]
    for trip in range(5):
        for place in range(4):
            seq = (trip * 4 + place) * SEGMENT
            frames.append((START_S + 0.001 + trip * RTT_S, ends.frame("server", ".", 1 + seq, 1, 9, SEGMENT)))
        frames.append((START_S + 0.001 + (trip + 1) * RTT_S, ends.frame("client", ".", 1, 1 + seq + SEGMENT, 8_000)))
    write(tmp_path / "a.pcap", sorted(frames, key=lambda entry: entry[0]))
    sequence = time_sequence(read_connections(tmp_path / "a.pcap")[0])
    assert sequence.object_bytes == 20_000
    assert sequence.edges_met(RTT_S, SEGMENT) == []


def test_what_is_sent_again_is_told(tmp_path: Path) -> None:
    sequence = download(tmp_path, [60_000], 10_000, again=3)
    assert [data.first_byte for data in sequence.data if data.again] == [3_000]
    assert sequence.object_bytes == 10_000


def test_a_capture_without_data_is_told(tmp_path: Path) -> None:
    ends = Ends({"client": 1, "server": 5}, {"client": 0, "server": 0})
    handshake = [(START_S, frame) for frame in ends.handshake((1, 2, 3))]
    write(tmp_path / "a.pcap", handshake)
    with pytest.raises(Incomplete, match="no data"):
        time_sequence(read_connections(tmp_path / "a.pcap")[0])
    write(tmp_path / "b.pcap", handshake[:2])
    with pytest.raises(Incomplete, match="handshake"):
        time_sequence(read_connections(tmp_path / "b.pcap")[0])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(
    windows=st.lists(st.integers(1_000, 60_000), min_size=1, max_size=5),
    segments=st.integers(1, 60),
    again=st.one_of(st.none(), st.integers(0, 60)),
)
def test_csv_keeps_it(tmp_path: Path, windows: list[int], segments: int, again: int | None) -> None:
    sequence = download(tmp_path, windows, segments * SEGMENT, again=again)
    edges, data = tmp_path / "edges.csv", tmp_path / "data.csv"
    write_csv(sequence, edges, data)
    kept = read_csv(edges, data)
    assert [(d.first_byte, d.bytes, d.again) for d in kept.data] == [
        (d.first_byte, d.bytes, d.again) for d in sequence.data
    ]
    assert [e.right_edge_bytes for e in kept.edges] == [e.right_edge_bytes for e in sequence.edges]
    assert [e.t_s for e in kept.edges] == pytest.approx([e.t_s for e in sequence.edges], abs=1e-6)
    met = kept.edges_met(RTT_S, SEGMENT)
    assert [e.right_edge_bytes for e in met] == sorted({e.right_edge_bytes for e in met})
    assert all(edge.right_edge_bytes < kept.object_bytes for edge in met)
