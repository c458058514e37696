"""The kernel's counters of a network namespace's IP and TCP, as ``/proc/net/snmp`` and ``netstat`` have them."""

from __future__ import annotations

from collections.abc import Mapping

from topologies.commands import in_namespace, run


def read_counters(namespace: str) -> dict[str, int]:
    """The counters now, of a namespace by its path, by ``<group>.<name>`` like ``TcpExt.TCPTimeouts``."""
    return parse(run(in_namespace(namespace, ["cat", "/proc/self/net/snmp", "/proc/self/net/netstat"])))


def parse(text: str) -> dict[str, int]:
    """Pairs of lines: names, then values, both after the group's name and a colon."""
    lines = [line.split() for line in text.splitlines() if line]
    return {
        f"{names[0].rstrip(':')}.{name}": int(value)
        for names, row in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], row[1:], strict=True)
    }


def grown(earlier: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    """Counters that have grown between two readings, and by how much."""
    by = {name: value - earlier.get(name, 0) for name, value in later.items()}
    return {name: value for name, value in by.items() if value > 0}
