"""Waits until a program on a host can be connected to."""

from __future__ import annotations

import time

from testbed.errors import RunFailed
from testbed.runtime.processes import Supervised, last_words
from topologies.commands import in_namespace, run

LISTEN_S = 10.0


def await_listening(namespace: str, port: int, server: Supervised) -> None:
    """Return when something listens on a TCP port in a host's network namespace (by path); raises
    :class:`RunFailed` where the server ends or takes too long."""
    deadline = time.monotonic() + LISTEN_S
    asked = in_namespace(namespace, ["ss", "-Htln", f"sport = :{port}"])
    while not run(asked).strip():
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise RunFailed(
                "run.not-listening",
                "{server} does not listen on port {port}{said}",
                server=server.name,
                port=port,
                said=last_words(server.log),
            )
        time.sleep(0.05)
