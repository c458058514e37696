"""Telemetry around a run: the gateway to InfluxDB, and the files that telemetry is written to."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

from testbed.runtime.parts import Failure
from testbed.runtime.processes import Supervised
from topologies.fabric import MANAGEMENT_GATEWAY, Fabric

GATEWAY_PORT = 8086


def open_gateway(parts: ExitStack, fabric: Fabric, influx_url: str, directory: Path, logs: Path) -> list[Failure]:
    """Let agents on the management network reach InfluxDB, which listens elsewhere (on loopback), until ``parts`` end;
    gives what to ask for the failure of each end.

    Two socats joined by a Unix socket, which is not bound to a network namespace: one listens inside the
    run's namespace, the other connects from the machine's own.
    """
    target, bridge, log = urlsplit(influx_url), directory / "influxdb.sock", logs / "gateway.log"
    port = target.port or (443 if target.scheme == "https" else 80)
    listens = ["socat", f"TCP-LISTEN:{GATEWAY_PORT},bind={MANAGEMENT_GATEWAY},reuseaddr,fork", f"UNIX-CONNECT:{bridge}"]
    inside = Supervised("telemetry gateway", listens, log, namespace=fabric.path)
    parts.callback(inside.end)
    connects = ["socat", f"UNIX-LISTEN:{bridge},fork,mode=600", f"TCP:{target.hostname}:{port}"]
    outside = Supervised("telemetry gateway", connects, log)
    parts.callback(outside.end)
    outside.await_ready(bridge.exists, 5)
    return [inside.failure, outside.failure]


class GrowingFiles:
    """A file of lines that is being written, or a folder of telemetry files, which may come and go."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._read: dict[Path, int] = {}

    def new_lines(self) -> Iterator[list[str]]:
        """The whole lines that were appended to each file since the last call."""
        for path in sorted(self._place.glob("**/*.lp")) if self._place.is_dir() else [self._place]:
            yield self._whole_lines(path)

    def _whole_lines(self, path: Path) -> list[str]:
        try:
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                new = file.read()
        except FileNotFoundError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read[path] = self._read.get(path, 0) + len(whole)
        return whole.decode(errors="replace").split("\n")[:-1]


def merge_spools(spools: Sequence[Path], merged: Path) -> int:
    """Merge spools into one file in time order; returns the number of points.

    A last line that was cut off by a kill is no point, and is left out. On a full disk there is no merged file; the
    spools have all points.
    """
    # They are a few megabytes.
    points = sorted((point for spool in spools if spool.exists() for point in _timed_lines(spool)), key=itemgetter(0))
    try:
        with merged.open("w", encoding="utf-8") as output:
            output.writelines(line for _, line in points)
    except OSError:
        merged.unlink()
        raise
    return len(points)


def _timed_lines(spool: Path) -> Iterator[tuple[int, str]]:
    with spool.open(encoding="utf-8") as file:
        for line in file:
            stamp = line.rstrip("\n").rsplit(" ", 1)[-1]
            if line.endswith("\n") and stamp.isdigit():
                yield int(stamp), line
