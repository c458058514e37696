"""Sends over one connection of the kernel's TCP, as docs/program.md asks of a program: a contender like any other."""

import hashlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

CHUNK = 64 << 10
IN, OUT = Path(os.environ["IN"]), Path(os.environ["OUT"])
LOCAL, REMOTE = (os.environ[end].split(",")[0] for end in ("LOCAL", "REMOTE"))
PORT = int(os.environ["PORT"])


def send(until: float | None) -> tuple[int, str]:
    """The payload once, or again and again until then (monotonic seconds); returns bytes and SHA-256."""
    payload, sent, digest = memoryview((IN / "payload").read_bytes()), 0, hashlib.sha256()
    with socket.create_connection((REMOTE, PORT), source_address=(LOCAL, 0)) as connection:
        for offset in offsets(len(payload), until):
            part = payload[offset : offset + CHUNK]
            connection.sendall(part)
            digest.update(part)
            sent += len(part)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # until the receiver has it all
    return sent, digest.hexdigest()


def offsets(length: int, until: float | None) -> Iterator[int]:
    """Where the parts of the payload begin."""
    again = True
    while again:
        for offset in range(0, length, CHUNK):
            if until is not None and time.monotonic() >= until:
                return
            yield offset
        again = until is not None


def receive() -> None:
    """All that comes; the sender is let go when the result is there."""
    received, digest = 0, hashlib.sha256()
    with socket.create_server((LOCAL, PORT)) as listening:
        (OUT / "ready").touch()
        with listening.accept()[0] as connection:
            while part := connection.recv(CHUNK):
                received += len(part)
                digest.update(part)
            leave(received, digest.hexdigest())


def leave(count: int, sha256: str) -> None:
    """The result."""
    result = {"bytes": count, "sha256": sha256, "started_unix_ns": STARTED, "finished_unix_ns": time.time_ns()}
    (OUT / "result.json").write_text(json.dumps(result))


STARTED = time.time_ns()
if os.environ["TESTCASE"] not in ("transfer", "seconds"):
    sys.exit(127)
if os.environ["ROLE"] == "sender":
    seconds = os.environ["SECONDS"]
    leave(*send(time.monotonic() + float(seconds) if seconds else None))
else:
    receive()
