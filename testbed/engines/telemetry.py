"""Telemetry around a run: the gateway to InfluxDB, pushing what collectors spool, merging and counting."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.runtime.processes import Supervised
from topologies.fabric import MANAGEMENT_GATEWAY, Fabric

GATEWAY_PORT = 8086


@dataclass(frozen=True)
class Counts:
    """Points of telemetry of a run: in the merged file and in the database (None: there was none)."""

    in_file: int
    in_database: int | None


class Gateway:
    """Lets agents on the management network reach InfluxDB, which listens elsewhere (on loopback).

    Two socats joined by a Unix socket, which is not bound to a network namespace: one listens inside the
    run's namespace, the other connects from the machine's own.
    """

    def __init__(self, fabric: Fabric, influx_url: str, directory: Path, logs: Path) -> None:
        target = urlsplit(influx_url)
        bridge = directory / "influxdb.sock"
        port = target.port or (443 if target.scheme == "https" else 80)
        self._outside = Supervised.start(
            "telemetry gateway",
            ["socat", f"UNIX-LISTEN:{bridge},fork,mode=600", f"TCP:{target.hostname}:{port}"],
            logs / "gateway.log",
        )
        self._inside = Supervised.start(
            "telemetry gateway",
            ["socat", f"TCP-LISTEN:{GATEWAY_PORT},bind={MANAGEMENT_GATEWAY},reuseaddr,fork", f"UNIX-CONNECT:{bridge}"],
            logs / "gateway.log",
            namespace=fabric.path,
        )
        deadline = time.monotonic() + 5
        while not bridge.exists():
            if failure := self.failure():
                raise RunFailed.of(failure)
            if time.monotonic() > deadline:
                raise RunFailed(
                    "telemetry.gateway-not-up",
                    "the telemetry gateway did not open {bridge}; see {log}",
                    bridge=bridge,
                    log=logs / "gateway.log",
                )
            time.sleep(0.02)

    def failure(self) -> Message | None:
        """How it ended by itself, or None."""
        return self._outside.failure() or self._inside.failure()

    def stop(self) -> None:
        """End both ends."""
        for end in (self._inside, self._outside):
            end.end_group()


def merge_spools(spools: Sequence[Path], merged: Path) -> int:
    """Merge spools, each in time order, into one file in time order; returns the number of points.

    A last line that was cut off by a kill is left out: it is no point. Where the disk is full there is no merged file;
    the spools have it all.
    """
    count = 0
    try:
        with merged.open("w", encoding="utf-8") as output:
            streams = [_timed_lines(spool) for spool in spools if spool.exists()]
            for _, line in heapq.merge(*streams, key=lambda item: item[0]):
                output.write(line)
                count += 1
    except OSError:
        merged.unlink()
        raise
    return count


def _timed_lines(spool: Path) -> Iterator[tuple[int, str]]:
    # A spool's own order is nearly, not strictly, the order of its timestamps (a point is stamped when it is
    # sampled and written a moment later), so it is sorted; a run's spool is a few megabytes.
    lines = []
    with spool.open(encoding="utf-8") as file:
        for line in file:
            stamp = line.rstrip("\n").rsplit(" ", 1)[-1]
            if line.endswith("\n") and stamp.isdigit():
                lines.append((int(stamp), line))
    lines.sort(key=lambda item: item[0])
    return iter(lines)
