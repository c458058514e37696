"""Reads the collector's samples of TCP_INFO while the run is still on."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from line_protocol_parser import parse_line

from testbed.errors import RunFailed
from testbed.scenario.tcp import Role

SPOOL = "tcp_info.lp"
"""The collector's file among a run's spools."""


class SocketSample(NamedTuple):
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


def congestion_controls(spools: Path, session: str) -> set[str]:
    """The congestion controls of a session's sending sockets, by the samples so far."""
    every = [spools / SPOOL, *spools.glob(f"*-{SPOOL}")]  # also of hosts on other machines
    samples = [sample for spool in every for sample in read_samples(spool, role="sender")]
    return {sample.tags["congestion_control"] for sample in samples if sample.tags.get("session") == session}


def assert_sent_with(expected: str, seen: Collection[str]) -> None:
    """Raise :class:`RunFailed` where data was not sent with the requested congestion control, or nobody saw it."""
    if not seen:
        raise RunFailed("tcp.congestion-control-not-seen", f"no sample shows that the sender sent with {expected}")
    if set(seen) != {expected}:
        others = ", ".join(sorted(seen))
        raise RunFailed("tcp.congestion-control-differs", f"the sender sent with {others}, not {expected}")
