"""Other implementations of NDN meet through the forwarder: NDNts and python-ndn, each as consumer and as producer."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.machine import interop
from testbed.machine.build import build_programs
from topologies.commands import in_namespace, run

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="python-ndn 0.5.2 needs Python 3.11"),
    pytest.mark.skipif(not interop.node_for_ndnts().ok, reason=f"NDNts: Node is {interop.node_for_ndnts().detail}"),
]

OBJECT_BYTES = 10 << 20
SEGMENTS = -(-OBJECT_BYTES // 4400)
NEAR, FAR = "10.99.0.1", "10.99.0.2"
PEERS = {
    "ndnts": ["node", str(paths.CHECKOUT / "peers" / "ndn" / "ndnts.mjs")],
    "python-ndn": [sys.executable, str(paths.CHECKOUT / "peers" / "ndn" / "python_ndn.py")],
}


@dataclass(frozen=True)
class Place:
    """A consumer's namespace and the one of forwarder and producer, and the forwarder between them."""

    near: str
    far: str
    folder: Path
    forwarder: subprocess.Popen[str]

    def forwarded(self) -> dict[str, Any]:
        """The forwarder's report; ends it."""
        return ended(self.forwarder, self.folder / "forwarder.json")


def started(namespace: str, command: list[str]) -> "subprocess.Popen[str]":
    """A program that has said that it is ready."""
    process = subprocess.Popen(
        in_namespace(namespace, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "ready":
            return process
    raise AssertionError(f"{command[:3]}: {process.communicate()}")


def ended(process: "subprocess.Popen[str]", report: Path | None = None) -> dict[str, Any]:
    """What it reports when it is told to end."""
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(report.read_text() if report else out)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A link of 60 Mbit/s between consumer and forwarder, at the forwarder's own egress."""
    folder = tmp_path_factory.mktemp("forwarder")
    names = [f"ncp-peers{os.getpid()}{end}" for end in ("near", "far")]
    forwarder = None
    try:
        for name in names:
            run(["ip", "netns", "add", name])
            run(["ip", "-n", name, "link", "set", "lo", "up"])
        run(["ip", "-n", names[0], "link", "add", "v0", "type", "veth", "peer", "name", "v0", "netns", names[1]])
        for name, address in zip(names, (NEAR, FAR), strict=True):
            run(["ip", "-n", name, "addr", "add", f"{address}/30", "dev", "v0"])
            run(["ip", "-n", name, "link", "set", "v0", "up"])
        shaped = ["dev", "v0", "root", "tbf", "rate", "60mbit", "burst", "5000", "limit", "1000000"]
        run(["tc", "-n", names[1], "qdisc", "add", *shaped])
        near, far = (f"/run/netns/{name}" for name in names)
        binary = build_programs("ndn-agent")["ndn-agent"]
        listen = [part for kind in ("udp", "tcp") for part in ("--listen", f"{kind}://{FAR}:6363")]
        marking = ["--marking", "hackathon", "--threshold-bytes", "1"]
        forwarder = started(
            far,
            [
                str(binary),
                "forward",
                *listen,
                "--accept-registrations",
                *marking,
                "--report",
                str(folder / "forwarder.json"),
            ],
        )
        yield Place(near, far, folder, forwarder)
    finally:
        if forwarder is not None and forwarder.poll() is None:
            forwarder.kill()
            forwarder.communicate()
        for name in names:
            if Path(f"/run/netns/{name}").exists():
                run(["ip", "netns", "delete", name])


def exchange(place: Place, consumer: str, producer: str, transport: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reports of the two ends of one fetch through the forwarder."""
    face, name = f"{transport}://{FAR}:6363", f"/{producer}/{transport}"
    serving = started(
        place.far, [*PEERS[producer], "put", "--face", face, "--register", "--bytes", str(OBJECT_BYTES), name]
    )
    try:
        done = subprocess.run(
            in_namespace(place.near, [*PEERS[consumer], "get", "--face", face, name]),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), ended(serving)
    finally:
        if serving.poll() is None:
            serving.kill()
            serving.communicate()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize(("consumer", "producer"), [("ndnts", "python-ndn"), ("python-ndn", "ndnts")])
def test_peers_exchange_an_object_through_the_forwarder(
    place: Place, consumer: str, producer: str, transport: str
) -> None:
    got, served = exchange(place, consumer, producer, transport)
    assert got["sha256"] == served["sha256"]
    assert got["bytes"] == served["bytes"] == OBJECT_BYTES
    assert (got["segments"], served["segments"]) == (SEGMENTS, SEGMENTS)
    # The forwarder's marks reach the consumer, and NDNts's CUBIC cuts its window by them.
    assert got["marks"] > 0
    if consumer == "ndnts":
        assert got["marks"] <= got["marks_received"]
        assert 0 < got["cwnd_cuts"] <= got["marks"] + got["retransmissions"]


def test_the_forwarder_tells_what_it_passed_on(place: Place) -> None:
    said = place.forwarded()
    # A peer's face goes with it.
    faces = [*said["faces"], said["gone_faces"]]
    assert sum(face["out_data"] for face in faces) >= 2 * 2 * SEGMENTS
    assert sum(face["marks_set"] for face in faces) > 0
    assert said["malformed"] == 0
    assert all(face["reassembly_drops"] == 0 for face in faces)
