from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.traffic.pcap import NotACapture
from testbed.traffic.tcp.captured.capture import HEADER_BYTES, read_connections
from tests.raises import Containing, raises
from tests.tcp.write_capture import CLIENT, LINK_TYPES, SERVER, Ends, link_layer, write

START_S = 1_700_000_000.0
isns = st.integers(0, 2**32 - 1)
shifts = st.one_of(st.none(), st.integers(0, 14))
windows = st.integers(0, 65535)
in_function_scope = settings(
    max_examples=int(os.environ.get("NCP_TESTBED_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)


def timed(frames: list[bytes], step_s: float = 0.001) -> list[tuple[float, bytes]]:
    return [(START_S + number * step_s, frame) for number, frame in enumerate(frames)]


@in_function_scope
@given(
    isn=st.tuples(isns, isns),
    shift=st.tuples(shifts, shifts),
    window=st.tuples(windows, windows, windows),
    steps=st.lists(st.tuples(st.sampled_from(["client", "server"]), st.integers(0, 1460), windows), max_size=40),
    layer=st.sampled_from(sorted(LINK_TYPES)),
    snap=st.sampled_from([HEADER_BYTES, 65535]),
)
def test_what_was_written_is_read(
    tmp_path: Path,
    isn: tuple[int, int],
    shift: tuple[int | None, int | None],
    window: tuple[int, int, int],
    steps: list[tuple[str, int, int]],
    layer: str,
    snap: int,
) -> None:
    ends = Ends({"client": isn[0], "server": isn[1]}, {"client": shift[0], "server": shift[1]})
    frames = ends.handshake(window, layer)
    at = {"client": 1, "server": 1}
    expected = [("client", 0, None, 0), ("server", 0, 1, 0), ("client", 1, 1, 0)]
    for sender, payload, header_window in steps:
        other = "server" if sender == "client" else "client"
        frames.append(ends.frame(sender, ".", at[sender], at[other], header_window, payload, layer))
        expected.append((sender, at[sender], at[other], payload))
        at[sender] += payload
    write(tmp_path / "a.pcap", timed(frames), layer, snap)

    (connection,) = read_connections(tmp_path / "a.pcap")

    assert (connection.client, connection.server) == (CLIENT, SERVER)
    assert connection.start_unix_s == START_S
    assert [(s.sender, s.seq, s.ack, s.payload_bytes) for s in connection.segments] == expected
    factor = {"client": 1, "server": 1}
    if None not in shift:
        factor = {"client": 1 << (shift[0] or 0), "server": 1 << (shift[1] or 0)}
    in_headers = [*window, *(w for _, _, w in steps)]
    scaled = [w * (1 if s.syn else factor[s.sender]) for w, s in zip(in_headers, connection.segments, strict=True)]
    assert [s.window_bytes for s in connection.segments] == scaled
    assert [round(s.t_s * 1000) for s in connection.segments] == list(range(len(frames)))


def test_numbers_do_not_wrap_over_more_than_4_gib(tmp_path: Path) -> None:
    ends = Ends({"client": 2**32 - 5, "server": 2**31}, {"client": 7, "server": 7})
    frames = ends.handshake((65535, 65535, 512))
    at, expected = 1, []
    while at < 5 * 2**30:
        frames.append(ends.frame("server", ".", at, 1, 100, 1448))
        expected.append(at)
        at += 2**30 + 12345
    write(tmp_path / "a.pcap", timed(frames))
    (connection,) = read_connections(tmp_path / "a.pcap")
    assert [s.seq for s in connection.sent_by("server")][1:] == expected


def test_a_segment_sent_again_keeps_its_number(tmp_path: Path) -> None:
    ends = Ends({"client": 7, "server": 2**32 - 100}, {"client": 7, "server": 7})
    data = [ends.frame("server", ".", seq, 1, 100, 1000) for seq in (1, 2001, 1001, 1)]
    write(tmp_path / "a.pcap", timed([*ends.handshake((1, 1, 1)), *data]))
    (connection,) = read_connections(tmp_path / "a.pcap")
    assert [s.seq for s in connection.sent_by("server")] == [0, 1, 2001, 1001, 1]


def test_windows_are_scaled_but_those_of_the_handshake(tmp_path: Path) -> None:
    ends = Ends({"client": 1, "server": 2}, {"client": 3, "server": 0})
    frames = [*ends.handshake((64240, 65535, 8030)), ends.frame("client", "F.", 1, 1001, 500)]
    write(tmp_path / "a.pcap", timed(frames))
    (connection,) = read_connections(tmp_path / "a.pcap")
    assert [s.syn for s in connection.segments] == [True, True, False, False]
    assert [(s.ack, s.window_bytes) for s in connection.sent_by("client")][1:] == [(1, 8030 * 8), (1001, 500 * 8)]


def test_connections_are_told_apart(tmp_path: Path) -> None:
    first = Ends({"client": 1, "server": 2}, {"client": 3, "server": 0})
    other_port = Ends({"client": 1, "server": 2}, {"client": 3, "server": 0}, client=("10.0.0.1", 40001))
    again = Ends({"client": 77, "server": 99}, {"client": None, "server": 0})
    syn = first.frame("client", "S", 0, 0, 64240)
    frames = [syn, syn, *first.handshake((1, 2, 3))[1:], *other_port.handshake((4, 5, 6)), *again.handshake((7, 8, 9))]
    write(tmp_path / "a.pcap", timed(frames))
    connections = read_connections(tmp_path / "a.pcap")
    assert [c.client[1] for c in connections] == [40000, 40001, 40000]
    assert [len(c.segments) for c in connections] == [4, 3, 3], "a SYN sent again begins no connection"
    assert [c.segments[-1].window_bytes for c in connections] == [3 << 3, 6 << 3, 9]


def test_without_a_syn_there_is_nothing_to_scale_by(tmp_path: Path) -> None:
    ends = Ends({"client": 1, "server": 2}, {"client": 3, "server": 0})
    write(tmp_path / "a.pcap", timed([ends.frame("server", ".", 1, 1, 100, 1000)]))
    assert read_connections(tmp_path / "a.pcap") == []


def test_other_frames_are_passed_over(tmp_path: Path) -> None:
    ends = Ends({"client": 1, "server": 2}, {"client": 3, "server": 0})
    whole = ends.handshake((1, 2, 3))
    arp, ipv6 = link_layer("ethernet", 0x0806) + bytes(28), link_layer("ethernet", 0x86DD) + bytes(40)
    udp = bytearray(whole[2])
    udp[14 + 9] = 17
    write(tmp_path / "a.pcap", timed([arp, whole[0], ipv6, b"", bytes(udp), whole[1], whole[2][:40], whole[2]]))
    (connection,) = read_connections(tmp_path / "a.pcap")
    assert [s.syn for s in connection.segments] == [True, True, False]


@in_function_scope
@given(seed=st.integers(0, 2**32), layer=st.sampled_from(sorted(LINK_TYPES)))
def test_broken_frames_and_files_break_nothing(tmp_path: Path, seed: int, layer: str) -> None:
    chance = random.Random(seed)
    ends = Ends({"client": chance.getrandbits(32), "server": 2}, {"client": 3, "server": 0})
    frames = [bytearray(frame) for frame in ends.handshake((1, 2, 3), layer) * 3]
    for frame in frames:
        for _ in range(chance.randrange(6)):
            frame[chance.randrange(len(frame))] = chance.getrandbits(8)
    cut = [
        bytes(frame[: chance.randrange(len(frame) + 1)]) if chance.random() < 0.3 else bytes(frame) for frame in frames
    ]
    write(tmp_path / "a.pcap", timed(cut), layer)
    for connection in read_connections(tmp_path / "a.pcap"):
        assert all(0 <= s.window_bytes <= 65535 << 14 and s.payload_bytes >= 0 for s in connection.segments)


def test_a_capture_that_was_killed_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    ends = Ends({"client": 1, "server": 2}, {"client": 3, "server": 0})
    write(tmp_path / "a.pcap", timed(ends.handshake((1, 2, 3))))
    whole = (tmp_path / "a.pcap").read_bytes()
    (tmp_path / "a.pcap").write_bytes(whole[: len(whole) - 50])
    (connection,) = read_connections(tmp_path / "a.pcap")
    assert [s.syn for s in connection.segments] == [True, True]


@pytest.mark.parametrize("content", [b"", b"no capture at all, but long enough for a header"])
def test_what_is_no_capture_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pcap").write_bytes(content)
    with raises(NotACapture, "capture.not-pcap", path=Containing("a.pcap")):
        read_connections(tmp_path / "a.pcap")


def test_link_types_that_are_not_known_are_refused(tmp_path: Path) -> None:
    ends = Ends({"client": 1, "server": 2}, {"client": 3, "server": 0})
    write(tmp_path / "a.pcap", timed(ends.handshake((1, 2, 3))))
    content = bytearray((tmp_path / "a.pcap").read_bytes())
    content[20:24] = (105).to_bytes(4, sys.byteorder)
    (tmp_path / "a.pcap").write_bytes(bytes(content))
    with raises(NotACapture, "capture.link-type", link_type=105):
        read_connections(tmp_path / "a.pcap")
