"""The kernel's counters of a network namespace's IP and TCP, as ``/proc/net/snmp`` and ``netstat`` have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from topologies.commands import in_namespace, run


@dataclass(frozen=True)
class Counters:
    """Values by ``<group>.<name>``, like ``Tcp.RetransSegs`` and ``TcpExt.TCPTimeouts``."""

    values: Mapping[str, int]

    def since(self, earlier: Counters) -> dict[str, int]:
        """Counters that have grown since ``earlier``, and by how much."""
        grown = {name: value - earlier.values.get(name, 0) for name, value in self.values.items()}
        return {name: value for name, value in grown.items() if value > 0}


def read_counters(namespace: str) -> Counters:
    """Now, of a namespace by its path."""
    return parse(run(in_namespace(namespace, ["cat", "/proc/self/net/snmp", "/proc/self/net/netstat"])))


def parse(text: str) -> Counters:
    """Pairs of lines: names, then values, both after the group's name and a colon."""
    lines = [line.split() for line in text.splitlines() if line]
    values = {
        f"{names[0].rstrip(':')}.{name}": int(value)
        for names, row in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], row[1:], strict=True)
    }
    return Counters(values)
