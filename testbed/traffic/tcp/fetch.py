"""``kind: fetch``: a client fetches web objects from a server, each on a connection of its own."""

import hashlib
import json
import os
import shutil
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.runtime import live
from testbed.runtime.host_settings import grown, read_counters
from testbed.runtime.processes import AGENT_UID, Supervised
from testbed.runtime.site import Site
from testbed.scenario.tcp import Fetch
from testbed.traffic.tcp import Measured, Tcp

PORT = Fetch.sender_port
HASHES = "hashes"
_AGAIN = f"""cd "$1" && rounds=$2 && shift 2 || exit
while [ "$rounds" -gt 0 ]; do
    "$@" && sha256sum [0-9][0-9] >>{HASHES} || exit
    rounds=$((rounds - 1))
done"""
"""Fetch, hash, again: the hashing is between what is timed."""


class FetchTransfer(Tcp):
    """``web-server.jsonl`` has the server's word on each connection and on what it sent, ``web-client.jsonl`` curl's on
    each object, ``web-client.sha256`` the hashes of what curl wrote."""

    server_end_s = 0.0

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._asked = Fetch.of_plan(self.requested)
        self._notes, self._times = site.folder / "web-server.jsonl", site.folder / "web-client.jsonl"
        self._hashes = site.folder / "web-client.sha256"
        self._objects = live.directory(site.plan["run"]) / "objects"
        """Folder for the client's files."""

    def start_server(self) -> Supervised:
        apart = ["--header-apart"] if self._asked.header_apart else []
        command = [str(self.site.binaries["ncp-web"]), "--listen", f"{self.address('sender')}:{PORT}", *apart]
        return self.start("web server", command, "sender", self._notes, listens_at=PORT)

    def start_client(self) -> Supervised:
        self._before = read_counters(self.namespaces["sender"])
        self._started_unix_ns = time.time_ns()
        self._objects.mkdir()
        os.chown(self._objects, AGENT_UID, AGENT_UID)
        objects = [
            part
            for place, size in enumerate(self._asked.objects_bytes)
            for part in ("--output", f"{place:02}", f"http://{self.address('sender')}:{PORT}/{size}")
        ]
        shell = ["sh", "-c", _AGAIN, "sh", str(self._objects), str(self._asked.rounds)]
        curl = ["curl", "--disable", "--silent", "--show-error", "--no-progress-meter", "--fail", "--noproxy", "*"]
        curl += ["--http1.0", "--write-out", r"%{json}\n"]
        curl += ["--parallel", "--parallel-immediate"] if self._asked.parallel else []
        return self.start("web client", [*shell, *curl, *objects], "receiver", self._times)

    def end_server(self, server: Supervised) -> None:
        self._finished_unix_ns = time.time_ns()
        self._grown = grown(self._before, read_counters(self.namespaces["sender"]))
        super().end_server(server)
        shutil.copyfile(self._objects / HASHES, self._hashes)

    def measured(self) -> Measured:
        fetched, reported = read_lines(self._times), read_lines(self._notes)
        connections = [line for line in reported if "client" in line]
        pages = pages_s(fetched, self._asked)
        first = check_connections(connections, self._asked)
        median_s = statistics.median(pages)
        return Measured(
            started_unix_ns=self._started_unix_ns,
            finished_unix_ns=self._finished_unix_ns,
            bytes=sum(one["size_download"] for one in fetched),
            figures={
                "page_ms": 1000 * median_s,
                "page_s": median_s,
                "page_lowest_ms": 1000 * min(pages),
                "page_highest_ms": 1000 * max(pages),
                "rounds": len(pages),
                **self._beside_theory(median_s),
                "initial_window_segments": float(first["initial_window_segments"]),
                "retransmitted_segments": float(self._grown.get("Tcp.RetransSegs", 0)),
            },
            congestion_control=str(first["congestion_control"]),
            details={
                "sender": {
                    **sent([line for line in reported if "object_bytes" in line], self._asked),
                    "connections": len(connections),
                    "mss_bytes": first["mss_bytes"],
                    "counters": self._grown,
                },
                "receiver": {
                    "sha256": sha256_of(line.split()[0] for line in self._hashes.read_text().splitlines()),
                    "pages_ms": [round(1000 * page_s, 3) for page_s in pages],
                    "objects": [
                        {
                            "bytes": size,
                            "ms": [round(1000 * float(f["time_total"]), 3) for f in fetched if f["urlnum"] == place],
                        }
                        for place, size in enumerate(self._asked.objects_bytes)
                    ],
                },
            },
        )

    def _beside_theory(self, median_s: float) -> dict[str, float]:
        """Objects at once share the path, which the theory does not tell of."""
        if self._asked.parallel:
            return {}
        rate_bps = min(float(link["rate_bps"]) for link in self.site.plan["links"])
        theory_s = self._asked.page_s(self.rtt_s, rate_bps)
        return {"slow_start_ms": 1000 * theory_s, "over_slow_start_percent": 100 * (median_s / theory_s - 1)}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one per line; raises :class:`RunFailed` where a line is something else."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        try:
            found.append(json.loads(line))
        except ValueError:
            raise RunFailed("fetch.bad-line", f"{path}: line {number} is not JSON: {line[:200]}") from None
    return found


def pages_s(fetched: Sequence[Mapping[str, Any]], requested: Fetch) -> list[float]:
    """Seconds of each page, by curl's report of each object: objects in sequence add up, of parallel ones the last one
    decides. Raises :class:`RunFailed` where one is missing, or has another size."""
    many = len(requested.objects_bytes)
    if len(fetched) != many * requested.rounds:
        raise RunFailed("fetch.objects-missing", f"{len(fetched)} of {many * requested.rounds} objects were fetched")
    for one in fetched:
        expected = requested.objects_bytes[one["urlnum"]]
        if one["http_code"] != 200 or one["size_download"] != expected:
            raise RunFailed(
                "fetch.object-incomplete",
                f"{one['url']}: answered {one['http_code']} with {one['size_download']} of {expected} bytes",
            )
    pages = [[float(one["time_total"]) for one in fetched[at : at + many]] for at in range(0, len(fetched), many)]
    return [max(times) if requested.parallel else sum(times) for times in pages]


def sent(reported: Sequence[Mapping[str, Any]], requested: Fetch) -> dict[str, Any]:
    """Bytes and SHA-256 of all rounds, from the server's word on the objects of each size that it sent whole."""
    hashes = {line["object_bytes"]: line["sha256"] for line in reported}
    return {
        "bytes": sum(line["object_bytes"] * line["times"] for line in reported),
        "sha256": sha256_of(requested.rounds * [hashes.get(size, "not sent") for size in requested.objects_bytes]),
    }


def sha256_of(objects: Iterable[str]) -> str:
    """One hash of many objects: of their SHA-256 in hex, each on a line of its own, in the order of their requests."""
    return hashlib.sha256("".join(f"{sha256}\n" for sha256 in objects).encode()).hexdigest()


def check_connections(connections: Sequence[Mapping[str, Any]], requested: Fetch) -> Mapping[str, Any]:
    """The server's report of its first connection; raises :class:`RunFailed` where one began with another window."""
    expected = len(requested.objects_bytes) * requested.rounds
    if len(connections) != expected:
        raise RunFailed(
            "fetch.connections-shared",
            f"{expected} objects were fetched on {len(connections)} connections, not each on its own",
        )
    for one in connections:
        for what, value in (
            ("initial_window_segments", requested.initial_window_segments),
            ("congestion_control", requested.congestion_control),
        ):
            if one[what] != value:
                raise RunFailed(
                    "fetch.wrong-first", f"the connection of {one['client']} began with {what} {one[what]}, not {value}"
                )
    return connections[0]


TRAFFIC = FetchTransfer
