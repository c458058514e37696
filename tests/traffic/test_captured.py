"""What arrived over which connection, by captures written here: of both units of time, cut off, or none."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import dpkt
import pytest

from testbed.errors import RunFailed
from testbed.traffic.program.captured import first_unix_ns, read_arrivals
from tests.raises import Containing, raises

SESSION: Any = {
    "connections": [
        {"link": "fast", "sender": "198.18.1.1:0", "receiver": "198.18.1.2:0"},
        {"link": "slow", "sender": "198.18.2.1:0", "receiver": "198.18.2.2:0"},
    ]
}
START_NS = 1_700_000_000_123_456_000
SENDER, RECEIVER, THIRD = (b"\xc6\x12\x01\x01", b"\xc6\x12\x01\x02", b"\xc6\x12\x02\x02")
SLOW_SENDER = b"\xc6\x12\x02\x01"
KEPT = 100


def frame(src: bytes, dst: bytes, payload: int, *, udp: bool = True, fragment: int = 0) -> bytes:
    inner: Any = dpkt.udp.UDP(data=bytes(payload), ulen=8 + payload)
    if not udp:
        inner = dpkt.tcp.TCP(opts=bytes(12), off=8, data=bytes(payload))
    data = bytes(payload) if fragment else bytes(inner)
    packet = dpkt.ip.IP(src=src, dst=dst, p=17 if udp else 6, data=data, len=20 + len(data), offset=fragment)
    return b"\x08\x00" + bytes(18) + bytes(packet)


def write(file: Path, frames: list[bytes], *, nano: bool, head: bytes = b"") -> Path:
    with file.open("wb") as out:
        writer: Any = dpkt.pcap.Writer(out, snaplen=KEPT, linktype=dpkt.pcap.DLT_LINUX_SLL2, nano=nano)
        for number, data in enumerate(frames):
            writer.writepkt(data[:KEPT], ts=Decimal(START_NS + 1000 * number) / 10**9)
        out.write(head)
    return file


@pytest.mark.parametrize("nano", [True, False], ids=["ns", "us"])
def test_payload_and_time_of_what_came_in(tmp_path: Path, nano: bool) -> None:
    frames = [
        frame(RECEIVER, SENDER, 7),  # the other way
        frame(SENDER, RECEIVER, 1000),
        frame(SLOW_SENDER, THIRD, 500, udp=False),
        frame(SENDER, RECEIVER, 40, fragment=185),
        frame(b"\x0a\0\0\1", RECEIVER, 9),  # somebody else's
        b"\x08\x06" + bytes(60),  # no IPv4
        frame(SENDER, RECEIVER, 0, udp=False),  # no payload
        frame(SENDER, RECEIVER, 10, udp=False)[:45],  # its headers are not whole
    ]
    capture = write(tmp_path / "a.pcap", frames, nano=nano)
    assert first_unix_ns(capture) == START_NS
    found = read_arrivals(capture, SESSION)
    assert (found.t_ns - START_NS).tolist() == [1000, 2000, 3000]
    assert found.connection.tolist() == [0, 1, 0]
    assert found.by_link(SESSION) == {"fast": 1040, "slow": 500}
    shared: Any = {"connections": [{**connection, "link": "core"} for connection in SESSION["connections"]]}
    assert found.by_link(shared) == {"core": 1540}, "both paths' bytes, where they cross one bottleneck"


def test_one_that_is_still_written_or_was_cut_off_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    capture = tmp_path / "a.pcap"
    assert first_unix_ns(capture) is None
    whole = write(capture, [frame(SENDER, RECEIVER, 1000)], nano=True, head=bytes(7)).read_bytes()
    assert read_arrivals(capture, SESSION).payload_bytes.tolist() == [1000]
    capture.write_bytes(whole[:30])
    assert first_unix_ns(capture) is None
    assert read_arrivals(capture, SESSION).payload_bytes.tolist() == []


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(b"no capture at all, but long enough for a header")
    for read in (first_unix_ns, lambda path: read_arrivals(path, SESSION)):
        with raises(RunFailed, "capture.not-pcap", path=Containing("a.pcap")):
            read(tmp_path / "a.pcap")
