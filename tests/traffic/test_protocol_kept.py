"""Saboteurs of the protocol: captures with a planted violation fail ``protocol_kept``, and captures that are not whole
prove nothing. The packets are encoded here, and read by ``ncp-trace``."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dpkt
import pytest

from testbed.errors import Untrusted
from testbed.judge.checks.result import CheckResult
from testbed.machine import build
from testbed.plan.model import Role
from testbed.planning.resolve import Choices, resolve
from testbed.runtime.progress import QuietProgress
from testbed.runtime.site import Site
from testbed.scenario.load import load
from testbed.traffic.ncp import Ncp
from tests.checks.in_memory import evidence_of, judged
from tests.plan.test_resolve import POLICIES

PAYLOAD = bytes(range(250)) * 12
MTU, WINDOW = 1000, 2000
SENDERS_MTU, SENDERS_WINDOW = 1024, 2500
FIN, SYN, PUSH, ACK = 1, 2, 8, 16


@dataclass(frozen=True)
class Packet:
    """One of NCP's, as ``ncp-agent/wire`` encodes it."""

    of: Role
    sequence: int = 0
    data: bytes = b""
    acks: tuple[int, ...] = ()
    read: int = 0
    offer: tuple[int, int] | None = None
    close: bool = False

    @property
    def encoded(self) -> bytes:
        made = b"\x08" + varint(self.sequence) if self.sequence else b""
        made += b"\x12" + varint(len(self.data)) + self.data if self.data else b""
        acks = b"".join(map(varint, self.acks))
        made += b"\x1a" + varint(len(acks)) + acks if acks else b""
        made += b"\x28" + varint(self.read) if self.read else b""
        if self.offer:
            made += b"\x32\x03one\x38" + varint(self.offer[0]) + b"\x40" + varint(self.offer[1])
        made += b"\x48\x01" if self.close else b""
        return made + (b"\x50\x01" if self.offer else b"")


def varint(number: int) -> bytes:
    found = b""
    while number >= 128:
        found, number = found + bytes([number % 128 + 128]), number // 128
    return found + bytes([number])


def data(sequence: int, payload: bytes | None = None) -> Packet:
    return Packet("sender", sequence, PAYLOAD[MTU * (sequence - 1) : MTU * sequence] if payload is None else payload)


def told(sequence: int) -> Packet:
    return Packet("receiver", acks=(sequence,), read=MTU * sequence)


def honest() -> list[Packet]:
    """Three packets of data, each acknowledged and read before the next one."""
    hello = [Packet("sender", offer=(SENDERS_WINDOW, SENDERS_MTU)), Packet("receiver", offer=(WINDOW, MTU))]
    return [*hello, *(packet for n in (1, 2, 3) for packet in (data(n), told(n))), Packet("sender", close=True)]


def without(*places: int) -> list[Packet]:
    return [packet for place, packet in enumerate(honest()) if place not in places]


def with_one(place: int, packet: Packet) -> list[Packet]:
    return [*honest()[:place], packet, *honest()[place:]]


def instead(place: int, packet: Packet) -> list[Packet]:
    return [*honest()[:place], packet, *honest()[place + 1 :]]


@dataclass
class Lab:
    """A run's folder with two captures, and what comes of them."""

    site: Site
    plan: Any
    refused: bool = False
    """Whether nobody listened to the first dial."""
    ends: dict[str, dict[str, Any]] = field(default_factory=dict)

    def capture(self, role: Role, packets: list[Packet], *, opened: int = 1, stray: bytes = b"") -> None:
        with (self.site.folder / f"capture-s1-{role}.pcap").open("wb") as file:
            writer = dpkt.pcap.Writer(file)
            for number, frame in enumerate(self._frames(packets, opened, stray)):
                writer.writepkt(frame, ts=1e9 + number / 1000)

    def _frames(self, packets: list[Packet], opened: int, stray: bytes) -> Iterator[bytes]:
        if self.refused:
            yield self._segment("sender", 5, b"", SYN)
            yield self._segment("receiver", 0, b"", dpkt.tcp.TH_RST | ACK)
        if opened:
            yield from self._opening(0)
        next_: dict[Role, int] = {"sender": 1, "receiver": 1}
        streams = [(packet.of, packet.encoded) for packet in packets]
        streams += [("sender", stray)] if stray else []
        for role, encoded in streams:
            sent = len(encoded).to_bytes(4, "little") + encoded
            yield self._segment(role, next_[role], sent, PUSH | ACK)
            next_[role] += len(sent)
        for connection in range(1, opened):
            yield from self._opening(100_000 * connection)

    def _opening(self, sequence: int) -> Iterator[bytes]:
        yield self._segment("sender", sequence, b"", SYN)
        yield self._segment("receiver", sequence, b"", SYN | ACK)

    def _segment(self, role: Role, sequence: int, payload: bytes, flags: int) -> bytes:
        (connection,) = self.plan["sessions"][0]["connections"]
        near, far = (connection[end].rsplit(":", 1) for end in ("sender", "receiver"))
        near, far = (near, far) if role == "sender" else (far, near)
        tcp = dpkt.tcp.TCP(sport=int(near[1]), dport=int(far[1]), seq=sequence, flags=flags, data=payload)
        src, dst = (bytes(map(int, address.split("."))) for address, _ in (near, far))
        ip = dpkt.ip.IP(src=src, dst=dst, p=dpkt.ip.IP_PROTO_TCP, data=tcp, len=40 + len(payload))
        return bytes(dpkt.ethernet.Ethernet(data=ip))

    def check(self, lost: int = 0) -> CheckResult:
        """The check's result, from the captures by way of the ends' results."""
        sent = Ncp(self.site)
        sent._trace({"s1-sender": 0, "s1-receiver": lost})
        for role, result in self.ends.items():
            own = self.site.folder / role
            own.mkdir()
            (own / "result.json").write_text(json.dumps(result))
            place: Any = SimpleNamespace(directory=own, name=f"s1-{role}")
            sent.keep_results([place])
        results = [json.loads(file.read_text()) for file in (self.site.folder / "agents").iterdir()]
        return judged({"judge": "protocol_kept"}, evidence_of(self.plan, {}, results=results))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Both ends say that all is well."""
    changed = [
        f"transfer={len(PAYLOAD)}B",
        "transport=tcp",
        f"send_window={WINDOW}B",
        f"mtu={MTU}",
        "checks=[{name: protocol, judge: protocol_kept}]",
    ]
    changed += ["links=[{name: one, rate: 1024pps, delay: 1ms}]", "initial_windows=null"]
    changed += [f"ncp.offers={{sender: {{send_window: {SENDERS_WINDOW}B, mtu: {SENDERS_MTU}}}}}"]
    plan: Any = resolve(load("startup", changed), POLICIES, Choices("process"), "20261128-000000-abcd")
    (tmp_path / "agents").mkdir()
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    made = Lab(Site(plan, tmp_path, build.build_programs("ncp-trace"), QuietProgress(), {}), plan)
    sha = hashlib.sha256(PAYLOAD).hexdigest()
    for role in ("sender", "receiver"):
        own = {"bytes": len(PAYLOAD), "sha256": sha, "warnings": [], "error": ""}
        made.ends[role] = {"session": "s1", "role": role, **own}
    return made


def capture(lab: Lab, packets: list[Packet], **of: Any) -> None:
    lab.capture("sender", packets, **of)
    lab.capture("receiver", packets, **of)


@pytest.mark.parametrize("refused", [False, True])
def test_an_honest_session_passes(lab: Lab, refused: bool) -> None:
    lab.refused = refused
    capture(lab, honest())
    result = lab.check()
    assert (result.status, result.code, result.measured) == ("pass", "protocol.kept", 0), result.reason
    assert (result.figures["window_bytes"], result.figures["mtu_bytes"]) == (WINDOW, MTU)
    assert result.figures["max_outstanding_bytes"] == MTU


PLANTED: dict[str, tuple[list[Packet], str]] = {
    "another window is offered": (instead(1, Packet("receiver", offer=(WINDOW + 1, MTU))), "handshake of the receiver"),
    "another MTU is offered": (instead(0, Packet("sender", offer=(SENDERS_WINDOW, MTU))), "handshake of the sender"),
    "no handshake": (without(1), "no handshake of the receiver"),
    "data before the handshakes": ([data(1), *without(2)], "data (sequence 1) before both handshakes"),
    "data above the agreed MTU": (
        instead(2, data(1, PAYLOAD[:1024])),
        "sequence 1 has 1024 B of data, agreed are 1 to",
    ),
    "more than the window": (without(3, 5), "3000 B were sent and not read, the window is 2000 B"),
    "other data again": (with_one(4, data(1, b"x" * MTU)), "sequence 1 was sent again with other data"),
    "an acknowledgement of nothing": (with_one(2, Packet("receiver", acks=(3,))), "acknowledged sequence 3, which had"),
    "more read than arrived": (with_one(3, Packet("receiver", read=1001)), "1001 B were reported as read when 1000 B"),
    "nothing acknowledged": (without(7), "1 of 3 sequences were never acknowledged"),
    "a gap": (without(4, 5), "sequence 2 is missing"),
    "new data after the close": ([*honest(), data(4, b"more")], "sequence 4 is new after the sender's close"),
    "no close": (without(8), "the sender did not close the session"),
    "data from the receiver": (with_one(2, Packet("receiver", 1, b"x")), "the receiver sent data"),
    "other data than were sent": (instead(2, data(1, b"y" * MTU)), "packets there carried"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_fails(lab: Lab, name: str) -> None:
    packets, says = PLANTED[name]
    capture(lab, packets)
    result = lab.check()
    assert (result.status, result.code) == ("fail", "protocol.broken")
    assert says in result.reason


@pytest.mark.parametrize(
    ("of", "says"), [({"opened": 2}, "2 TCP connections, want 1"), ({"stray": b"\xff"}, "from the sender: ncp packet")]
)
def test_violations_beside_the_packets(lab: Lab, of: dict[str, Any], says: str) -> None:
    capture(lab, honest(), **of)
    result = lab.check()
    assert result.status == "fail"
    assert says in result.reason


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_one_end_is_enough(lab: Lab, role: Role) -> None:
    capture(lab, honest())
    lab.capture(role, instead(2, data(1, b"z" * MTU)))
    result = lab.check()
    assert result.status == "fail"
    assert f"the {role} tells the SHA-256" in result.reason
    assert "is not the one that reached the receiver" in result.reason


@pytest.mark.parametrize("role", ["sender", "receiver"])
@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("sha256", "cd" * 32, "packets there carried"),
        ("warnings", ["the sender did not close the session"], "warns: the sender did not close"),
        ("warnings", ["it refused 3 packets: RecvWindowFullError"], "refused 3 packets"),
    ],
)
def test_what_an_end_reports_is_held_against_its_packets(lab: Lab, role: str, key: str, value: Any, says: str) -> None:
    capture(lab, honest())
    lab.ends[role][key] = value
    result = lab.check()
    assert result.status == "fail"
    assert f"the {role}" in result.reason
    assert says in result.reason


def test_fewer_bytes_than_were_requested(lab: Lab) -> None:
    capture(lab, without(6, 7))
    result = lab.check()
    assert result.status == "fail"
    assert "packets at the sender carried 2,000 of 3,000 bytes" in result.reason


def beheaded(packets: list[Packet]) -> Callable[[Lab], None]:
    return lambda lab: capture(lab, packets, opened=0)


def cut(lab: Lab) -> None:
    capture(lab, honest())
    file = lab.site.folder / "capture-s1-receiver.pcap"
    file.write_bytes(file.read_bytes()[:-7])


@pytest.mark.parametrize(
    ("spoil", "lost", "code"),
    [
        (beheaded(honest()), 0, "capture.not-whole"),
        (cut, 0, "capture.not-whole"),
        (lambda lab: capture(lab, honest()), 3, "capture.frames-lost"),
    ],
)
def test_captures_that_are_not_whole_prove_nothing(
    lab: Lab, spoil: Callable[[Lab], None], lost: int, code: str
) -> None:
    spoil(lab)
    with pytest.raises(Untrusted) as refused:
        lab.check(lost)
    assert refused.value.code == code


def test_without_packets_it_can_not_be_judged(lab: Lab) -> None:
    results = [copy.deepcopy(result) for result in lab.ends.values()]
    result = judged({"judge": "protocol_kept"}, evidence_of(lab.plan, {}, results=results))
    assert (result.status, result.code) == ("error", "protocol.nothing-captured")
    result = judged({"judge": "protocol_kept"}, evidence_of(lab.plan, {}, results=results[:1]))
    assert (result.status, result.code) == ("error", "result.of-no-agent")
