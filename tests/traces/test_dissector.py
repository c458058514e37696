"""The dissector of NCP, opened by tshark: on the testbed's own packets, on npm's, and on what is no NCP."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import dpkt
import pytest

from testbed.documents import read_json
from testbed.interchange.traces import pcapng
from tests.traces.conftest import Tshark

CAPTURES = Path(__file__).parent / "captures"
HERE, THERE = "10.0.0.1", "10.0.0.2"


def test_what_it_counts_is_what_the_sender_counted(honest: Path, traced: Path, tshark: Tshark) -> None:
    pcapng.export(traced)
    fields = ("udp.srcport", "nkn.ncp.data.len", "nkn.ncp.resend_of", "nkn.ncp.window_breach")
    rows = tshark(traced / "traces" / "h1.pcapng", "nkn.ncp.sequence", *fields)
    result = read_json(honest / "agents" / "s1-sender.json")
    assert Counter(port for port, *_ in rows) == {
        str(30000 + told["index"]): told["sent"] for told in result["connections"]
    }
    again = [row for row in rows if row[2]]
    assert len(again) == sum(told["resent"] for told in result["connections"]) > 0
    assert sum(int(row[1]) for row in rows if not row[2]) == result["bytes"]
    assert not any(row[3] for row in rows)


@pytest.mark.parametrize("version", ["1.0.9", "1.1.2"])
def test_npms_packets_over_tcp(version: str, tshark: Tshark) -> None:
    """20,000 bytes over two connections, as two of npm's ends sent them to each other; the window is 8000."""
    names = (
        *("sequence", "data.len", "unread_bytes", "client_id", "window_size", "mtu", "ack.start", "ack.count"),
        *("bytes_read", "close", "resend", "window_breach", "mtu_breach"),
    )
    file = CAPTURES / f"npm-{version}.pcap"
    rows = tshark(file, "tcp.len > 0", "frame.protocols", *(f"nkn.ncp.{name}" for name in names))
    assert all(row[0].endswith(":nkn.ncp") for row in rows)
    told = {name: [row[number] for row in rows if row[number]] for number, name in enumerate(names, start=1)}
    assert sorted(map(int, told["sequence"])) == list(range(1, 21))
    assert set(told["data.len"]) == {"1000"}
    assert max(map(int, told["unread_bytes"])) == 8000
    assert (told["client_id"], told["window_size"], told["mtu"]) == (["one,two"] * 4, ["8000"] * 4, ["1000"] * 4)
    acked = [row[7:9] for row in rows if row[7]]
    assert {n for starts, counts in acked for n in acknowledged(starts, counts)} == set(range(1, 21))
    assert max(map(int, told["bytes_read"])) == 20000
    assert len(told["close"]) == 2
    assert told["resend"] == told["window_breach"] == told["mtu_breach"] == []


def acknowledged(starts: str, counts: str) -> list[int]:
    """The sequences of the ranges in a packet; without counts each range is of one."""
    first = [int(text) for text in starts.split(",")]
    length = [int(text) for text in counts.split(",")] if counts else [1] * len(first)
    return [n for start, count in zip(first, length, strict=True) for n in range(start, start + count)]


def varint(number: int) -> bytes:
    found = b""
    while number >= 128:
        found += bytes([number % 128 + 128])
        number //= 128
    return found + bytes([number])


def packet(sequence: int = 0, data: int = 0, read: int = 0, window: int = 0, mtu: int = 0) -> bytes:
    """As ncp-agent/wire encodes it."""
    made = b""
    if sequence:
        made += b"\x08" + varint(sequence) + b"\x12" + varint(data) + b"x" * data
    if read:
        made += b"\x28" + varint(read)
    if window:
        made += b"\x32\x03one" + b"\x38" + varint(window) + b"\x40" + varint(mtu) + b"\x50\x01"
    return made


def write(file: Path, packets: list[tuple[str, bytes]]) -> Path:
    """A capture of datagrams, each from one of two hosts to the other."""
    with file.open("wb") as out:
        writer: Any = dpkt.pcap.Writer(out)
        for number, (source, payload) in enumerate(packets):
            udp = dpkt.udp.UDP(sport=30001, dport=30001, data=payload, ulen=8 + len(payload))
            ends = (source, THERE if source == HERE else HERE)
            src, dst = (bytes(map(int, address.split("."))) for address in ends)
            ip = dpkt.ip.IP(src=src, dst=dst, p=dpkt.ip.IP_PROTO_UDP, data=udp, len=28 + len(payload))
            writer.writepkt(bytes(dpkt.ethernet.Ethernet(data=ip)), ts=number / 1000)
    return file


HANDSHAKES = [(HERE, packet(window=20, mtu=10)), (THERE, packet(window=30, mtu=10))]


def test_it_tells_of_resends_and_of_what_is_beyond_window_and_mtu(tmp_path: Path, tshark: Tshark) -> None:
    sent = [
        *HANDSHAKES,
        (HERE, packet(1, 10)),
        (HERE, packet(2, 10)),
        (HERE, packet(1, 10)),  # 5: again
        (HERE, packet(3, 10)),  # 6: 30 bytes, of 20
        (THERE, packet(read=30)),
        (HERE, packet(4, 11)),  # 8: of an MTU of 10
    ]
    file = write(tmp_path / "wrong.pcap", sent)
    said = ("frame.number", "nkn.ncp.resend_of", "nkn.ncp.unread_bytes", "_ws.expert.message")
    resend, window, mtu = tshark(file, "nkn.ncp.resend || nkn.ncp.window_breach || nkn.ncp.mtu_breach", *said)
    assert resend == ["5", "3", "20", "This sequence was sent before"]
    assert window == ["6", "", "30", "More sent and not reported as read than the agreed window"]
    assert mtu == ["8", "", "11", "More data than the agreed MTU"]


def test_it_takes_nothing_that_is_no_packet_of_ncps(tmp_path: Path, tshark: Tshark) -> None:
    chance = random.Random(7)
    dns = bytes(dpkt.dns.DNS(id=1, qd=[dpkt.dns.DNS.Q(name="example.org")]))
    whole = packet(1, 10)
    others = [dns, whole[:-1], whole + b"\x08", b"\x12\x02xx" + whole, packet(window=20, mtu=10) + b"\x0b", b"\x08\x01"]
    others += [chance.randbytes(chance.randrange(2, 200)) for _ in range(500)]
    file = write(tmp_path / "others.pcap", [(HERE, other) for other in others])
    assert tshark(file, "nkn.ncp", "frame.number") == []
