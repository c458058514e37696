"""What the collector's samples of TCP_INFO say of a run's sockets while the run is still on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from line_protocol_parser import parse_line

from testbed.tcp.section import Role


@dataclass(frozen=True)
class SocketSample:
    """A point of the measurement ``tcp_info``."""

    at_unix_ns: int
    tags: Mapping[str, str]
    fields: Mapping[str, Any]


def read_samples(spool: Path, *, role: Role) -> list[SocketSample]:
    """The samples so far of the sockets of one end, in time order; none where there is no spool."""
    if not spool.exists():
        return []
    # A line that has no end yet is still being written.
    lines = spool.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    points = [parse_line(line) for line in lines if line.startswith("tcp_info,")]
    samples = [SocketSample(int(p["time"]), p["tags"], p["fields"]) for p in points]
    return sorted((s for s in samples if s.tags.get("role") == role), key=lambda s: s.at_unix_ns)
