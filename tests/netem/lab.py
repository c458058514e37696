"""Two hosts, links between them, either middle, and packets with known times; in the guest or on this machine."""

import ctypes
import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from topologies.commands import run
from topologies.fabric import Fabric, namespace_of
from topologies.link import Link
from topologies.middle import Middle, NetemMiddle, RelayMiddle

PORT = 9
CLONE_NEWNET = 0x40000000
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
HEADERS_BYTES = 14 + 20 + 8

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Lab:
    """A started network. ``pids`` are of processes in the hosts' namespaces."""

    fabric: Fabric
    middle: Middle
    links: Sequence[Link]
    pids: dict[str, int]

    def namespace(self, host: str) -> str:
        return namespace_of(self.pids[host])

    def in_host(self, host: str, *command: str) -> str:
        return run(["nsenter", f"--net={self.namespace(host)}", "--", *command])


@contextmanager
def lab(kind: str, links: Sequence[Link], relay: Path) -> Iterator[Lab]:
    """Hosts ``h1`` and ``h2``, the links, and a middle of the given kind."""
    fabric = Fabric(f"ncp-lab{os.getpid()}")
    hosts = {name: subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for name in ("h1", "h2")}
    middle: Middle = (
        NetemMiddle(fabric)
        if kind == "netem"
        else RelayMiddle(fabric, relay if os.cpu_count() != 1 else _ordinary(relay))
    )
    try:
        pids = {name: process.pid for name, process in hosts.items()}
        _await_own_namespaces(pids.values())
        fabric.create()
        for link in links:
            fabric.add(link, pids["h1"], pids["h2"])
        fabric.connect()
        middle.start(links)
        yield Lab(fabric, middle, links, pids)
    finally:
        middle.stop()
        fabric.delete()
        for process in hosts.values():
            process.kill()
            process.wait()


def _ordinary(relay: Path) -> Path:
    """The relay without real-time priority: on one core its threads can wait for each other for ever, since none
    of them makes room for another."""
    script = Path("/run/ncp-link")
    script.write_text(f'#!/bin/sh\nexec setpriv --bounding-set=-sys_nice {relay} "$@"\n')
    script.chmod(0o755)
    return script


def _await_own_namespaces(pids: Iterable[int]) -> None:
    own = Path("/proc/self/ns/net").readlink()
    for pid in pids:
        while Path(namespace_of(pid)).readlink() == own:
            time.sleep(0.01)


@dataclass
class Packets:
    """What became of the packets of one flow. Times are Unix nanoseconds."""

    sent_ns: list[int] = field(default_factory=list)
    arrived: list[tuple[int, int]] = field(default_factory=list)
    """Number and time of each arrival, in the order of arrival."""

    def as_json(self) -> dict[str, object]:
        return {"sent_ns": self.sent_ns, "arrived": self.arrived}


def flow(
    net: Lab,
    link: Link,
    packets: int,
    spacing_s: float,
    *,
    frame_bytes: int = 200,
    during: Callable[[int], None] | None = None,
    settle_s: float = 0.5,
) -> Packets:
    """Send packets from h1 to h2, evenly, and note each arrival as the kernel stamped it.

    ``during`` is called before each packet with its number.
    """
    got = Packets()
    sender = _socket_in(net.namespace("h1"))
    receiver = _socket_in(net.namespace("h2"))
    try:
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
        receiver.bind((link["b"]["address"], PORT))
        receiver.setblocking(False)
        sender.bind((link["a"]["address"], PORT))
        padding = bytes(frame_bytes - HEADERS_BYTES - 4)
        begun = time.monotonic()
        for number in range(packets):
            while True:
                _drain(receiver, got)
                left_s = begun + number * spacing_s - time.monotonic()
                if left_s <= 0:
                    break
                time.sleep(min(left_s, 0.005))
            if during:
                during(number)
            got.sent_ns.append(time.time_ns())
            sender.sendto(struct.pack("!I", number) + padding, (link["b"]["address"], PORT))
        deadline = time.monotonic() + settle_s
        while time.monotonic() < deadline:
            _drain(receiver, got)
            time.sleep(0.002)
    finally:
        sender.close()
        receiver.close()
    return got


def _drain(receiver: socket.socket, got: Packets) -> None:
    while True:
        try:
            data, ancillary, _, _ = receiver.recvmsg(2048, 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
        got.arrived.append((struct.unpack("!I", data[:4])[0], seconds * 10**9 + nanoseconds))


def _socket_in(namespace: str) -> socket.socket:
    """A UDP socket of another network namespace."""
    with Path("/proc/self/ns/net").open() as own, Path(namespace).open() as other:
        _enter(other.fileno())
        try:
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        finally:
            _enter(own.fileno())


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
