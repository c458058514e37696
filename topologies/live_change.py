"""A change of a live link, whichever the link emulator: its time, and the carrier of a link."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from topologies.commands import CommandFailed, in_namespace
from topologies.fabric import Fabric
from topologies.link import Link

FIRST_GROUP = 1000
"""Interface groups of links' ends, apart from group 0, which all others are in."""
SPIN_S = 0.002


@dataclass(frozen=True)
class Applied:
    """Unix nanoseconds between which a change took effect for the frames of the link.

    The relay tells frames apart by their arrival, so its two are equal; netem's lie around a call of ``tc``.
    """

    from_unix_ns: int
    to_unix_ns: int


def wait_until(at_unix_ns: int) -> None:
    """Sleep, and the last of it not: a sleep may end that much late. At once if the time has passed."""
    time.sleep(max(0.0, (at_unix_ns - time.time_ns()) / 1e9 - SPIN_S))
    while time.time_ns() < at_unix_ns:
        pass


def pair_ends(fabric: Fabric, links: Sequence[Link]) -> None:
    """Put each link's two ends in a group of their own, so that one request pulls both."""
    pairs = [(FIRST_GROUP + link["index"], end) for link in links for end in (link["a"], link["b"])]
    fabric.batch("ip", *(f"link set {end['middle_interface']} group {group}" for group, end in pairs))


def set_carrier(fabric: Fabric, link: Link, *, up: bool, at_unix_ns: int = 0) -> Applied:
    """Take a link down at both ends, as the hosts see it, or up again; at a time, or now if it has passed."""
    word = "up" if up else "down"
    return _at_its_time(fabric.path, f"link set group {FIRST_GROUP + link['index']} {word}", at_unix_ns)


def set_tunnel_carrier(namespace: str, interface: str, at_unix_ns: int, *, up: bool) -> int:
    """Take an end of a tunnel in a network namespace (by path) down, or up again; returns the time."""
    word = "off" if up else "on"
    return _at_its_time(namespace, f"link set {interface} protodown {word}", at_unix_ns).to_unix_ns


def _at_its_time(namespace: str, line: str, at_unix_ns: int) -> Applied:
    # A process takes milliseconds to start: it does before the time, and waits for its line.
    with subprocess.Popen(
        in_namespace(namespace, ["ip", "-batch", "-"]), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until(at_unix_ns)
        begun_ns = time.time_ns()
        _, said = process.communicate(f"{line}\n")
        done_ns = time.time_ns()
    if process.returncode:
        raise CommandFailed(f"ip {line}: {said.strip()}")
    return Applied(begun_ns, done_ns)
